"""Optimizer state_dicts and pickled optimizers: groups, entries and their states, before anything is named."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from viewer.checkpoint.dtypes import DTYPES
from viewer.checkpoint.meaning.look import Look
from viewer.checkpoint.meaning.moments import EntryShape, ShapeReader
from viewer.checkpoint.meaning.optimizer_kinds import kind_of
from viewer.checkpoint.meaning.results import UNKNOWN, GroupFacts, OptimizerFacts
from viewer.checkpoint.nodes import Key, Kind, OtherKey
from viewer.checkpoint.tensors import numel_of

_SAMPLED_ENTRIES: Final = 64
_PLAIN_DEPTH: Final = 3
_PLAIN_ITEMS: Final = 64
_NOT_HYPERPARAMETERS: Final = frozenset({"params", "param_names"})
_SCALAR: Final = int(Kind.SCALAR)
_TENSOR: Final = int(Kind.TENSOR)


@dataclass(slots=True)
class RawOptimizer:
    """An optimizer as the file has it.

    Attributes
    ----------
    facts
        Filled but for the names.
    given_names
        For each entry, the name that its group gives it in `param_names`; None where it gives none.
    tensors
        For each entry, the number of the parameter's own tensor in a pickled optimizer; -1 elsewhere.
    shapes
        For each entry, what its state tells.
    groups
        Entries of each group, as ranges.
    key
        The key under which the file has the optimizer.
    """

    facts: OptimizerFacts
    key: str = ""
    given_names: list[str | None] = field(default_factory=list)
    tensors: array[int] = field(default_factory=lambda: array("q"))
    shapes: list[EntryShape] = field(default_factory=list)
    groups: list[range] = field(default_factory=list)


def is_optimizer(look: Look, node: int) -> bool:
    """Whether a mapping or object has the state and groups of an optimizer."""
    members = look.named(node)
    state, groups = members.get("state"), members.get("param_groups")
    if state is None or groups is None or not look.is_mapping(state) or not look.is_sequence(groups):
        return False
    items = look.items(groups)
    return all(look.is_mapping(item) and "params" in look.named(item) for item in items)


def read_optimizer(look: Look, node: int) -> RawOptimizer:
    """The optimizer at a node for which `is_optimizer` holds."""
    members = look.named(node)
    states = look.members(members["state"])
    group_nodes = look.items(members["param_groups"])
    all_hyper = [_hyperparameters(look, group) for group in group_nodes]
    plain = [{name: plain_value(look, child) for name, child in hyper.items()} for hyper in all_hyper]
    kind, known, why = kind_of(plain[0] if plain else {}, _state_keys(look, states), look.class_name(node))
    facts = OptimizerFacts(node, kind, known, why, state=members["state"])
    raw = RawOptimizer(facts, look.key_text(node))
    differs = differing(plain)
    used: set[Key] = set()
    for number, group in enumerate(group_nodes):
        n_parameters = _read_group(look, raw, number, look.named(group), states, used)
        facts.groups.append(GroupFacts(group, n_parameters, tuple(all_hyper[number].items()), differs))
    orphans = {
        key: state
        for key, state in states.items()
        if key not in used and not (isinstance(key, OtherKey) and key.text.startswith("."))
    }
    extend(raw, list(orphans), -1, list(orphans.values()), [None] * len(orphans), [-1] * len(orphans))
    raw.shapes = _shapes(look, facts.entries.state, kind)
    facts.entries.shape = [found.shape for found in raw.shapes]
    facts.state_nbytes = nbytes_below(look, members["state"])
    return raw


def _read_group(
    look: Look, raw: RawOptimizer, number: int, members: dict[str, int], states: dict[Key, int], used: set[Key]
) -> int:
    """Append the entries of one group; returns how many."""
    first = len(raw.facts.entries)
    params = members["params"]
    items = look.items(params) if look.is_container(params) else [params]
    names = _texts(look, members.get("param_names"), len(items))
    tensors = [-1] * len(items)
    keys: list[Key] = []
    kinds, values = look.nodes.kind, look.nodes.value
    for nth, item in enumerate(items):
        value = values[item]
        if kinds[item] == _SCALAR:
            keys.append(value if isinstance(value, (int, str)) else OtherKey(repr(value)))
        elif (number_of_tensor := look.tensor(item)) is not None:
            tensors[nth] = number_of_tensor
            keys.append(OtherKey(f"<tensor {number_of_tensor}>"))
        else:
            keys.append(OtherKey(f"item {nth}"))
    found = [states.get(key, -1) for key in keys]
    used.update(keys)
    if -1 in found:  # numbers as texts, as JSON and some converters leave them
        texts = {nth: str(key) for nth, key in enumerate(keys) if found[nth] < 0 and type(key) is int}
        for nth, text in texts.items():
            found[nth] = states.get(text, -1)
        used.update(texts.values())
    extend(raw, keys, number, found, names or [None] * len(items), tensors)
    raw.groups.append(range(first, len(raw.facts.entries)))
    return len(items)


def extend(
    raw: RawOptimizer,
    keys: Sequence[Key],
    group: int,
    states: Sequence[int],
    names: Sequence[str | None],
    tensors: Sequence[int],
) -> None:
    """Append entries, of which nothing else is known yet."""
    entries, count = raw.facts.entries, len(keys)
    entries.id += keys
    entries.name += [None] * count
    entries.candidates += [()] * count
    entries.n_candidates.extend([0] * count)
    entries.likely += [None] * count
    entries.group.extend([group] * count)
    entries.state.extend(states)
    entries.parameter.extend([-1] * count)
    entries.fits.extend([UNKNOWN] * count)
    raw.given_names += names
    raw.tensors.extend(tensors)


def _shapes(look: Look, states: Sequence[int], kind: str) -> list[EntryShape]:
    # LBFGS keeps flat vectors over all parameters in the state of the first (torch/optim/lbfgs.py).
    nothing = EntryShape(None)
    if kind == "LBFGS":
        return [nothing] * len(states)
    reader = ShapeReader(look)
    return [reader.read(state) if state >= 0 and look.is_mapping(state) else nothing for state in states]


def _texts(look: Look, node: int | None, count: int) -> list[str] | None:
    """A list of `count` texts; None where the node is something else."""
    if node is None or not look.is_sequence(node):
        return None
    values = [look.scalar(item) for item in look.items(node)]
    texts = [value for value in values if isinstance(value, str)]
    return texts if len(texts) == len(values) == count else None


def _hyperparameters(look: Look, group: int) -> dict[str, int]:
    return {name: child for name, child in look.named(group).items() if name not in _NOT_HYPERPARAMETERS}


def plain_value(look: Look, node: int, depth: int = _PLAIN_DEPTH) -> object:
    """A hyperparameter to compare: a plain value, a tuple of them, or what identifies a tensor or anything else."""
    kind = look.nodes.kind[node]
    if kind == Kind.SCALAR:
        return look.nodes.value[node]
    if kind == Kind.SEQUENCE and depth:
        items = look.items(node)
        if len(items) <= _PLAIN_ITEMS:
            return tuple(plain_value(look, item, depth - 1) for item in items)
    number = look.tensor(node)
    return ("node", node) if number is None else ("tensor", *look.identity(number))


def differing(groups: list[dict[str, object]]) -> tuple[str, ...]:
    """Names of hyperparameters that are not the same in all groups."""
    names = dict.fromkeys(name for group in groups for name in group)
    missing = object()
    return tuple(
        name
        for name in names
        if any(not _same(group.get(name, missing), groups[0].get(name, missing)) for group in groups)
    )


def _same(left: object, right: object) -> bool:
    return left is right or left == right or (left != left and right != right)


def _state_keys(look: Look, states: dict[Key, int]) -> frozenset[str]:
    """Keys of the states of the first entries."""
    found: set[str] = set()
    for nth, state in enumerate(states.values()):
        if nth >= _SAMPLED_ENTRIES:
            break
        if look.nodes.kind[state] == Kind.MAPPING:
            found.update(look.named(state))
    return frozenset(found)


def nbytes_below(look: Look, node: int) -> int:
    """Bytes of the distinct tensors at and below a node."""
    nodes, tensors = look.nodes, look.tensors
    numbers: set[int] = set()
    # Nodes are numbered breadth first, so all that lies below a node is one range at each level.
    start, stop = node, node + 1
    while start < stop:
        kinds = nodes.kind[start:stop]
        numbers.update(
            number for number, kind in zip(look.numbers[start:stop], kinds, strict=True) if kind == _TENSOR
        )
        firsts = [first for first in nodes.first_child[start:stop] if first]
        ends = [
            first + count
            for first, count in zip(nodes.first_child[start:stop], nodes.n_children[start:stop], strict=True)
            if count
        ]
        start, stop = (min(firsts), max(ends)) if ends else (0, 0)
    shape_of, dtype_of = tensors.shape.__getitem__, tensors.dtype.__getitem__
    counts = Counter(zip(map(shape_of, numbers), map(dtype_of, numbers), strict=True))
    return sum(count * numel_of(shape) * DTYPES[code].itemsize for (shape, code), count in counts.items())
