"""One pair of tensors in detail: measures, histograms on common edges, where it changed, and which elements most."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.tensors import TensorRef
from viewer.compare.crew import Crew
from viewer.compare.largest import Largest, chunk_distance
from viewer.compare.pair import PIECE, PairComparer, Rooms
from viewer.compare.pair_details import ChangeProfile, PairDetails
from viewer.compare.results import Tolerance
from viewer.compare.side_figures import PairMoments
from viewer.compare.tally import Tally
from viewer.compare.values import tensor_at_node
from viewer.errors import ViewerError
from viewer.formats.storage_bytes import StorageReader
from viewer.task import Progress, Task
from viewer.tensors.bins import Binner, make_edges
from viewer.tensors.results import Histogram
from viewer.tensors.workers import WORKERS

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    import numpy.typing as npt

    Array: TypeAlias = npt.NDArray[Any]
    Floats: TypeAlias = npt.NDArray[np.float64]

_PROFILE_LENGTH: Final = 4096
_LOG_BINS: Final = 96
"""Bins of the logarithmic histogram on either side of zero."""

_DECADES: Final = 24
"""Decades that they span at most, from the largest difference down."""


def pair_details_task(
    a: Checkpoint,
    node_a: int,
    b: Checkpoint,
    node_b: int,
    *,
    bins: int = 256,
    largest: int = 100,
    tolerance: Tolerance | None = None,
    value_range: tuple[float, float] | None = None,
    workers: int = WORKERS,
) -> Task[PairDetails]:
    """Compare two tensors of one shape in two passes; progress in bytes of both.

    Parameters
    ----------
    node_a, node_b
        Nodes of tensors, or of storages.
    bins
        Of each histogram.
    largest
        Elements to list.
    value_range
        First and last edge of the histograms of a and b; None for the range of the finite values of both.

    Raises
    ------
    ViewerError
        When one of them is no tensor, the shapes differ, or values cannot be read.
    """
    left, right = tensor_at_node(a, node_a), tensor_at_node(b, node_b)
    if left is None or right is None:
        raise ViewerError("only tensors can be compared in detail", path=a.path if left is None else b.path)
    if left.shape != right.shape:
        raise ViewerError(f"tensors of shapes {left.shape} and {right.shape} are not compared element by element")
    with StorageReader(a) as reader_a, StorageReader(b) as reader_b, Crew(workers) as crew:
        comparer = PairComparer((a, left, reader_a), (b, right, reader_b), tolerance, logical=True, count_steps=True)
        walk = comparer.walk
        total = 2 * walk.nbytes
        ranges = Ranges()
        done = 0
        yield Progress(0, total)

        def first_pass(start: int) -> tuple[int, Tally | None, Ranges, PairMoments]:
            with crew.rooms.one() as rooms:
                return start, comparer.tally_block(start, rooms), *_ranges(comparer, start, rooms)

        moments = PairMoments()
        for start, tally, found, part in crew.answers(first_pass, walk.starts):
            comparer.add(start, tally)
            ranges.merge(found)
            moments.merge(part)
            done += walk.nbytes_of(start)
            yield Progress(done, total)
        counter = _Counter(ranges, bins, value_range, comparer, left)
        top = Largest(comparer, largest)

        def second_pass(start: int) -> tuple[int, _Counts, list[tuple[int, Array]]]:
            with crew.rooms.one() as rooms:
                return start, *counter.count(start, rooms)

        counts = counter.empty()
        for start, more, distances in crew.answers(second_pass, walk.starts):
            counts.merge(more)
            for at, distance in distances:
                top.add(at, distance)
            done += walk.nbytes_of(start)
            yield Progress(done, total)
        with crew.rooms.one() as rooms:
            for start in comparer.skipped if comparer.needs_norms else ():
                comparer.add_norms(comparer.tally_block(start, rooms, norms_only=True))
                yield Progress(done, total)
        return PairDetails(
            node_a,
            node_b,
            comparer.measures(),
            counter.of,
            *counter.histograms(counts),
            counter.profiles(counts),
            tuple(top.elements()),
            *moments.figures(),
        )


@dataclass(slots=True)
class Ranges:
    """Smallest and largest finite value: of both sides together, of b - a, and of |b - a| where it is not 0."""

    values: tuple[float, float] | None = None
    difference: tuple[float, float] | None = None
    distance: tuple[float, float] | None = None

    def merge(self, other: Ranges) -> None:
        self.values = _joined(self.values, other.values)
        self.difference = _joined(self.difference, other.difference)
        self.distance = _joined(self.distance, other.distance)


def _joined(one: tuple[float, float] | None, other: tuple[float, float] | None) -> tuple[float, float] | None:
    if one is None or other is None:
        return other if one is None else one
    return min(one[0], other[0]), max(one[1], other[1])


def _range_of(values: Floats) -> tuple[float, float] | None:
    return (float(values.min()), float(values.max())) if values.size else None


@dataclass(slots=True)
class Piece:
    """Some elements of both sides as float64: magnitudes of complex ones.

    Attributes
    ----------
    difference
        b - a of the pairs of finite values; of complex ones |b - a|.
    finite
        Where both are finite.
    """

    at: int
    a: Floats
    b: Floats
    difference: Floats
    finite: Array
    distance: Floats


def pieces(comparer: PairComparer, start: int, rooms: Rooms) -> Iterator[Piece]:
    """The block that begins at a flat index, a cache full at a time, in logical order."""
    import numpy as np

    left, right = comparer.left, comparer.right
    units_a, units_b = comparer.walk.read(start, rooms.sides)
    size = units_a.size // left.units
    is_complex = "complex" in (left.form, right.form)
    for at in range(0, size, PIECE):
        count = min(PIECE, size - at)
        a = left.numbers(units_a[at * left.units : (at + count) * left.units], start + at, rooms.numbers[0])
        b = right.numbers(units_b[at * right.units : (at + count) * right.units], start + at, rooms.numbers[1])
        a, b = comparer.as_form(a, left), comparer.as_form(b, right)
        distance = chunk_distance(a, b, "complex" if is_complex else "real")
        if is_complex:
            with np.errstate(invalid="ignore", over="ignore"):
                wide_a, wide_b = (np.hypot(*side.reshape(-1, 2).astype(np.float64).T) for side in (a, b))
            signs: Array | float = 1.0
        else:
            wide_a, wide_b = a.astype(np.float64), b.astype(np.float64)
            # The distance of integers is exact where the difference of their float64 values is not.
            signs = np.where(b < a, -1.0, 1.0)
        finite = np.isfinite(wide_a) & np.isfinite(wide_b)
        yield Piece(start + at, wide_a, wide_b, (distance * signs)[finite], finite, distance)


def _ranges(comparer: PairComparer, start: int, rooms: Rooms) -> tuple[Ranges, PairMoments]:
    import numpy as np

    ranges, moments = Ranges(), PairMoments()
    for piece in pieces(comparer, start, rooms):
        found = Ranges(difference=_range_of(piece.difference))
        for side, moment in ((piece.a, moments.a), (piece.b, moments.b)):
            values = side[np.isfinite(side)]
            found.values = _joined(found.values, _range_of(values))
            moment.add(values)
        found.distance = _range_of(np.abs(piece.difference[piece.difference != 0]))
        ranges.merge(found)
    return ranges, moments


@dataclass(slots=True)
class _Counts:
    """Counts below, in each bin and above; and per profile the sums, maxima, pairs and differing pairs."""

    a: Array
    b: Array
    difference: Array
    logarithmic: Array
    profiles: list[tuple[Array, Array, Array, Array]] = field(default_factory=list)

    def merge(self, other: _Counts) -> None:
        import numpy as np

        for name in ("a", "b", "difference", "logarithmic"):
            total: Array = getattr(self, name)
            total += getattr(other, name)
        for (sums, maxima, pairs, differ), more in zip(self.profiles, other.profiles, strict=True):
            sums += more[0]
            np.maximum(maxima, more[1], out=maxima)
            pairs += more[2]
            differ += more[3]


class _Counter:
    """The second pass: counts between edges, and along axes."""

    def __init__(
        self,
        ranges: Ranges,
        bins: int,
        value_range: tuple[float, float] | None,
        comparer: PairComparer,
        tensor: TensorRef,
    ) -> None:
        self._comparer = comparer
        self._shape = tensor.shape
        is_complex = "complex" in (comparer.left.form, comparer.right.form)
        quantized = comparer.left.quantizer is not None or comparer.right.quantizer is not None
        self.of = "magnitude" if is_complex else "dequantized value" if quantized else "value"
        self._edges, self._note = _edges(value_range or ranges.values, bins)
        self._difference_edges, self._difference_note = _edges(ranges.difference, bins)
        self._log_edges = _log_edges(ranges.distance, signed=not is_complex)
        self._binner = None if self._edges is None else Binner(self._edges, "float64")
        self._difference_binner = (
            None if self._difference_edges is None else Binner(self._difference_edges, "float64")
        )
        self._axes = [
            (axis, -(-extent // _PROFILE_LENGTH))
            for axis, extent in enumerate(tensor.shape[:2])
            if extent and comparer.left.element.per_byte == 1
        ]

    def empty(self) -> _Counts:
        import numpy as np

        def counts(edges: Floats | None) -> Array:
            return np.zeros(0 if edges is None else len(edges) + 1, np.int64)

        profiles: list[tuple[Array, Array, Array, Array]] = []
        for axis, step in self._axes:
            length = -(-self._shape[axis] // step)
            profiles.append(
                (np.zeros(length), np.zeros(length), np.zeros(length, np.int64), np.zeros(length, np.int64))
            )
        return _Counts(
            counts(self._edges),
            counts(self._edges),
            counts(self._difference_edges),
            counts(self._log_edges),
            profiles,
        )

    def count(self, start: int, rooms: Rooms) -> tuple[_Counts, list[tuple[int, Array]]]:
        """The counts of a block, and its distances in pieces."""
        import numpy as np

        found = self.empty()
        distances: list[tuple[int, Array]] = []
        for piece in pieces(self._comparer, start, rooms):
            if self._binner is not None:
                found.a += self._binner.count(piece.a[np.isfinite(piece.a)], rooms.kernel)
                found.b += self._binner.count(piece.b[np.isfinite(piece.b)], rooms.kernel)
            if self._difference_binner is not None:
                found.difference += self._difference_binner.count(piece.difference, rooms.kernel)
            if self._log_edges is not None:
                places = np.searchsorted(self._log_edges, piece.difference, side="right")
                found.logarithmic += np.bincount(places, minlength=len(self._log_edges) + 1)
            self._profile(found, piece)
            if piece.distance.any():
                distances.append((piece.at, piece.distance))
        return found, distances

    def _profile(self, found: _Counts, piece: Piece) -> None:
        import numpy as np

        index = np.arange(piece.at, piece.at + piece.a.size)
        changed = piece.distance > 0
        for (axis, step), (sums, maxima, pairs, differ) in zip(self._axes, found.profiles, strict=True):
            inner = 1
            for extent in self._shape[axis + 1 :]:
                inner *= extent
            along = (index // inner) % self._shape[axis] // step
            finite = along[piece.finite]
            distance = np.abs(piece.difference)
            sums += np.bincount(finite, distance, sums.size)
            np.maximum.at(maxima, finite, distance)
            pairs += np.bincount(finite, minlength=pairs.size)
            differ += np.bincount(along[changed], minlength=differ.size)

    def histograms(self, counts: _Counts) -> tuple[Histogram, Histogram, Histogram, Histogram]:
        """Of a, of b, of the difference, and of it by powers."""
        return (
            _histogram(self._edges, counts.a, self._note),
            _histogram(self._edges, counts.b, self._note),
            _histogram(self._difference_edges, counts.difference, self._difference_note),
            _histogram(self._log_edges, counts.logarithmic, "" if self._log_edges is not None else "No pair differs"),
        )

    def profiles(self, counts: _Counts) -> tuple[ChangeProfile, ...]:
        import numpy as np

        return tuple(
            ChangeProfile(
                axis,
                step,
                array("d", np.divide(sums, pairs, out=np.zeros_like(sums), where=pairs > 0).tolist()),
                array("d", maxima.tolist()),
                array("q", differ.tolist()),
            )
            for (axis, step), (sums, maxima, pairs, differ) in zip(self._axes, counts.profiles, strict=True)
        )


def _edges(ends: tuple[float, float] | None, bins: int) -> tuple[Floats | None, str]:
    return (None, "No value is finite") if ends is None else make_edges(*ends, bins)


def _log_edges(distance: tuple[float, float] | None, *, signed: bool) -> Floats | None:
    """Edges at equal steps of the logarithm on both sides of zero; what is nearer to zero than the first is in the
    middle bin."""
    import numpy as np

    if distance is None:
        return None
    low, high = distance
    low = max(low, high * 10.0**-_DECADES, 5e-324)
    # From a little below the smallest to a little above the largest, so that both lie inside.
    powers = np.linspace(np.log10(low), np.log10(high), _LOG_BINS + 1) if low < high else np.log10([low, high])
    side = np.unique(np.power(10.0, powers))
    side[0] = np.nextafter(low, 0) if low > 5e-324 else low
    side[-1] = np.nextafter(high, np.inf) if high < 1.7e308 else high
    side = np.unique(side)
    if side.size < 2:
        side = np.array([low / 2, high * 2]) if high < 1e308 else np.array([low / 2, high])
    return np.concatenate((-side[::-1], side)) if signed else np.concatenate(([0.0], side))


def _histogram(edges: Floats | None, counts: Array, note: str) -> Histogram:
    if edges is None:
        return Histogram(note=note)
    below, *inside, above = counts.tolist()
    return Histogram(array("d", edges.tolist()), array("q", inside), below, above, note)
