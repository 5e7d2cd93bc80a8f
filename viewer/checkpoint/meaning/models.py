"""Model state_dicts and pickled modules: their tensors by name, and which of them an optimizer may hold."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from typing import Final

from viewer.checkpoint.dtypes import DTYPES
from viewer.checkpoint.meaning.assignment_unordered import is_order_lost
from viewer.checkpoint.meaning.look import Look
from viewer.checkpoint.meaning.results import StateDictFacts, TiedGroup
from viewer.checkpoint.meaning.roles import is_buffer, role_of
from viewer.checkpoint.nodes import Kind
from viewer.checkpoint.tensors import TensorFlag, numel_of

_SAFETENSORS_METADATA: Final = "__metadata__"
_TENSOR: Final = int(Kind.TENSOR)
_PARAMETER: Final = int(TensorFlag.PARAMETER)
_FLOATING: Final = frozenset(code for code, dtype in enumerate(DTYPES) if dtype.kind in ("float", "complex"))
_TYPICAL: Final = frozenset({"weight", "bias", "running_mean", "running_var", "num_batches_tracked"})
_MODEL_KEYS: Final = frozenset(
    {"model", "module", "net", "network", "state_dict", "model_state_dict", "model_state", "weights", "params"}
)


def state_dict_evidence(look: Look, node: int) -> tuple[bool, str] | None:
    """Whether a mapping is a state_dict, by what: (known, why); None where it is none."""
    nodes = look.nodes
    if nodes.kind[node] not in (Kind.MAPPING, Kind.GROUP):
        return None
    children = nodes.children(node)
    kinds = nodes.kind[children.start : children.stop]
    n_tensors = kinds.count(_TENSOR)
    if look.attribute(node, "_metadata") is not None:
        return True, "it carries the `_metadata` that `Module.state_dict()` writes"
    all_keys = nodes.key[children.start : children.stop]
    keys = [key for key in all_keys if type(key) is str and key != _SAFETENSORS_METADATA]
    # Entries of shards that are missing were tensors too.
    n_entries = len(children) - all_keys.count(_SAFETENSORS_METADATA) - kinds.count(Kind.PROBLEM)
    if not n_tensors or len(keys) < n_entries or n_tensors < 0.8 * n_entries:
        return None
    typical = sum(1 for key in keys if key.rpartition(".")[2] in _TYPICAL)
    if typical:
        return False, f"it maps names to tensors, and {typical:,} of them end as parameters of modules do"
    if n_tensors < n_entries:
        return None
    if any("." in key for key in keys) or look.key_text(node) in _MODEL_KEYS:
        return False, "it maps names to tensors and nothing else"
    if node == 0 or nodes.kind[nodes.parent[node]] == Kind.GROUP:
        return False, "the whole file maps names to tensors"
    return None


def state_dict_facts(look: Look, node: int) -> StateDictFacts:
    """The facts of a mapping that is one."""
    nodes = look.nodes
    facts = StateDictFacts(node, "state_dict", averaged=_is_averaged(look, node))
    rows: list[tuple[str, int, bool | None]] = []
    children = nodes.children(node)
    numbers = look.numbers
    flags = look.tensors.flags
    kinds = nodes.kind
    for child in children:
        key = nodes.key[child]
        if kinds[child] == _TENSOR and type(key) is str:
            rows.append((key, child, None))
    marked = [bool(flags[numbers[child]] & _PARAMETER) for _, child, _ in rows]
    if any(marked):
        rows = [(name, child, is_one) for (name, child, _), is_one in zip(rows, marked, strict=True)]
    facts.parameters_known = any(marked)
    facts.versions = _versions(look, node)
    _fill(look, facts, rows)
    facts.ordered = not (_is_safetensors(look, facts) or is_order_lost(facts.name))
    return facts


def _is_safetensors(look: Look, facts: StateDictFacts) -> bool:
    """Whether any of the tensors lies in a safetensors file, which is sorted by name."""
    checkpoint = look.checkpoint
    if "safetensors" in checkpoint.container:
        return True
    lying = [file.path.suffix == ".safetensors" for file in checkpoint.files]
    if not any(lying):
        return False
    storages = {look.tensors.storage[look.numbers[node]] for node in facts.entry}
    return any(lying[checkpoint.storages.file[storage]] for storage in storages if storage >= 0)


def is_module(look: Look, node: int) -> bool:
    """Whether an object is a pickled `nn.Module`."""
    if look.nodes.kind[node] != Kind.OBJECT:
        return False
    members = look.named(node)
    return "_modules" in members and "_parameters" in members and "_buffers" in members


def module_facts(look: Look, node: int) -> StateDictFacts:
    """Parameters and buffers of a pickled module, in the order in which `state_dict()` would list them."""
    rows: list[tuple[str, int, bool | None]] = []
    seen: set[int] = set()
    stack = [(node, "")]
    while stack:
        module, prefix = stack.pop()
        if module in seen:
            continue
        seen.add(module)
        members = look.named(module)
        for where, is_one in (("_parameters", True), ("_buffers", False)):
            if where in members:
                for name, child in look.named(members[where]).items():
                    if look.tensor(child) is not None:
                        rows.append((prefix + name, child, is_one))
        if "_modules" in members:
            below = look.named(members["_modules"]).items()
            stack += [(child, f"{prefix}{name}.") for name, child in reversed(below) if look.is_mapping(child)]
    facts = StateDictFacts(node, "module", parameters_known=True, averaged=_is_averaged(look, node))
    _fill(look, facts, rows)
    return facts


def _fill(look: Look, facts: StateDictFacts, rows: Iterable[tuple[str, int, bool | None]]) -> None:
    """Columns from (name, node, whether it is a parameter or None where that is not known)."""
    rows = list(rows)
    tensors = look.tensors
    names = {name for name, _, _ in rows}
    first_with: dict[tuple[object, ...], int] = {}
    tied: dict[int, list[int]] = {}
    numels: dict[tuple[int, ...], int] = {}
    for name, node, is_one in rows:
        number = look.numbers[node]
        shape = tensors.shape[number]
        role = role_of(name, shape, names, is_floating=tensors.dtype[number] in _FLOATING)
        facts.entry.append(node)
        facts.name.append(name)
        facts.role.append(role)
        first = first_with.setdefault(look.identity(number), node)
        if first != node:
            tied.setdefault(first, [first]).append(node)
            facts.is_parameter.append(0)
            continue
        parameter = (not is_buffer(role)) if is_one is None else is_one
        facts.is_parameter.append(parameter)
        numel = numels.get(shape)
        if numel is None:
            numel = numels[shape] = numel_of(shape)
        nbytes = numel * DTYPES[tensors.dtype[number]].itemsize
        facts.numel += numel
        facts.nbytes += nbytes
        if parameter:
            facts.n_parameters += numel
            facts.parameter_nbytes += nbytes
    facts.tied = [TiedGroup(tuple(group)) for group in tied.values()]


def _versions(look: Look, node: int) -> dict[str, int]:
    metadata = look.attribute(node, "_metadata")
    if metadata is None:
        return {}
    found: dict[str, int] = {}
    for prefix, child in look.named(metadata).items():
        version = look.number(look.named(child).get("version")) if look.is_mapping(child) else None
        if isinstance(version, int):
            found[prefix] = version
    return found


def _is_averaged(look: Look, node: int) -> bool:
    key = look.key_text(node).lower()
    return "ema" in key.replace("-", "_").split("_") or key.startswith(("ema", "swa", "averag", "shadow"))


def parameter_columns(look: Look, facts: StateDictFacts) -> tuple[list[str], array[int], list[tuple[int, ...]]]:
    """Names, nodes and shapes of what an optimizer may hold, in the model's order."""
    names: list[str] = []
    entries = array("q")
    shapes: list[tuple[int, ...]] = []
    for name, node, is_one in zip(facts.name, facts.entry, facts.is_parameter, strict=True):
        if is_one:
            names.append(name)
            entries.append(node)
            shapes.append(look.tensors.shape[look.numbers[node]])
    return names, entries, shapes


WRAPPERS: Final = ("module.", "_orig_mod.", "_fsdp_wrapped_module.", "_forward_module.")
"""What wrappers put before names: DataParallel and DistributedDataParallel, torch.compile, FSDP, Lightning's
strategies."""
