"""The text of each cell of an optimizer's table, made when it is painted, and what columns sort by. Free of Qt."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from viewer.checkpoint.dtypes import DTYPES
from viewer.checkpoint.nodes import OtherKey
from viewer.checkpoint.tensors import numel_of
from viewer.gui.format import (
    NO_VALUE,
    format_bytes,
    format_bytes_exact,
    format_count,
    format_exact,
    format_number,
    format_shape,
)
from viewer.gui.meaning.entry_rows import EntryRows, fit_words
from viewer.tensors.brief import TensorBrief

NOT_COMPUTED: Final = "not computed"
_DIGITS: Final = 5


class What(IntEnum):
    """Kinds of columns."""

    ID = 0
    NAME = 1
    GROUP = 2
    STEP = 3
    FITS = 4
    SIZE = 5
    MEMBER = 6
    NORM = 7


@dataclass(frozen=True, slots=True)
class EntryColumn:
    """One column.

    Attributes
    ----------
    member
        Of MEMBER and NORM: which member of the state.
    """

    what: What
    title: str
    tip: str
    member: str = ""

    @property
    def is_figure(self) -> bool:
        return self.what in (What.GROUP, What.STEP, What.SIZE, What.NORM)

    @property
    def is_mono(self) -> bool:
        return self.what != What.FITS


_HEAD: Final = (
    EntryColumn(What.ID, "id", "Its key in the optimizer's state"),
    EntryColumn(What.NAME, "parameter", "The parameter's name; candidates where it is not certain"),
    EntryColumn(What.GROUP, "group", "Number of its group"),
    EntryColumn(What.STEP, "step", "Steps made with this parameter"),
    EntryColumn(What.FITS, "fits", "Whether the state has the shape of the parameter it would be loaded onto"),
    EntryColumn(What.SIZE, "size", "Bytes of all tensors in its state"),
)


def columns_of(rows: EntryRows) -> tuple[EntryColumn, ...]:
    """The columns: the common ones, then two for each member of the states, its form and its norm."""
    found = list(_HEAD)
    for member in rows.members:
        found.append(EntryColumn(What.MEMBER, member, f"dtype, shape and size of {member}, or its value", member))
        if _has_norm(rows, member):
            found.append(
                EntryColumn(What.NORM, f"‖{member}‖", f"The square root of the sum of squares of {member}", member)
            )
    return tuple(found)


def _has_norm(rows: EntryRows, member: str) -> bool:
    """Whether the first row that has the member has a tensor of more than one element there."""
    node = next((node for node in rows.nodes[member] if node >= 0), -1)
    shape = rows.look.shape(node) if node >= 0 else None
    return shape is not None and shape != ()


def cell(rows: EntryRows, row: int, column: EntryColumn) -> str:
    """The text of a cell."""
    what = column.what
    if what == What.ID:
        return rows.id_text(row)
    if what == What.NAME:
        return rows.names[row]
    if what == What.GROUP:
        return NO_VALUE if rows.group(row) < 0 else str(rows.group(row))
    if what == What.STEP:
        return _step_text(rows, row)
    if what == What.FITS:
        return fit_words(rows, row)[0]
    if what == What.SIZE:
        return format_bytes(rows.nbytes(row)) if rows.has_state(row) else NO_VALUE
    if what == What.MEMBER:
        return _member_text(rows, row, column.member)
    return _norm_text(rows, row, column.member)


def exact_cell(rows: EntryRows, row: int, column: EntryColumn) -> str:
    """What hovering tells and copying takes: exact, and as Python reads it back."""
    what = column.what
    if what == What.STEP and (step := rows.step(row)) is not None:
        return format_exact(step)
    if what == What.SIZE:
        return str(rows.nbytes(row)) if rows.has_state(row) else ""
    if what in (What.NORM, What.MEMBER):
        number = rows.tensor(column.member, row)
        brief = None if number is None else rows.briefs.get(number)
        if what == What.NORM:
            return "" if brief is None or brief.norm is None else format_exact(brief.norm)
        if brief is not None and brief.value is not None and rows.checkpoint.tensors.shape[brief.number] == ():
            return format_exact(brief.value)
    return cell(rows, row, column).replace(NO_VALUE, "")


def tip(rows: EntryRows, row: int, column: EntryColumn) -> str:
    """The whole of what a cell may have rounded or cut short."""
    what = column.what
    if what == What.NAME:
        return name_tip(rows, row)
    if what == What.FITS:
        return fit_words(rows, row)[1]
    if what == What.SIZE:
        return format_bytes_exact(rows.nbytes(row)) if rows.has_state(row) else ""
    if what in (What.MEMBER, What.NORM):
        return _member_tip(rows, row, column.member)
    return exact_cell(rows, row, column)


def name_tip(rows: EntryRows, row: int) -> str:
    """The name in full, or all candidates with what speaks for one of them."""
    if rows.sure[row]:
        return rows.names[row]
    entries = rows.optimizer.entries
    candidates = entries.candidates[row]
    if not candidates:
        return f"No name: {rows.optimizer.naming}"
    more = entries.n_candidates[row] - len(candidates)
    listed = ", ".join(candidates[:20])
    if more > 0 or len(candidates) > 20:
        listed += f" … and {format_count(max(more, 0) + max(len(candidates) - 20, 0))} more"
    lines = [f"The name is not certain; these fit: {listed}."]
    if (likely := entries.likely[row]) is not None:
        lines.append(f"If the groups follow one another in the model's order, it is {likely}.")
    return "\n".join(lines)


def sort_key(rows: EntryRows, row: int, column: EntryColumn) -> tuple[int, float, str]:
    """What a column sorts by; what is not there comes last."""
    what = column.what
    if what == What.ID:
        key = rows.optimizer.entries.id[row] if rows.is_entry(row) else None
        if isinstance(key, int):
            return 0, float(min(key, 1 << 62)), ""
        return (2, 0.0, "") if key is None else (1, 0.0, key.text if isinstance(key, OtherKey) else key)
    if what == What.NAME:
        return (0 if rows.sure[row] else 1), 0.0, rows.names[row]
    if what == What.GROUP:
        return (0 if rows.group(row) >= 0 else 1), float(rows.group(row)), ""
    if what == What.FITS:
        return 0, 0.0, fit_words(rows, row)[0]
    if what == What.SIZE:
        return 0, float(rows.nbytes(row)), ""
    if what == What.STEP:
        step = rows.step(row)
        return (1, 0.0, "") if step is None or step != step else (0, float(step), "")
    number = rows.tensor(column.member, row)
    if number is None:
        return 2, 0.0, ""
    if what == What.MEMBER:
        return 0, float(min(numel_of(rows.checkpoint.tensors.shape[number]), 1 << 62)), ""
    brief = rows.briefs.get(number)
    return (1, 0.0, "") if brief is None or brief.norm is None else (0, brief.norm, "")


def _step_text(rows: EntryRows, row: int) -> str:
    node = rows.steps[row]
    if node < 0:
        return NO_VALUE
    if (step := rows.step(row)) is not None:
        return format_number(step)
    if (number := rows.look.tensor(node)) is None:
        return rows.plain_text(node)
    brief = rows.briefs.get(number)
    return NOT_COMPUTED if brief is None else _unread(brief)


def _member_text(rows: EntryRows, row: int, member: str) -> str:
    node = rows.nodes[member][row]
    if node < 0:
        return NO_VALUE
    number = rows.look.tensor(node)
    if number is None:
        return rows.plain_text(node)
    tensors = rows.checkpoint.tensors
    shape, dtype = tensors.shape[number], DTYPES[tensors.dtype[number]]
    if shape == ():
        brief = rows.briefs.get(number)
        if brief is None:
            return f"{dtype.short} {NOT_COMPUTED}"
        return _unread(brief) if brief.value is None else format_number(brief.value, _DIGITS)
    return f"{dtype.short} {format_shape(shape)} · {format_bytes(numel_of(shape) * dtype.itemsize)}"


def _norm_text(rows: EntryRows, row: int, member: str) -> str:
    number = rows.tensor(member, row)
    if number is None:
        return NO_VALUE
    brief = rows.briefs.get(number)
    if brief is None:
        return NOT_COMPUTED
    return _unread(brief) if brief.norm is None else format_number(brief.norm, _DIGITS)


def _unread(brief: TensorBrief) -> str:
    """What stands in place of a number that there is none of."""
    if brief.problem is not None:
        return "✕ cannot be read"
    if brief.nan:
        return "⚠ has NaN"
    if brief.inf:
        return "⚠ has infinity"
    return NO_VALUE


def _member_tip(rows: EntryRows, row: int, member: str) -> str:
    number = rows.tensor(member, row)
    if number is None:
        return ""
    tensors = rows.checkpoint.tensors
    shape, dtype = tensors.shape[number], DTYPES[tensors.dtype[number]]
    lines = [f"{member}: {dtype.name} {shape}, {format_bytes_exact(numel_of(shape) * dtype.itemsize)}"]
    brief = rows.briefs.get(number)
    if brief is None:
        lines.append("Its values were not read yet.")
    elif brief.problem is not None:
        lines.append(brief.problem)
    else:
        if brief.norm is not None:
            lines.append(f"norm {format_exact(brief.norm)} (the square root of the sum of squares)")
        if brief.value is not None:
            lines.append(f"value {format_exact(brief.value)}")
        lines.append(
            f"{format_count(brief.zeros)} zeros, {format_count(brief.negative)} negative, "
            f"{format_count(brief.nan)} NaN, {format_count(brief.inf)} infinite "
            f"of {format_count(brief.count)} elements"
        )
    return "\n".join(lines)
