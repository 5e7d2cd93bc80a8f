"""Checks that need no values: names, devices, views, shapes."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Final

from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.meaning.look import Look
from viewer.checkpoint.meaning.models import WRAPPERS
from viewer.checkpoint.meaning.results import MISFITS, OptimizerFacts, Recognition, StateDictFacts
from viewer.checkpoint.nodes import Kind
from viewer.checkpoint.tensors import NO_STORAGE, numel_of
from viewer.checks.results import MAX_NODES, Finding, counted

PREFIXES: Final = "prefixes that will not load"
DEVICES: Final = "device tags that need a map"
VIEWS: Final = "views that waste space"
MISFIT: Final = "moments that do not fit"
UNNAMED: Final = "optimizer that does not fit the model"
UNREADABLE: Final = "entries that cannot be read"
READER: Final = "warnings of the reader"
CHECKS: Final = (PREFIXES, DEVICES, VIEWS, MISFIT, UNNAMED, UNREADABLE, READER)

_WASTE_SHARE: Final = 0.5
_WASTE_NBYTES: Final = 1 << 20
_SHOWN: Final = 3
_PLAIN_DEVICES: Final = frozenset({"cpu", "meta", ""})


def structure_findings(checkpoint: Checkpoint, recognition: Recognition) -> list[Finding]:
    """All findings of this module."""
    look = Look(checkpoint)
    found: list[Finding] = []
    for model in recognition.state_dicts:
        found += _prefixes(look, model)
    found += _devices(look)
    found += _views(look)
    for optimizer in recognition.optimizers:
        found += _misfits(look, optimizer)
    found += _unreadable(look)
    warnings = checkpoint.warnings
    if warnings:
        more = f" (and {len(warnings) - _SHOWN:,} more)" if len(warnings) > _SHOWN else ""
        found.append(
            Finding(
                READER,
                "warning",
                "; ".join(warnings[:_SHOWN]) + more,
                "Compare the file with the one it was copied from, or save it anew",
                (0,),
                len(warnings),
            )
        )
    return found


def _prefixes(look: Look, model: StateDictFacts) -> Iterator[Finding]:
    """A wrapper's prefix before every name: a plain module has other keys."""
    if model.form != "state_dict" or not model.name:
        return
    names = [name for name in model.name if name != "n_averaged"]
    averaged = len(names) < len(model.name)
    where = look.path(model.node)
    lead = _lead(names)
    if lead:
        wrappers = ["AveragedModel"] if averaged else [_WHO[wrapper] for wrapper in WRAPPERS if wrapper in lead]
        who = f"{' and '.join(wrappers)} {'puts' if len(wrappers) == 1 else 'put'}"
        yield Finding(
            PREFIXES,
            "warning",
            f"all {len(names):,} keys of {where} have the prefix {lead!r} that {who} there: a plain model has "
            "none of them",
            f"{{k.removeprefix({lead!r}): v for k, v in state_dict.items()"
            + (" if k != 'n_averaged'}" if averaged else "}"),
            (model.node,),
            len(names),
        )
    inside = [name for name in names if any(f".{wrapper}" in f".{name[len(lead) :]}" for wrapper in _INSIDE)]
    if inside:
        yield Finding(
            PREFIXES,
            "warning",
            f"{len(inside):,} of {len(names):,} keys of {where} name a wrapper, the first {inside[0]!r}: a plain "
            "model has other keys",
            "Replace " + " and ".join(repr(wrapper) for wrapper in _INSIDE) + " by '' in the keys",
            (model.node,),
            len(inside),
        )


def _lead(names: list[str]) -> str:
    """The wrappers' prefixes that every name begins with: "module." may be an ordinary submodule elsewhere."""
    lead = ""
    while names:
        wrapper = next((w for w in WRAPPERS if all(name.startswith(lead + w) for name in names)), None)
        if wrapper is None:
            break
        lead += wrapper
    return lead


_INSIDE: Final = tuple(wrapper for wrapper in WRAPPERS if wrapper != "module.")

_WHO: Final = {
    "module.": "DataParallel or DistributedDataParallel",
    "_orig_mod.": "torch.compile",
    "_fsdp_wrapped_module.": "FullyShardedDataParallel",
    "_forward_module.": "Lightning's Fabric",
}


def _devices(look: Look) -> Iterator[Finding]:
    storages = look.checkpoint.storages
    counts = Counter(location for location in storages.location if location not in _PLAIN_DEVICES)
    if not counts:
        return
    first: dict[str, int] = {}
    nodes = look.nodes
    for node, kind in enumerate(nodes.kind):
        if kind == Kind.TENSOR and len(first) < len(counts):
            storage = look.tensors.storage[look.numbers[node]]
            if storage != NO_STORAGE and (location := storages.location[storage]) in counts:
                first.setdefault(location, node)
    listed = ", ".join(f"{location} ({count:,} storages)" for location, count in sorted(counts.items()))
    yield Finding(
        DEVICES,
        "info",
        f"tensors were saved on {listed}; torch.load puts them there and fails where the device is missing",
        "torch.load(path, map_location='cpu')",
        tuple(first.values()),
        sum(counts.values()),
    )


def _views(look: Look) -> Iterator[Finding]:
    """Storages of which the tensors in the file show only a part: torch.save writes a storage whole."""
    tensors, storages = look.tensors, look.checkpoint.storages
    shown: dict[int, int] = defaultdict(int)
    seen: set[tuple[object, ...]] = set()
    from_dtypes = _itemsizes()
    for number in range(len(tensors)):
        storage = tensors.storage[number]
        identity = look.identity(number)
        if storage == NO_STORAGE or identity in seen:
            continue
        seen.add(identity)
        shown[storage] += (
            _distinct(tensors.shape[number], tensors.stride[number]) * from_dtypes[tensors.dtype[number]]
        )
    wasteful = {
        storage: storages.nbytes[storage] - nbytes
        for storage, nbytes in shown.items()
        if storages.nbytes[storage] - nbytes >= min(_WASTE_SHARE * storages.nbytes[storage], _WASTE_NBYTES)
        and storages.nbytes[storage] > nbytes
    }
    if not wasteful:
        return
    nodes = [
        node
        for node, kind in enumerate(look.nodes.kind)
        if kind == Kind.TENSOR and tensors.storage[look.numbers[node]] in wasteful
    ]
    waste = sum(wasteful.values())
    listed = ", ".join(look.path(node) for node in nodes[:_SHOWN]) + (" …" if len(nodes) > _SHOWN else "")
    yield Finding(
        VIEWS,
        "warning",
        f"{waste:,} bytes in the file belong to no tensor: {listed} show a part of larger storages, which are saved "
        "whole",
        "Save tensor.clone() of each view",
        tuple(nodes[:MAX_NODES]),
        len(wasteful),
    )


def _distinct(shape: tuple[int, ...], stride: tuple[int, ...]) -> int:
    """Elements of the storage that a view shows, a repeated dimension once."""
    return numel_of(tuple(1 if step == 0 and extent else extent for extent, step in zip(shape, stride, strict=False)))


def _itemsizes() -> list[int]:
    from viewer.checkpoint.dtypes import DTYPES

    return [dtype.itemsize for dtype in DTYPES]


def _misfits(look: Look, optimizer: OptimizerFacts) -> Iterator[Finding]:
    entries = optimizer.entries
    wrong = [entry for entry, fits in enumerate(entries.fits) if fits == MISFITS]
    if wrong:
        listed = "; ".join(_misfit_text(look, optimizer, entry) for entry in wrong[:_SHOWN])
        yield Finding(
            MISFIT,
            "error",
            f"{counted(len(wrong), 'entry', 'entries')} of {look.path(optimizer.node)} with moments of another shape "
            f"than the parameter that they would be loaded onto: {listed}{' …' if len(wrong) > _SHOWN else ''}",
            "Make the optimizer from the parameters in the order in which the saved one had them, or start it anew",
            tuple([max(entries.state[entry], optimizer.node) for entry in wrong[:MAX_NODES]]),
            len(wrong),
        )
    if optimizer.strangers:
        shown = ", ".join(optimizer.strangers[:_SHOWN]) + (" …" if len(optimizer.strangers) > _SHOWN else "")
        yield Finding(
            UNNAMED,
            "warning",
            f"{look.path(optimizer.node)} has state for "
            f"{counted(len(optimizer.strangers), 'parameter that is', 'parameters that are')} not in "
            f"{look.path(optimizer.model)}: {shown}",
            "Check that optimizer and model come from the same run, and that their names have the same prefix",
            (optimizer.node,),
            len(optimizer.strangers),
        )
    if optimizer.named_by == "none" and optimizer.model >= 0:
        yield Finding(
            UNNAMED,
            "warning",
            f"{look.path(optimizer.node)}: {optimizer.naming}",
            "Check that optimizer and model come from the same run and were made with the same groups",
            (optimizer.node,),
        )
    yield from _groups(look, optimizer)


def _groups(look: Look, optimizer: OptimizerFacts) -> Iterator[Finding]:
    """Groups that do not hold what there is state for. `load_state_dict` refuses a parameter less, and takes state
    of no group along without a use."""
    entries = optimizer.entries
    where = look.path(optimizer.node)
    remedy = "Save the optimizer anew, or give its groups the ids of all states"
    grouped = Counter(key for key, group in zip(entries.id, entries.group, strict=True) if group >= 0)
    orphans = [entry for entry, group in enumerate(entries.group) if group < 0]
    if orphans and grouped:  # groups without any ids are stripped on purpose
        yield Finding(
            UNNAMED,
            "warning",
            f"{counted(len(orphans), 'state', 'states')} of {where} in no group, the first "
            f"{entries.id[orphans[0]]!r}",
            remedy,
            tuple([max(entries.state[entry], optimizer.node) for entry in orphans[:MAX_NODES]]),
            len(orphans),
        )
    twice = [key for key, count in grouped.items() if count > 1]
    if twice:
        yield Finding(
            UNNAMED,
            "warning",
            f"the groups of {where} list {counted(len(twice), 'parameter', 'parameters')} more than once, the first "
            f"{twice[0]!r}",
            remedy,
            (optimizer.node,),
            len(twice),
        )


def _misfit_text(look: Look, optimizer: OptimizerFacts, entry: int) -> str:
    entries = optimizer.entries
    own = entries.shape[entry]
    shape = "×".join(map(str, own)) if own else "()"
    name = entries.name[entry]
    there = look.shape(entries.parameter[entry]) if entries.parameter[entry] >= 0 else None
    text = f"{name if name is not None else f'entry {entries.id[entry]}'} has moments of {shape}"
    return text if there is None else f"{text} and is {'×'.join(map(str, there)) or '()'}"


def _unreadable(look: Look) -> Iterator[Finding]:
    nodes = look.nodes
    storages, tensors = look.checkpoint.storages, look.tensors
    wrong: list[int] = []
    for node, kind in enumerate(nodes.kind):
        if kind == Kind.PROBLEM:
            wrong.append(node)
        elif kind == Kind.TENSOR and (tensors.problem or storages.problem):
            number = look.numbers[node]
            if number in tensors.problem or tensors.storage[number] in storages.problem:
                wrong.append(node)
    if wrong:
        first = wrong[0]
        why = nodes.value[first]
        if nodes.kind[first] == Kind.TENSOR:
            number = look.numbers[first]
            why = tensors.problem.get(number) or storages.problem.get(tensors.storage[number])
        yield Finding(
            UNREADABLE,
            "error",
            f"{counted(len(wrong), 'entry', 'entries')} cannot be read; the first is {look.path(first)}: {why}",
            "Fetch or copy the file again, or save it anew from where it came",
            tuple(wrong[:MAX_NODES]),
            len(wrong),
        )
