"""The elements of a pair that differ most."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from viewer.compare.comparison import Comparison
from viewer.compare.pair import PIECE, PairComparer, Rooms
from viewer.compare.pair_details import ElementDifference
from viewer.compare.pairs import SideReader
from viewer.compare.values import tensor_at_node
from viewer.errors import FileChanged, ViewerError
from viewer.formats.storage_bytes import StorageReader
from viewer.task import Progress, Task
from viewer.tensors.results import Number, Scalar
from viewer.tensors.scratch import Scratch

if TYPE_CHECKING:
    import numpy.typing as npt

    Array: TypeAlias = npt.NDArray[Any]

MAX_LARGEST: Final = 10_000


class Largest:
    """Collects the flat indexes of the elements that are farthest apart; those with a NaN or an infinity on one side
    alone come before all others."""

    def __init__(self, comparer: PairComparer, count: int) -> None:
        self._comparer = comparer
        self._count = min(count, MAX_LARGEST)
        self._best: list[tuple[float, int]] = []  # (distance, -index), the smallest first
        self._least = -1.0

    def add(self, at: int, distance: Array) -> None:
        """Take in a chunk in logical order.

        Parameters
        ----------
        at
            Flat index of its first element.
        distance
            As `chunk_distance` gives it.
        """
        import numpy as np

        full = len(self._best) == self._count
        found = np.flatnonzero(distance > max(self._least, 0.0)) if full or self._least < 0 else None
        if found is None:
            found = np.flatnonzero(distance > 0)
        if not found.size:
            return
        if found.size > self._count:
            chosen = np.argpartition(distance[found], found.size - self._count)[found.size - self._count :]
            least = distance[found[chosen]].min()
            # Of equal ones the first in the tensor: argpartition takes any.
            above = found[distance[found] > least]
            ties = found[distance[found] == least][: self._count - above.size]
            found = np.concatenate((above, ties))
        self._best += [(float(distance[i]), -(at + int(i))) for i in found]
        self._best.sort(reverse=True)
        del self._best[self._count :]
        if len(self._best) == self._count:
            self._least = self._best[-1][0]

    def elements(self) -> Iterator[ElementDifference]:
        """The elements, read again one by one as exact Python values."""
        rooms = Rooms()
        for _, negative in self._best:
            yield element_difference(self._comparer, -negative, rooms)


def chunk_distance(a: Array, b: Array, form: str) -> Array:
    """|a - b| of a chunk as float64, for ranking: inf where just one side is NaN or an infinity, 0 where both are."""
    import numpy as np

    if form == "complex":
        left, right = a.reshape(-1, 2).astype(np.float64), b.reshape(-1, 2).astype(np.float64)
        with np.errstate(invalid="ignore", over="ignore"):
            distance: Array = np.hypot(*(right - left).T)
        nan_a, nan_b = np.isnan(left).any(axis=1), np.isnan(right).any(axis=1)
        same = (left == right).all(axis=1)
    else:
        if a.dtype == b.dtype and a.dtype.kind in "iu":
            whole: Array = np.subtract(np.maximum(a, b), np.minimum(a, b)).view(np.uint64).astype(np.float64)
            return whole
        left, right = a.astype(np.float64), b.astype(np.float64)
        with np.errstate(invalid="ignore", over="ignore"):
            distance = np.abs(right - left)
        nan_a, nan_b = np.isnan(left), np.isnan(right)
        same = left == right
    distance[same | (nan_a & nan_b)] = 0.0
    distance[nan_a ^ nan_b] = np.inf
    return distance


def element_difference(comparer: PairComparer, index: int, rooms: Rooms) -> ElementDifference:
    """One element of both sides, exactly."""
    left, right = comparer.left, comparer.right
    units_a = left.read(index, 1, None, rooms.sides[0])
    units_b = right.read(index, 1, None, rooms.sides[1])
    a = _scalar(left.numbers(units_a, index, rooms.numbers[0]), left.name)
    b = _scalar(right.numbers(units_b, index, rooms.numbers[1]), right.name)
    steps: int | None = None
    if comparer.asked.has_ulp and left.form == "float" and _is_finite(a) and _is_finite(b):
        step_a, step_b = (
            _place(side, int(side.patterns(units, room)[0]))
            for side, units, room in zip((left, right), (units_a, units_b), rooms.numbers, strict=True)
        )
        steps = abs(step_a - step_b)
    return ElementDifference(index, position_of(index, left.tensor.shape), a, b, _distance(a, b), steps)


def element_at(side: SideReader, index: int) -> Scalar:
    """One element as an exact Python value."""
    scratch = Scratch()
    return _scalar(side.numbers(side.read(index, 1, None, scratch), index, scratch), side.name)


def _place(side: SideReader, pattern: int) -> int:
    """The place of a pattern among the numbers of its dtype, so that 0.0 and -0.0 have one."""
    bits = side.magnitude_bits
    return pattern if pattern >= 0 or not bits else -(pattern & bits)


def position_of(index: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The index along each axis of a flat index. Packed types have more elements than their shape says: the last
    axis takes them."""
    position: list[int] = []
    for extent in reversed(shape[1:]):
        index, along = divmod(index, extent)
        position.append(along)
    if shape:
        position.append(index)
    return tuple(reversed(position))


def _scalar(numbers: Array, name: str) -> Scalar:
    if numbers.size == 2:
        return complex(float(numbers[0]), float(numbers[1]))
    value: Scalar = numbers[0].item()
    return bool(value) if name == "bool" else value


def _is_finite(value: Scalar) -> bool:
    return not isinstance(value, float) or math.isfinite(value)


def _distance(a: Scalar, b: Scalar) -> Number | None:
    if a != a or b != b:
        return None if (a == a or b == b) else 0
    if a == b:
        return 0
    if isinstance(a, complex) or isinstance(b, complex):
        return abs(complex(a) - complex(b))
    if not (math.isfinite(a) and math.isfinite(b)):
        return math.inf
    return abs(int(a) - int(b)) if isinstance(a, int) and isinstance(b, int) else abs(a - b)


def largest_task(comparison: Comparison, count: int) -> Task[dict[int, tuple[ElementDifference, ...]]]:
    """The elements that differ most, of every row whose values differ; by row."""
    a, b, rows = comparison.a, comparison.b, comparison.rows
    wanted = [row for row, result in comparison.results.items() if result.measures and result.measures.differ]
    found: dict[int, tuple[ElementDifference, ...]] = {}
    yield Progress(0, len(wanted), "tensors")
    with StorageReader(a) as reader_a, StorageReader(b) as reader_b:
        for done, row in enumerate(sorted(wanted), 1):
            left, right = tensor_at_node(a, rows.node_a[row]), tensor_at_node(b, rows.node_b[row])
            if left is None or right is None:
                continue
            try:
                comparer = PairComparer((a, left, reader_a), (b, right, reader_b), None, logical=True)
                largest = Largest(comparer, count)
                rooms = Rooms()
                for start in comparer.walk.starts:
                    for at, distance in distances_of_block(comparer, start, rooms):
                        largest.add(at, distance)
                    yield Progress(done - 1, len(wanted), "tensors")
                found[row] = tuple(largest.elements())
            except FileChanged:
                raise
            except ViewerError:
                continue  # the row has its problem already
    return found


def distances_of_block(comparer: PairComparer, start: int, rooms: Rooms) -> Iterator[tuple[int, Array]]:
    """The distances of a block in pieces, each with the flat index of its first element; the walk must be logical."""
    left, right = comparer.left, comparer.right
    units_a, units_b = comparer.walk.read(start, rooms.sides)
    form = "complex" if "complex" in (left.form, right.form) else "real"
    size = units_a.size // left.units
    for at in range(0, size, PIECE):
        count = min(PIECE, size - at)
        a = left.numbers(units_a[at * left.units : (at + count) * left.units], start + at, rooms.numbers[0])
        b = right.numbers(units_b[at * right.units : (at + count) * right.units], start + at, rooms.numbers[1])
        yield start + at, chunk_distance(comparer.as_form(a, left), comparer.as_form(b, right), form)
