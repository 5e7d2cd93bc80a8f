"""Where an element stands: from its place in a block that was read to its flat index in the tensor."""

from __future__ import annotations

from typing import TYPE_CHECKING

from viewer.tensors.layout import Order

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


def first_index(mask: npt.NDArray[np.bool_], start: int, order: Order | None) -> int | None:
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
