"""The comparison of one pair of tensors, block by block: what a worker does, and what becomes of it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.tensors import TensorRef
from viewer.compare.complexes import tally_complex
from viewer.compare.floats import Steps, tally_floats, tally_singles
from viewer.compare.integers import tally_integer_float, tally_integers
from viewer.compare.kernels import Kernel, Places, product_sum
from viewer.compare.pairs import PairWalk, SideReader
from viewer.compare.results import Measures, PairResult, Status, Tolerance
from viewer.compare.rounding import can_round, unlike_rounded
from viewer.compare.tally import Asked, Tally, measures_of
from viewer.formats.storage_bytes import StorageReader
from viewer.tensors.scratch import Scratch
from viewer.tensors.workers import WORKERS

if TYPE_CHECKING:
    import numpy.typing as npt

    Array: TypeAlias = npt.NDArray[Any]

PIECE: Final = 1 << 16
"""Elements that the arithmetic takes at a time: a handful of float64 arrays of them fit the second-level cache."""


_PROBE: Final = 512
"""Elements that are compared first: where all differ, the rest need not be looked at."""


_FIRST_PIECE: Final = 1 << 12
"""The first of a tensor is smaller: while nothing is known of the largest relative distances, each element counts."""

_COMPUTING: Final = threading.Semaphore(max(1, WORKERS // 2))
"""Held while a block is computed. A block is some hundred short numpy calls, and after each the interpreter is asked
for: two threads that compute spend more on handing it to each other than they gain."""


class Rooms:
    """Work space of one thread."""

    def __init__(self) -> None:
        self.sides = Scratch(), Scratch()
        self.numbers = Scratch(), Scratch()
        self.kernel = Scratch()


class PairComparer:
    """Two tensors of one shape. `tally_block` may be called by any number of threads, `add` and `result` by one."""

    def __init__(
        self,
        a: tuple[Checkpoint, TensorRef, StorageReader],
        b: tuple[Checkpoint, TensorRef, StorageReader],
        tolerance: Tolerance | None,
        *,
        logical: bool = False,
        count_steps: bool = False,
    ) -> None:
        self.left, self.right = SideReader(*a), SideReader(*b)
        name_a, name_b = self.left.name, self.right.name
        self.same_dtype = name_a == name_b
        self.tolerance = tolerance
        form_a, form_b = self.left.form, self.right.form
        quantized = self.left.quantizer is not None or self.right.quantizer is not None
        self._same_scale = not quantized or self._quantizers_agree()
        self._bits_tell = self.same_dtype and self._same_scale
        # Widths of what is read must be the same where values are packed.
        self.walk = PairWalk(self.left, self.right, logical=logical)
        real = form_a != "complex" and form_b != "complex"
        self.asked = Asked(
            same_dtype=self.same_dtype,
            has_ulp=self.same_dtype and form_a in ("float", "complex") and not quantized and name_a != "complex32",
            has_signs=real,
            tolerance=tolerance is not None,
            rounds_to_b=real and not quantized and can_round(name_a, name_b),
            rounds_to_a=real and not quantized and can_round(name_b, name_a),
            counts_steps=count_steps,
        )
        self._is_plain = (
            self.same_dtype
            and not quantized
            and form_a == "float"
            and name_a != "float64"
            and tolerance is None
            and not count_steps
        )
        in_order = self.walk.order_a is None or self.walk.order_a.is_logical
        self._kernel = Kernel(self.asked, tolerance, self.walk.flat_index, in_order)
        self._total = Tally()
        self.skipped: list[int] = []
        """Blocks with the same bits, of which the norms are not known."""

    def as_form(self, numbers: Array, side: SideReader) -> Array:
        """The numbers of a side as they are, or as complex ones where the other side's are."""
        import numpy as np

        if "complex" not in (self.left.form, self.right.form) or side.form == "complex":
            return numbers
        pairs = np.zeros((numbers.size, 2))
        pairs[:, 0] = numbers
        return pairs.reshape(-1)

    def _quantizers_agree(self) -> bool:
        left, right = self.left.quantizer, self.right.quantizer
        if left is None or right is None:
            return False
        return (
            left.run == right.run
            and left.scales.tobytes() == right.scales.tobytes()
            and left.zero_points.tobytes() == right.zero_points.tobytes()
        )

    def tally_block(self, start: int, rooms: Rooms, *, norms_only: bool = False) -> Tally | None:
        """The tally of the block that begins at `start`; None where the bits are the same and hold no NaN.

        Parameters
        ----------
        norms_only
            The block is known to have the same bits on both sides: only its norms are wanted.
        """
        units_a, units_b = self.walk.read(start, rooms.sides)
        tally = Tally()
        if norms_only:
            self._norms(tally, units_a, rooms)
            return tally
        same = self._bits_tell and _same_bytes(units_a, units_b)
        if same and not self._may_be_special(units_a):
            return None
        with _COMPUTING:
            self._tally_units(tally, units_a, units_b, start, rooms, same=same)
        return tally

    def _tally_units(
        self, tally: Tally, units_a: Array, units_b: Array, start: int, rooms: Rooms, *, same: bool
    ) -> None:
        """Tally a block piece by piece; `same` where both sides have the same bits."""
        import numpy as np

        per, per_b = self.left.units, self.right.units
        size = units_a.size // per
        for at, count in _pieces(size, first=not self._kernel.bounds.rel):
            piece_a = units_a[at * per : (at + count) * per]
            piece_b = units_b[at * per_b : (at + count) * per_b]
            places = Places(start + at)
            if same or (self._bits_tell and _same_bytes(piece_a, piece_b)):
                self._tally_same(tally, piece_a, places, rooms)
                continue
            unlike: int | None = None
            if self.same_dtype:
                mask = rooms.kernel.array("unlike", "?", piece_a.size)
                np.not_equal(_words(piece_a), _words(piece_b), out=mask)
                unlike = int(np.count_nonzero(mask if per == 1 else mask.reshape(-1, per).any(axis=1)))
                tally.differ_bits += unlike
            self._tally_numbers(tally, piece_a, piece_b, places, rooms, unlike if self._same_scale else None)

    def add(self, start: int, tally: Tally | None) -> None:
        """Take in a block's tally; blocks come in order."""
        if tally is None:
            self.skipped.append(start)
            count = min(self.walk.step, self.walk.walked - start)
            self._total.compared += count
            if self.asked.counts_steps and self.asked.has_ulp:
                self._total.ulp_counts[0] += count * self.left.units
        else:
            self._total.merge(tally)

    def add_norms(self, tally: Tally | None) -> None:
        """Take in what `tally_block` found of a skipped block."""
        assert tally is not None
        self._total.squares_a += tally.squares_a
        self._total.squares_b += tally.squares_b
        self._total.products += tally.products

    @property
    def differs(self) -> bool:
        """Whether a block has been added that differs."""
        return self._total.differ > 0 or self._total.differ_bits > 0

    @property
    def needs_norms(self) -> bool:
        """Whether the skipped blocks must be read again: elsewhere something differs, and ‖a‖ is of all elements."""
        return bool(self.skipped) and self._total.differ > 0

    def measures(self) -> Measures:
        return measures_of(self._total, self.walk.count, self.walk.copies, self.asked)

    def result(self, row: int) -> PairResult:
        measures = self.measures()
        bits = self.same_dtype and not measures.differ_bits and self._same_scale
        numbers = not measures.differ
        if not self.same_dtype:
            status = Status.DTYPE
        elif numbers:
            status = Status.IDENTICAL if bits else Status.EQUAL
        else:
            status = Status.CLOSE if measures.within else Status.CHANGED
        return PairResult(row, status, bits, numbers, measures)

    def _may_be_special(self, units: Array) -> bool:
        """Whether equal bits could be NaN or an infinity, which are counted."""
        import numpy as np

        if self.left.form == "int" or self.left.quantizer is not None:
            return False
        if units.dtype.kind == "f":
            low, high = float(np.min(units)), float(np.max(units))
            return not (low > -np.inf and high < np.inf)
        if self.left.name in ("float16", "bfloat16"):
            # Patterns from that of infinity on, of either sign.
            top = 0x7C00 if self.left.name == "float16" else 0x7F80
            return int(units.view(np.int16).max()) >= top or int(units.max()) >= (top | 0x8000)
        return True

    def _tally_same(self, tally: Tally, units: Array, places: Places, rooms: Rooms) -> None:
        """Pairs with the same bits: their special values and norms."""
        import numpy as np

        numbers = self.left.numbers(units, places.start, rooms.numbers[0])
        count = units.size // self.left.units
        if self.left.form == "int":
            tally.compared += count
            self._norms(tally, units, rooms)
            return
        parts = numbers.reshape(count, -1)
        nan = np.isnan(parts).any(axis=1)
        inf = np.isinf(parts).any(axis=1) & ~nan
        finite = ~(nan | inf)
        tally.both_nan += int(np.count_nonzero(nan))
        tally.same_inf += int(np.count_nonzero(inf))
        tally.compared += int(np.count_nonzero(finite))
        if self.asked.has_ulp:
            tally.ulp_counts[0] += int(np.count_nonzero(finite)) * self.left.units
        self._add_norms(tally, parts[finite].reshape(-1))

    def _norms(self, tally: Tally, units: Array, rooms: Rooms) -> None:
        per = self.left.units
        for at in range(0, units.size, PIECE * per):
            numbers = self.left.numbers(units[at : at + PIECE * per], at, rooms.numbers[0])
            self._add_norms(tally, numbers)

    def _add_norms(self, tally: Tally, numbers: Array) -> None:
        import numpy as np

        from viewer.compare.kernels import is_wide

        if not numbers.size:
            return
        wide = numbers.astype(np.float64)
        squares = product_sum(wide, wide, numbers.dtype.itemsize == 8 and is_wide(wide))
        tally.squares_a += squares
        tally.squares_b += squares
        tally.products += squares

    def _tally_numbers(
        self, tally: Tally, units_a: Array, units_b: Array, places: Places, rooms: Rooms, unlike: int | None
    ) -> None:
        a = self.left.numbers(units_a, places.start, rooms.numbers[0])
        b = self.right.numbers(units_b, places.start, rooms.numbers[1])
        kernel, room = self._kernel, rooms.kernel
        steps = None
        if self.asked.has_ulp:
            steps = Steps(
                self.left.patterns(units_a, rooms.numbers[0]),
                self.right.patterns(units_b, rooms.numbers[1]),
                self.left.magnitude_bits,
                self.left.precision,
            )
        forms = {self.left.form, self.right.form}
        if "complex" in forms:
            tally_complex(kernel, tally, self.as_form(a, self.left), self.as_form(b, self.right), steps, places, room)
        elif forms == {"int"}:
            tally_integers(kernel, tally, a, b, places, room)
        elif self._is_plain and unlike is not None:
            import numpy as np

            with np.errstate(invalid="ignore", over="ignore"):  # infinities on both sides are told apart later
                tally_singles(kernel, tally, a, b, steps, places, room, unlike)
        elif forms == {"float"}:
            tally_floats(kernel, tally, a, b, steps, places, room, unlike=unlike)
        else:
            tally_integer_float(kernel, tally, a, b, places, room)
        if self.asked.rounds_to_b:
            tally.unlike_b += unlike_rounded(a, self.right.name, b)
        if self.asked.rounds_to_a:
            tally.unlike_a += unlike_rounded(b, self.left.name, a)


def _pieces(size: int, *, first: bool) -> Iterator[tuple[int, int]]:
    """Start and length of the pieces of a block."""
    at = min(_FIRST_PIECE, size) if first else 0
    if at:
        yield 0, at
    for start in range(at, size, PIECE):
        yield start, min(PIECE, size - start)


def _words(units: Array) -> Array:
    """The units as integers, so that NaN is equal to itself."""
    return units.view(f"u{units.itemsize}")


def _same_bytes(a: Array, b: Array) -> bool:
    """Whether two arrays hold the same bytes; numpy lets go of the interpreter while it compares."""
    import numpy as np

    nbytes = a.nbytes
    if nbytes != b.nbytes or a[:_PROBE].tobytes() != b[:_PROBE].tobytes():
        return False
    width = next(width for width in (8, 4, 2, 1) if nbytes % width == 0)
    return not np.not_equal(a.view(np.uint8).view(f"u{width}"), b.view(np.uint8).view(f"u{width}")).any()
