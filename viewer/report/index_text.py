"""Indexes as they are written in Python, for slices of two dimensions at most."""

from __future__ import annotations

from viewer.errors import ViewerError
from viewer.tensors.slice_results import SliceAxes, default_axes


def parse_index(text: str | None, shape: tuple[int, ...]) -> tuple[SliceAxes, range, range]:
    """The slice that `tensor[text]` names in Python, with its rows and columns.

    Ranges have no step. The first range gives the rows and the second the columns; one range alone gives rows.

    Parameters
    ----------
    text
        "3, :, 10:20"; None for the last two axes, at index 0 of the others.

    Raises
    ------
    ViewerError
        When the text is no index, has more entries than the tensor has axes, or more than two ranges.
    """
    if text is None:
        axes = default_axes(shape)
        return axes, _all_of(axes.row_axis, shape), _all_of(axes.column_axis, shape)
    entries = [entry.strip() for entry in text.strip().removesuffix(",").split(",")] if text.strip() else []
    if len(entries) > len(shape):
        raise _wrong(text, f"has {len(entries)} entries, and the tensor {len(shape)} axes")
    entries += [":"] * (len(shape) - len(entries))
    ranges: list[tuple[int, range]] = []
    fixed: list[int] = []
    for axis, (entry, extent) in enumerate(zip(entries, shape, strict=True)):
        if ":" in entry:
            ranges.append((axis, _range(text, entry, extent)))
        else:
            fixed.append(_number(text, entry, extent))
    if len(ranges) > 2:
        raise _wrong(text, f"leaves {len(ranges)} axes open", "Give an index for all axes but two")
    row, rows = ranges[0] if ranges else (None, range(1))
    column, columns = ranges[1] if len(ranges) == 2 else (None, range(1))
    return SliceAxes(row, column, tuple(fixed)), rows, columns


def _all_of(axis: int | None, shape: tuple[int, ...]) -> range:
    return range(1 if axis is None else shape[axis])


def _range(text: str, entry: str, extent: int) -> range:
    """As Python has it: what lies beyond the ends is left out."""
    first, _, end = entry.partition(":")
    try:
        start, stop, _ = slice(_int(first), _int(end)).indices(extent)
    except ValueError:
        raise _wrong(text, f"has the entry {entry!r}, which is no range of two numbers") from None
    return range(start, max(start, stop))


def _number(text: str, entry: str, extent: int) -> int:
    try:
        index = int(entry)
    except ValueError:
        raise _wrong(text, f"has the entry {entry!r}, which is neither a number nor a range") from None
    if not -extent <= index < extent:
        raise _wrong(text, f"has {index:,} for an axis of {extent:,}")
    return index % extent


def _int(text: str) -> int | None:
    return int(text) if text.strip() else None


def _wrong(text: str, fault: str, advice: str = "Write it as in Python: 3, :, 10:20") -> ViewerError:
    return ViewerError(f"the index {text!r} {fault}", advice=advice)
