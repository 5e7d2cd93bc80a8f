"""The rows of an optimizer's table: its entries, then the model's parameters that have none. Free of Qt."""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.dtypes import DTYPES
from viewer.checkpoint.meaning.look import Look
from viewer.checkpoint.meaning.parts import short_text
from viewer.checkpoint.meaning.results import MISFITS, UNKNOWN, OptimizerFacts, Recognition
from viewer.checkpoint.nodes import Kind, OtherKey
from viewer.checkpoint.tensors import numel_of
from viewer.task import Progress, Task
from viewer.tensors.brief import TensorBrief

_STEP: Final = 2_000
"""Entries between two yields: some milliseconds."""
MAX_MEMBERS: Final = 12
"""Members of the states that get columns; further ones are in the tree."""
NONE: Final = -1


@dataclass(slots=True)
class EntryRows:
    """Columns over all rows; index = row.

    Attributes
    ----------
    names
        What the name column says.
    sure
        1 where the name is certain.
    members
        Names of the states' members that have columns, `step` left out.
    nodes
        By member: the node of each row; NONE where its state has none.
    steps
        Nodes of the steps.
    parameter
        Nodes of the parameters in the model.
    stranger
        1 where the file names a parameter that the model does not have.
    """

    checkpoint: Checkpoint
    optimizer: OptimizerFacts
    look: Look
    briefs: Mapping[int, TensorBrief]
    n_entries: int = 0
    names: list[str] = field(default_factory=list)
    sure: array[int] = field(default_factory=lambda: array("B"))
    members: list[str] = field(default_factory=list)
    nodes: dict[str, array[int]] = field(default_factory=dict)
    steps: array[int] = field(default_factory=lambda: array("q"))
    parameter: array[int] = field(default_factory=lambda: array("q"))
    stranger: array[int] = field(default_factory=lambda: array("B"))

    def __len__(self) -> int:
        return len(self.names)

    def is_entry(self, row: int) -> bool:
        """False for a parameter of the model that no entry is for."""
        return row < self.n_entries

    def id_text(self, row: int) -> str:
        if not self.is_entry(row):
            return ""
        key = self.optimizer.entries.id[row]
        return key.text if isinstance(key, OtherKey) else str(key)

    def group(self, row: int) -> int:
        return self.optimizer.entries.group[row] if self.is_entry(row) else NONE

    def state(self, row: int) -> int:
        """Where the row's state is: the node of the state, or of the first of its parts; NONE where there is none."""
        if not self.is_entry(row):
            return NONE
        entries = self.optimizer.entries
        if entries.state[row] >= 0:
            return entries.state[row]
        return next(iter(entries.parts.get(row, {}).values()), NONE)

    def has_state(self, row: int) -> bool:
        return self.steps[row] >= 0 or any(column[row] >= 0 for column in self.nodes.values())

    def fits(self, row: int) -> int:
        return self.optimizer.entries.fits[row] if self.is_entry(row) else UNKNOWN

    def tensor(self, member: str, row: int) -> int | None:
        """The tensor of a member; None where it is none."""
        node = self.steps[row] if member == "step" else self.nodes[member][row]
        return self.look.tensor(node) if node >= 0 else None

    def tensors(self, row: int) -> list[int]:
        """The tensors of all members that have columns, and of the step."""
        found = (self.tensor(member, row) for member in ("step", *self.members))
        return [number for number in found if number is not None]

    def nbytes(self, row: int) -> int:
        """Bytes of the tensors of a row's state."""
        tensors = self.checkpoint.tensors
        return sum(
            numel_of(tensors.shape[number]) * DTYPES[tensors.dtype[number]].itemsize for number in self.tensors(row)
        )

    def step(self, row: int) -> int | float | None:
        """The step as far as it is known: a number in the file at once, a tensor once it was read."""
        node = self.steps[row]
        if node < 0:
            return None
        if (number := self.look.tensor(node)) is None:
            return self.look.number(node)
        brief = self.briefs.get(number)
        return brief.value if brief is not None and isinstance(brief.value, (int, float)) else None

    def plain_text(self, node: int) -> str:
        """A value that is no tensor, in short."""
        kind = self.look.nodes.kind[node]
        if kind == Kind.SEQUENCE:
            return f"{self.look.nodes.type_name(node)} · {self.look.nodes.n_children[node]:,}"
        return short_text(self.look, node)


def rows_task(
    checkpoint: Checkpoint, recognition: Recognition, optimizer: OptimizerFacts, briefs: Mapping[int, TensorBrief]
) -> Task[EntryRows]:
    """Lay the rows out."""
    entries = optimizer.entries
    rows = EntryRows(checkpoint, optimizer, Look(checkpoint), briefs, len(entries))
    model = next((facts for facts in recognition.state_dicts if facts.node == optimizer.model), None)
    node_of = {} if model is None else dict(zip(model.name, model.entry, strict=True))
    strangers = frozenset(optimizer.strangers)
    total = len(entries) + len(optimizer.unstated)
    rows.steps = array("q", [NONE]) * total
    for row in range(len(entries)):
        name = entries.name[row]
        rows.names.append(name if name is not None else _candidates_text(optimizer, row))
        rows.sure.append(name is not None)
        rows.parameter.append(entries.parameter[row])
        rows.stranger.append(name in strangers)
        _add_state(rows, row, total)
        if row % _STEP == 0:
            yield Progress(row, total, "entries")
    for nth, name in enumerate(optimizer.unstated):
        rows.names.append(name)
        rows.sure.append(1)
        rows.parameter.append(node_of.get(name, NONE))
        rows.stranger.append(0)
        if nth % _STEP == 0:
            yield Progress(len(entries) + nth, total, "entries")
    return rows


def _add_state(rows: EntryRows, row: int, total: int) -> None:
    nodes, entries = rows.look.nodes, rows.optimizer.entries
    state = entries.state[row]
    if state >= 0:
        first, count = nodes.first_child[state], nodes.n_children[state]
        members: Mapping[Any, int] = dict(
            zip(nodes.key[first : first + count], range(first, first + count), strict=True)
        )
    else:
        members = dict(entries.parts.get(row, {}))
    for key, child in members.items():
        if type(key) is not str:
            continue
        if nodes.kind[child] == Kind.LINK:
            child = rows.look.real(child)
        if key == "step":
            rows.steps[row] = child
            continue
        column = rows.nodes.get(key)
        if column is None:
            if len(rows.members) == MAX_MEMBERS:
                continue
            column = rows.nodes[key] = array("q", [NONE]) * total
            rows.members.append(key)
        column[row] = child


def _candidates_text(optimizer: OptimizerFacts, row: int) -> str:
    """What stands in place of a name that is not certain."""
    entries = optimizer.entries
    candidates, count = entries.candidates[row], entries.n_candidates[row]
    if not candidates:
        return "? no name"
    shown = " | ".join(candidates[:3])
    return f"? one of {count:,}: {shown}{' | …' if count > 3 else ''}"


def fit_words(rows: EntryRows, row: int) -> tuple[str, str]:
    """Whether a row's state fits its parameter, in a word with its glyph, and why, as a sentence."""
    if not rows.is_entry(row):
        return (
            "○ no state",
            "The model has this parameter, and the optimizer has no entry for it: frozen, or left out.",
        )
    if rows.stranger[row]:
        return "✕ not in the model", "The file names this parameter, and the model does not have it."
    if not rows.has_state(row):
        return (
            "○ no state yet",
            "The group holds this parameter, and nothing is stored for it: no step was made with it.",
        )
    moments = rows.optimizer.entries.shape[row]
    own = rows.look.shape(rows.parameter[row]) if rows.parameter[row] >= 0 else None
    fits = rows.fits(row)
    if fits == MISFITS:
        why = "The moments do not have the shape of the parameter that they would be loaded onto"
        if moments is not None and own is not None and moments != own:
            why += f": they are {_shape(moments)}, it is {_shape(own)}"
        return "✕ does not fit", f"{why}. load_state_dict does not notice."
    if fits == UNKNOWN:
        why = "no parameter is certain" if rows.parameter[row] < 0 else "nothing stored has the parameter's shape"
        return "? not known", f"Whether the state fits cannot be told: {why}."
    return "✓ fits", "The moments have the shape of the parameter" + (f", {_shape(own)}." if own is not None else ".")


def _shape(shape: tuple[int, ...]) -> str:
    return "×".join(map(str, shape)) or "a scalar"
