"""A state_dict as a tree of modules: dotted names split, figures rolled up, equal neighbours as one row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final, TypeAlias

from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.dtypes import DTYPES
from viewer.checkpoint.meaning.look import Look
from viewer.checkpoint.meaning.models import is_module, module_facts, state_dict_facts
from viewer.checkpoint.meaning.results import ROLES, ModuleTree, StateDictFacts
from viewer.checkpoint.tensors import numel_of
from viewer.task import Progress, Task

_LORA_A: Final = ROLES.index("LoRA A")
_LORA_B: Final = ROLES.index("LoRA B")
_MAX_DEPTH: Final = 200

Signature: TypeAlias = int


class _Module:
    """One level of the names.

    Attributes
    ----------
    below
        Modules and, as ints, tensors (positions in the entries), by the next part of the name.
    """

    __slots__ = ("below", "sign")

    def __init__(self) -> None:
        self.below: dict[str, _Module | int] = {}
        self.sign = -1


def module_tree(look: Look, facts: StateDictFacts, *, folded: bool = True) -> ModuleTree:
    """The tree of a model's tensors; `folded` makes equal neighbours one row."""
    return _Builder(look, facts, folded=folded).build()


def module_tree_task(checkpoint: Checkpoint, node: int, *, folded: bool = True) -> Task[ModuleTree]:
    """The tree of the state_dict or pickled module at a node."""
    look = Look(checkpoint)
    yield Progress(0, checkpoint.nodes.n_children[node], "tensors")
    facts = module_facts(look, node) if is_module(look, node) else state_dict_facts(look, node)
    yield Progress(0, len(facts.entry), "tensors")
    return module_tree(look, facts, folded=folded)


def keys_listing(names: Iterable[str]) -> str:
    """What `model.state_dict().keys()` prints."""
    return f"odict_keys({list(names)!r})"


class _Builder:
    def __init__(self, look: Look, facts: StateDictFacts, *, folded: bool) -> None:
        self.look = look
        self.folded = folded
        self.facts = facts
        self.tree = ModuleTree(facts.node)
        self.signatures: dict[object, Signature] = {}
        self.aliases = {node for group in facts.tied for node in group.nodes[1:]}
        self.mixes: list[Counter[int]] = []  # for each row: elements by dtype code

    def build(self) -> ModuleTree:
        root = self._modules()
        self._sign(root)
        # Rows to make, the row they are below, and its copies: a stack, for names may be nested deeply.
        stack = [(iter(self._blocks(root)), -1, 1)]
        while stack:
            blocks, parent, copies = stack[-1]
            block = next(blocks, None)
            if block is None:
                stack.pop()
                continue
            name, item, count = block
            row = self._append(name, parent, copies * count)
            if isinstance(item, int):
                self._fill_tensor(row, item)
            else:
                stack.append((iter(self._blocks(item)), row, copies * count))
        self._roll_up()
        return self.tree

    def _modules(self) -> _Module:
        root = _Module()
        for entry, name in enumerate(self.facts.name):
            parts = name.split(".", _MAX_DEPTH)
            module = root
            for part in parts[:-1]:
                below = module.below.get(part)
                while isinstance(below, int):  # a tensor named like a module: the module stands beside it
                    part += "."
                    below = module.below.get(part)
                if below is None:
                    below = module.below[part] = _Module()
                module = below
            last = parts[-1]
            while last in module.below:
                last += "."
            module.below[last] = entry
        return root

    def _sign(self, root: _Module) -> None:
        """Give equal subtrees equal signatures: names below, shapes, dtypes and roles."""
        order = [root]
        for module in order:
            order += [item for item in module.below.values() if isinstance(item, _Module)]
        for module in reversed(order):
            key = tuple(
                (part, item.sign if isinstance(item, _Module) else self._tensor_sign(item))
                for part, item in module.below.items()
            )
            module.sign = self.signatures.setdefault(key, len(self.signatures))

    def _tensor_sign(self, entry: int) -> tuple[object, ...]:
        node = self.facts.entry[entry]
        number = self.look.numbers[node]
        tensors = self.look.tensors
        return tensors.shape[number], tensors.dtype[number], self.facts.role[entry], node in self.aliases

    def _blocks(self, module: _Module) -> list[tuple[str, _Module | int, int]]:
        """Children, runs of equal numbered ones as one: name, the first, and how many."""
        found: list[tuple[str, _Module | int, int]] = []
        items = list(module.below.items())
        at = 0
        while at < len(items):
            part, item = items[at]
            stop = at + 1
            if self.folded and isinstance(item, _Module) and part.isdecimal():
                while stop < len(items) and self._continues(items, at, stop):
                    stop += 1
            name = part if stop == at + 1 else f"[{part}–{items[stop - 1][0]}]"
            found.append((name, item, stop - at))
            at = stop
        return found

    @staticmethod
    def _continues(items: list[tuple[str, _Module | int]], first: int, at: int) -> bool:
        part, item = items[at]
        begun = items[first][1]
        return (
            isinstance(item, _Module)
            and isinstance(begun, _Module)
            and item.sign == begun.sign
            and part.isdecimal()
            and int(part) == int(items[first][0]) + at - first
        )

    def _append(self, name: str, parent: int, copies: int) -> int:
        tree = self.tree
        tree.name.append(name)
        tree.dtypes.append("")
        tree.shape.append(None)
        for column, value in (
            (tree.parent, parent),
            (tree.entry, -1),
            (tree.copies, copies),
            (tree.n_tensors, 0),
            (tree.numel, 0),
            (tree.nbytes, 0),
            (tree.role, 0),
            (tree.rank, 0),
        ):
            column.append(value)
        self.mixes.append(Counter())
        return len(tree) - 1

    def _fill_tensor(self, row: int, entry: int) -> None:
        tree, facts = self.tree, self.facts
        node = facts.entry[entry]
        number = self.look.numbers[node]
        shape = self.look.tensors.shape[number]
        code = self.look.tensors.dtype[number]
        tree.entry[row] = entry
        tree.shape[row] = shape
        tree.role[row] = facts.role[entry]
        if facts.role[entry] in (_LORA_A, _LORA_B) and len(shape) >= 2:
            tree.rank[row] = shape[0] if facts.role[entry] == _LORA_A else shape[1]
        if node not in self.aliases:
            numel = numel_of(shape) * tree.copies[row]
            tree.numel[row] = min(numel, _LARGEST)
            tree.nbytes[row] = min(numel * DTYPES[code].itemsize, _LARGEST)
        tree.n_tensors[row] = tree.copies[row]
        self.mixes[row][code] = max(tree.numel[row], 1)

    def _roll_up(self) -> None:
        tree = self.tree
        for row in range(len(tree) - 1, -1, -1):
            tree.dtypes[row] = ", ".join(DTYPES[code].name for code, _ in self.mixes[row].most_common())
            parent = tree.parent[row]
            if parent >= 0:
                tree.n_tensors[parent] += tree.n_tensors[row]
                tree.numel[parent] = min(tree.numel[parent] + tree.numel[row], _LARGEST)
                tree.nbytes[parent] = min(tree.nbytes[parent] + tree.nbytes[row], _LARGEST)
                self.mixes[parent].update(self.mixes[row])


_LARGEST: Final = (1 << 63) - 1
