"""The optimizers of a checkpoint as text: groups as a table, then a line for each parameter."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.meaning.look import Look
from viewer.checkpoint.meaning.parts import short_text
from viewer.checkpoint.meaning.results import MISFITS, OptimizerFacts, Recognition
from viewer.report.optimizer_json import norm_text, optimizer_notes
from viewer.report.wording import padded, plural, printable, rounded_number, shape_text, shortened, size_text
from viewer.tensors.brief import TensorBrief

_NAME_WIDTH: Final = 60
_CELL_WIDTH: Final = 28
_CANDIDATES: Final = 4


def iter_optimizer_text(
    checkpoint: Checkpoint, recognition: Recognition, briefs: Mapping[int, TensorBrief]
) -> Iterator[str]:
    """Pieces of text with their line feeds."""
    look = Look(checkpoint)
    yield f"{printable(str(checkpoint.path))}\n"
    if recognition.what:
        yield f"  {printable(recognition.what)}\n"
    for optimizer in recognition.optimizers:
        yield "\n"
        yield from _optimizer(look, optimizer, briefs)
    notes = optimizer_notes(checkpoint, recognition)
    if notes:
        yield "\n"
        yield from (f"note: {printable(note)}\n" for note in notes)


def _optimizer(look: Look, optimizer: OptimizerFacts, briefs: Mapping[int, TensorBrief]) -> Iterator[str]:
    inferred = "" if optimizer.kind_known else " (inferred)"
    yield f"{printable(look.path(optimizer.node))}: {optimizer.kind}{inferred}\n"
    entries = optimizer.entries
    yield f"  {plural(len(entries), 'entry')} in {plural(len(optimizer.groups), 'group')}, named by "
    yield f"{optimizer.named_by}; {size_text(optimizer.state_nbytes)} of state"
    yield f", {size_text(optimizer.model_nbytes)} of parameters\n\n" if optimizer.model >= 0 else "\n\n"
    yield from _lines(_groups(look, optimizer, briefs))
    yield "\n"
    yield from _lines(_entries(look, optimizer, briefs))


def _groups(look: Look, optimizer: OptimizerFacts, briefs: Mapping[int, TensorBrief]) -> list[Sequence[str]]:
    """A row for each hyperparameter, a column for each group; "≠" where groups differ."""
    if not optimizer.groups:
        return []
    names = dict.fromkeys(name for group in optimizer.groups for name, _ in group.hyperparameters)
    rows: list[Sequence[str]] = [("", *[f"group {number}" for number in range(len(optimizer.groups))])]
    rows.append(("parameters", *[str(group.n_parameters) for group in optimizer.groups]))
    tables = [dict(group.hyperparameters) for group in optimizer.groups]
    for name in names:
        cells = [_cell(look, table[name], briefs) if name in table else "-" for table in tables]
        mark = " ≠" if name in optimizer.groups[0].differing else ""
        rows.append((printable(name) + mark, *[shortened(printable(cell), _CELL_WIDTH) for cell in cells]))
    return rows


def _entries(look: Look, optimizer: OptimizerFacts, briefs: Mapping[int, TensorBrief]) -> Iterable[Sequence[str]]:
    entries = optimizer.entries
    keys: dict[str, None] = {}
    for entry in range(len(entries)):
        keys |= dict.fromkeys(look.state_of(entries, entry))
    shown = list(keys)[:8]
    yield ("id", "name", "group", "shape", *[printable(key) for key in shown], "")
    for entry in range(len(entries)):
        members = look.state_of(entries, entry)
        shape = entries.shape[entry]
        key = entries.id[entry]
        yield (
            shortened(printable(str(key) if isinstance(key, (int, str)) else key.text), 24),
            shortened(printable(_name(optimizer, entry)), _NAME_WIDTH),
            "-" if entries.group[entry] < 0 else str(entries.group[entry]),
            "-" if shape is None else shape_text(shape),
            *[_cell(look, members[name], briefs) if name in members else "-" for name in shown],
            "does not fit" if entries.fits[entry] == MISFITS else "",
        )


def _name(optimizer: OptimizerFacts, entry: int) -> str:
    entries = optimizer.entries
    name = entries.name[entry]
    if name is not None:
        return name
    candidates = entries.candidates[entry]
    if not candidates:
        return "?"
    more = " …" if entries.n_candidates[entry] > _CANDIDATES else ""
    return f"? {' | '.join(candidates[:_CANDIDATES])}{more}"


def _cell(look: Look, node: int, briefs: Mapping[int, TensorBrief]) -> str:
    """A scalar, or the norm of a tensor in bars."""
    number = look.tensor(node)
    if number is None:
        return shortened(printable(short_text(look, node)), _CELL_WIDTH)
    brief = briefs.get(number)
    if brief is not None and brief.value is not None and look.tensors.shape[number] == ():
        return rounded_number(brief.value)
    return f"|{norm_text(brief, rounded_number, '-')}|"


def _lines(rows: Iterable[Sequence[str]]) -> Iterator[str]:
    listed = list(rows)
    if not listed:
        return
    widths = [max(len(row[column]) for row in listed) for column in range(len(listed[0]))]
    for row in listed:
        yield ("  " + "  ".join(padded(cell, width) for cell, width in zip(row, widths, strict=True))).rstrip() + "\n"
