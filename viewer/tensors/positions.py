"""Where the extremes and the first NaN are: from the place in a block that was read to the flat index."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from viewer.tensors.layout import Order
from viewer.tensors.moments import Facts
from viewer.tensors.results import Number

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Mask = npt.NDArray[np.bool_]


def first_index(mask: Mask, start: int, order: Order | None) -> int | None:
    """The smallest flat index at which `mask`, over consecutive elements of an order, is True.

    Parameters
    ----------
    start
        Position of the first in the order; its flat index where `order` is None.
    order
        None for the logical order.
    """
    import numpy as np

    if order is None or order.is_logical:
        at = int(mask.argmax())
        return start + at if mask[at] else None
    places = np.flatnonzero(mask)
    if not places.size:
        return None
    rest = places + start
    index = np.zeros_like(rest)
    for extent, weight in zip(reversed(order.extents), reversed(order.weights), strict=True):
        rest, along = np.divmod(rest, extent)
        index += along * weight
    return int(index.min())


def place_extremes(
    facts: Facts,
    known: tuple[Facts, ...],
    start: int,
    order: Order | None,
    equal_to: Callable[[Number], Mask],
    is_nan: Callable[[], Mask],
) -> None:
    """Note the positions in the facts of a chunk, as far as they can still matter.

    Parameters
    ----------
    known
        Facts of earlier chunks, with their positions.
    start, order
        As in `first_index`.
    equal_to, is_nan
        Which elements of the chunk equal a number, and which are NaN.
    """
    # In logical order a later chunk loses a tie.
    ties = not (order is None or order.is_logical)
    if facts.min is not None and all(_is_news(facts.min, other.min, ties, -1) for other in known):
        facts.argmin = first_index(equal_to(facts.min), start, order)
    if facts.max is not None and all(_is_news(facts.max, other.max, ties, 1) for other in known):
        facts.argmax = first_index(equal_to(facts.max), start, order)
    if facts.nan and (ties or all(other.first_nan is None for other in known)):
        facts.first_nan = first_index(is_nan(), start, order)


def _is_news(value: Number, known: Number | None, ties: bool, sign: int) -> bool:
    return known is None or sign * value > sign * known or (ties and value == known)
