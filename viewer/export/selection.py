"""Which part of a content is written, and under which names."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from viewer.checkpoint.nodes import Key, Kind
from viewer.errors import BadPath
from viewer.export.findings import Findings
from viewer.export.options import ExportOptions, ExportRefused, FindingKind
from viewer.export.values import CallValue, DictValue, Value
from viewer.formats.canonical_tree import TREE_FACT
from viewer.formats.content import Content
from viewer.formats.graph import children
from viewer.formats.pickle.standins import Group, MappingStandIn, ObjectStandIn, TensorStandIn

_MODEL_KEYS: Final = (
    "state_dict", "model_state_dict", "model", "model_state", "module", "net", "network", "weights", "params",
    "generator", "policy",
)  # fmt: skip
_EMA_KEYS: Final = (
    "ema_state_dict", "state_dict_ema", "model_ema", "ema_model", "params_ema", "ema", "average_model",
    "swa_state_dict", "averaged_model",
)  # fmt: skip
METADATA: Final = "__metadata__"
_OPTIMIZER: Final = re.compile(
    r"(?i)^(optim(izer)?s?(_states?|_state_dicts?)?|opt(_state)?|.*optimizer.*|(lr_)?schedulers?(_states?|_dict)?"
    r"|.*lr_scheduler.*|scaler|grad_scaler|amp(_scaling_state)?)$"
)

Notes = list[tuple[FindingKind, str]]


def part_of(content: Content, options: ExportOptions) -> tuple[object, list[Key], Notes]:
    """The object to write, the keys that lead to it, and what is left out by the choice.

    Raises
    ------
    BadPath, ExportRefused
        When what was asked for is not there.
    """
    root, keys = _selected(content, options.select)
    notes: Notes = []
    checkpoint = content.checkpoint
    if root is content.root and type(root) is dict and checkpoint.container == "safetensors":
        keeps_tree = TREE_FACT in checkpoint.facts
        root = root if keeps_tree else _without_order(root)
    if isinstance(root, Group) and root.type_name == "TorchScript archive" and "data" in root.members:
        notes.append(("dropped", "the program of the TorchScript archive (its code and constants)"))
        root, keys = root.members["data"], [*keys, "data"]
    if options.part == "all":
        return root, keys, notes
    if options.part == "no-optimizer":
        return _without_optimizer(root, keys, notes)
    names = _EMA_KEYS if options.part == "ema" else _MODEL_KEYS
    found = _first(root, names)
    if found is None and options.part == "model" and _is_state_dict(root):
        return root, keys, notes
    if found is None:
        what = "averaged (EMA) weights" if options.part == "ema" else "a model's weights"
        raise ExportRefused(
            f"{what} cannot be told by the keys at {content.checkpoint.path.name}'s "
            f"{'root' if not keys else 'selected node'}",
            path=content.checkpoint.path,
            advice="Select the node that holds them",
        )
    inner = _first(found[1], ("state_dict", "module", "shadow", "model"))
    if inner is not None and not _is_state_dict(found[1]):
        return inner[1], [*keys, found[0], inner[0]], notes
    return found[1], [*keys, found[0]], notes


def _without_order(root: dict[object, object]) -> dict[object, object]:
    """The entries of a safetensors file that keeps no tree: their order is its writer's; "format" says nothing."""
    metadata = root.get(METADATA)
    rest = {key: item for key, item in root.items() if key != METADATA}
    if all(isinstance(key, str) for key in rest) and not any(isinstance(item, dict) for item in rest.values()):
        rest = dict(sorted(rest.items(), key=lambda pair: str(pair[0]).encode("utf-8", "surrogatepass")))
    if isinstance(metadata, dict):
        kept = {name: text for name, text in metadata.items() if name != "format"}
        return {METADATA: kept, **rest} if kept else rest
    return rest


def with_prefix(value: Value, options: ExportOptions, findings: Findings) -> Value:
    """The value with the prefix taken from or put before its keys.

    Raises
    ------
    ExportRefused
        When it is no dict, no key has the prefix, or two keys would become one.
    """
    strip, add = options.strip_prefix, options.add_prefix
    if not strip and not add:
        return value
    is_ordered = isinstance(value, CallValue) and value.pairs is not None
    if not isinstance(value, DictValue) and not is_ordered:
        raise ExportRefused("a prefix can only be changed where a dict is written", advice="Select the state_dict")
    pairs = value.pairs or []
    if strip and not any(isinstance(key, str) and key.startswith(strip) for key, _ in pairs):
        raise ExportRefused(f"no key begins with {strip!r}")
    value.pairs = _renamed(pairs, strip, add, "the keys")
    if is_ordered:
        for state in value.states:
            if isinstance(state, DictValue):
                state.pairs = [(key, _renamed_metadata(key, item, strip, add)) for key, item in state.pairs]
    changed = " and ".join([f"{strip!r} taken from"] * bool(strip) + [f"{add!r} put before"] * bool(add))
    findings.add_whole("changed", f"{changed} the keys")
    return value


def _renamed(pairs: Iterable[tuple[Value, Value]], strip: str, add: str, what: str) -> list[tuple[Value, Value]]:
    made = []
    for key, item in pairs:
        if isinstance(key, str):
            key = add + key.removeprefix(strip)
        made.append((key, item))
    texts = [key for key, _ in made if isinstance(key, str)]
    if len(set(texts)) < len(texts):
        twice = next(key for key in texts if texts.count(key) > 1)
        raise ExportRefused(f"without the prefix, two of {what} are {twice!r}")
    return made


def _renamed_metadata(key: Value, item: Value, strip: str, add: str) -> Value:
    """The `_metadata` of a state_dict has the names of modules, which are its keys without the last part (as
    torch.nn.modules.utils.consume_prefix_in_state_dict_if_present knows)."""
    if key == "_metadata" and isinstance(item, (DictValue, CallValue)) and item.pairs is not None:
        names = []
        for name, version in item.pairs:
            if isinstance(name, str):
                name = (add + f"{name}.".removeprefix(strip)).removesuffix(".")
            names.append((name, version))
        item.pairs = list({name: (name, version) for name, version in names}.values())
    return item


def _selected(content: Content, path: str) -> tuple[object, list[Key]]:
    nodes = content.checkpoint.nodes
    node = content.checkpoint.find(path)
    rows = []
    at = node
    while nodes.parent[at] >= 0:
        rows.append(nodes.row(at))
        at = nodes.parent[at]
    item = content.root
    for row in reversed(rows):
        below = [child for _, child in children(item) or ()]
        if row >= len(below):
            raise BadPath(f"what is at {path!r} cannot be written by itself")
        item = below[row]
    if nodes.kind[node] == Kind.PROBLEM:
        raise BadPath(f"{path!r} cannot be read: {nodes.value[node]}")
    return item, list(nodes.keys_to(node))


def _members(root: object) -> dict[object, object]:
    if isinstance(root, MappingStandIn) and isinstance(root.given, dict):
        made: dict[object, object] = dict(root.given)
        made.update(root)
        return made
    if isinstance(root, dict):
        return {**root}
    members: dict[object, object] = {}
    if isinstance(root, Group):
        members.update(root.members)
    return members


def _first(root: object, names: Iterable[str]) -> tuple[str, object] | None:
    members = _members(root)
    for name in names:
        item = members.get(name)
        if isinstance(item, (dict, ObjectStandIn)):
            return name, item
    return None


def _is_state_dict(root: object) -> bool:
    values = list(_members(root).values())
    return bool(values) and sum(isinstance(value, TensorStandIn) for value in values) * 2 > len(values)


def _without_optimizer(root: object, keys: list[Key], notes: Notes) -> tuple[object, list[Key], Notes]:
    members = _members(root)
    left_out = [key for key in members if isinstance(key, str) and _OPTIMIZER.match(key)]
    if not left_out:
        raise ExportRefused(
            "no entry here looks like an optimizer, scheduler or scaler", advice="Select another part"
        )
    kept = {key: item for key, item in members.items() if key not in left_out}
    notes += [("dropped", f"the entry {key!r}") for key in left_out]
    if isinstance(root, MappingStandIn):
        made = type(root)()
        made.type_name, made.state, made.facts = root.type_name, root.state, root.facts
        made.update(kept)
        return made, keys, notes
    return kept, keys, notes
