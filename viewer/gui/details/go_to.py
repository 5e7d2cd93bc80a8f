"""What a person types to go to an element: `12, 5, :, 3`. No Qt."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from viewer.errors import ViewerError

_NUMBER: Final = re.compile(r"[-+]?[0-9][0-9_]*\Z")


@dataclass(frozen=True, slots=True)
class Place:
    """Where to go.

    Attributes
    ----------
    at
        Index along each axis; None where a colon stands.
    row_axis, column_axis
        The axes to show.
    """

    at: tuple[int | None, ...]
    row_axis: int | None
    column_axis: int | None


def parse_place(text: str, shape: tuple[int, ...], row_axis: int | None, column_axis: int | None) -> Place:
    """Read an index: numbers, negative ones from the end, and colons; fewer than axes leave the last ones open.

    Two colons make these the axes that are shown; one makes its axis the rows, where it is neither.

    Raises
    ------
    ViewerError
        Says what is wrong with the text.
    """
    parts = [part.strip() for part in text.strip().strip("[]()").split(",")]
    if parts and not parts[-1]:
        parts.pop()
    if len(parts) > len(shape):
        raise ViewerError(f"{len(parts)} numbers, but the tensor has {_axes_words(len(shape))}")
    at: list[int | None] = [_index(part, axis, shape[axis]) for axis, part in enumerate(parts)]
    at += [None] * (len(shape) - len(at))
    free = [axis for axis, index in enumerate(at) if index is None]
    written = [axis for axis in free if axis < len(parts)]
    if len(free) == 2:
        row_axis, column_axis = free
    elif len(written) == 1 and written[0] not in (row_axis, column_axis):
        row_axis = written[0]
    return Place(tuple(at), row_axis, column_axis)


def write_place(index: tuple[int, ...]) -> str:
    """As it is typed: 12, 5, 0, 3."""
    return ", ".join(str(i) for i in index)


def _index(part: str, axis: int, extent: int) -> int | None:
    if part in (":", "*", "…", "..."):
        return None
    if not _NUMBER.match(part) or len(part) > 40:
        raise ViewerError(f"{part[:20]!r} is no index", advice="Type numbers and colons, such as 12, :, 3")
    index = int(part)
    if not -extent <= index < extent:
        raise ViewerError(f"axis {axis} has {extent:,} elements, from 0 to {extent - 1:,}")
    return index + extent if index < 0 else index


def _axes_words(count: int) -> str:
    return "1 axis" if count == 1 else f"{count} axes"
