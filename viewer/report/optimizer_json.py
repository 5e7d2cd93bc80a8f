"""The optimizers of a checkpoint as JSON, written piece by piece.

    {"optimizers": [{"path", "kind", "named_by", "groups": [{…}], "entries": [{"id", "name", "candidates": […],
     "group", "state": {"step": …, "exp_avg": {"shape", "dtype", "norm"} …}, "fits": true}]}], "notes": […]}

* `named_by`: "param_names", "state_dict" (by order and shapes), "key" or "none".
* A group has its hyperparameters by name, and in `params` the ids of its entries.
* `name` is null where it is not certain, and `candidates` then has the names that fit.
* `group` is the number of the group; null for state that belongs to none.
* In `state`, a tensor of the shape () is its value; others have shape, dtype and norm (the root of the sum of
  squares; null for integers). Plain values are themselves.
* `fits`: whether the moments have the shape of the parameter that they would be loaded onto; null where that is not
  known.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.dtypes import DTYPES
from viewer.checkpoint.meaning.look import Look
from viewer.checkpoint.meaning.results import FITS, MISFITS, OptimizerFacts, Recognition
from viewer.checkpoint.nodes import Key, Kind
from viewer.report.json_values import json_list, json_number, json_object, json_string, json_value
from viewer.report.wording import plural
from viewer.tensors.brief import TensorBrief

_FITS = {FITS: "true", MISFITS: "false"}
_MAX_DEPTH: Final = 8
_SHOWN: Final = 5


def iter_optimizer_json(
    checkpoint: Checkpoint, recognition: Recognition, briefs: Mapping[int, TensorBrief]
) -> Iterator[str]:
    """Pieces of the JSON text; together they end in a line feed."""
    look = Look(checkpoint)
    yield '{"optimizers": ['
    for nth, optimizer in enumerate(recognition.optimizers):
        yield "\n" if nth == 0 else ",\n"
        yield from _optimizer(look, optimizer, briefs)
    notes = [json_string(note) for note in optimizer_notes(checkpoint, recognition)]
    yield f'],\n"notes": {json_list(notes)}}}\n'


def optimizer_notes(checkpoint: Checkpoint, recognition: Recognition) -> list[str]:
    """What a person should read: how names were found, or why they were not, and what is odd."""
    notes: list[str] = []
    for optimizer in recognition.optimizers:
        where = checkpoint.path_of(optimizer.node)
        lead = f"{where}: " if where else ""
        if optimizer.naming:
            notes.append(lead + optimizer.naming)
        notes += [lead + note for note in optimizer.notes]
        if optimizer.unstated:
            notes.append(f"{lead}{_listed(optimizer.unstated)} of the model have no entry: frozen, or left out")
        if optimizer.strangers:
            notes.append(f"{lead}there is state for {_listed(optimizer.strangers)} that are not in the model")
        orphans = sum(1 for group in optimizer.entries.group if group < 0)
        if orphans:
            notes.append(f"{lead}{orphans:,} states belong to no group")
    if not recognition.optimizers:
        notes.append("the file holds no optimizer")
    return [*notes, *recognition.notes, *checkpoint.warnings]


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_SHOWN]) + (" …" if len(names) > _SHOWN else "")
    return f"{plural(len(names), 'parameter')} ({shown})"


def _optimizer(look: Look, optimizer: OptimizerFacts, briefs: Mapping[int, TensorBrief]) -> Iterator[str]:
    entries = optimizer.entries
    path = json_string(look.checkpoint.path_of(optimizer.node))
    yield f'{{"path": {path}, "kind": {json_string(optimizer.kind)}, "named_by": "{optimizer.named_by}",\n"groups": ['
    ids: list[list[str]] = [[] for _ in optimizer.groups]
    for key, number in zip(entries.id, entries.group, strict=True):
        if number >= 0:
            ids[number].append(_id(key))
    for number, group in enumerate(optimizer.groups):
        fields = {name: _value(look, node, briefs) for name, node in group.hyperparameters}
        fields["params"] = json_list(ids[number])
        yield ("\n" if number == 0 else ",\n") + json_object(fields)
    yield '],\n"entries": ['
    for entry in range(len(entries)):
        yield ("\n" if entry == 0 else ",\n") + _entry(look, optimizer, entry, briefs)
    yield "]}"


def _entry(look: Look, optimizer: OptimizerFacts, entry: int, briefs: Mapping[int, TensorBrief]) -> str:
    entries = optimizer.entries
    group, state = entries.group[entry], entries.state[entry]
    flat = {name: _value(look, node, briefs) for name, node in entries.parts.get(entry, {}).items()}
    return json_object(
        {
            "id": _id(entries.id[entry]),
            "name": json_value(entries.name[entry]),
            "candidates": json_list(map(json_string, entries.candidates[entry])),
            "group": "null" if group < 0 else str(group),
            "state": _value(look, state, briefs) if state >= 0 else json_object(flat),
            "fits": _FITS.get(entries.fits[entry], "null"),
        }
    )


def _id(key: Key) -> str:
    return json_value(key) if isinstance(key, (int, str)) else json_string(key.text)


def _value(look: Look, node: int, briefs: Mapping[int, TensorBrief], depth: int = 0) -> str:
    """A node as JSON: plain values, lists and mappings of them, tensors by shape, dtype and norm."""
    nodes = look.nodes
    node = look.real(node)
    kind = nodes.kind[node]
    if kind == Kind.TENSOR:
        return _tensor(look, look.numbers[node], briefs)
    if kind == Kind.SCALAR or depth >= _MAX_DEPTH:
        return json_value(nodes.value[node])
    if kind in (Kind.SEQUENCE, Kind.SET):
        return json_list(_value(look, item, briefs, depth + 1) for item in look.items(node))
    if look.is_mapping(node):
        return json_object(
            {
                key if isinstance(key, str) else str(key) if isinstance(key, int) else key.text: _value(
                    look, child, briefs, depth + 1
                )
                for key, child in look.members(node).items()
            }
        )
    value = nodes.value[node]
    return json_string(nodes.type_name(node) if value is None else str(value))


def _tensor(look: Look, number: int, briefs: Mapping[int, TensorBrief]) -> str:
    shape = look.tensors.shape[number]
    brief = briefs.get(number)
    if shape == () and brief is not None and brief.problem is None:
        return json_value(brief.value)
    fields = {
        "shape": json_value(shape),
        "dtype": json_string(DTYPES[look.tensors.dtype[number]].name),
        "norm": norm_text(brief, json_number, "null"),
    }
    if brief is not None and brief.problem is not None:
        fields["problem"] = json_string(brief.problem)
    return json_object(fields)


def norm_text(brief: TensorBrief | None, write: object, nothing: str) -> str:
    """A norm as `write` writes floats; NaN and infinity where an element is."""
    assert callable(write)
    if brief is None or brief.problem is not None:
        return nothing
    if brief.nan:
        return str(write(float("nan")))
    if brief.inf:
        return str(write(float("inf")))
    return nothing if brief.norm is None else str(write(brief.norm))
