"""Elements as numbers: the streams of values that one tensor gives (a complex one gives three)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from viewer.checkpoint.dtypes import DType
from viewer.checkpoint.tensors import TensorFlag
from viewer.tensors.elements import Element, element_of, pattern_values
from viewer.tensors.quantized import Quantizer

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

Domain: TypeAlias = Literal["float32", "float64", "int"]
"""Which numbers a stream can hold: float32 or float64 ones, or integers below 2**64 in magnitude."""

UINT64_OFFSET: Final = 1 << 63
"""uint64 values are worked on as int64, less 2**63, since torch does no arithmetic on uint64."""


@dataclass(frozen=True, slots=True)
class Stream:
    """One sequence of numbers.

    Attributes
    ----------
    name
        As in `TensorSummary.of` and `PartSummary.name`.
    offset
        To add to the int64 values of a stream of integers.
    smallest_normal
        As in `Element`.
    """

    name: str
    domain: Domain
    offset: int = 0
    smallest_normal: float = 0.0


@dataclass(frozen=True, slots=True)
class Decoder:
    """Turns units of one tensor into its streams, on the CPU.

    Attributes
    ----------
    streams
        In the order in which `decode` gives their arrays.
    """

    element: Element
    flags: TensorFlag
    quantizer: Quantizer | None
    streams: tuple[Stream, ...]

    def decode(self, units: npt.NDArray[Any], first: int) -> tuple[npt.NDArray[Any], ...]:
        """An array per stream: float32 or float64 ones, and int64 ones less their offset.

        Parameters
        ----------
        units
            As `ElementSource.read` gives them; not changed, but an answer may be a view of it.
        first
            Flat index of the first element. It matters for quantized tensors alone, whose units must then be in
            logical order.
        """
        if self.element.form == "complex":
            return self._complex(units)
        if self.quantizer is not None:
            stored = self._integers(units)
            return self.quantizer.real(stored, first), stored
        if self.element.form == "int":
            return (self._integers(units),)
        return (-units if self.flags & TensorFlag.NEG else units,)

    def _integers(self, units: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
        import numpy as np

        integers: npt.NDArray[np.int64]
        if self.element.form == "pattern":
            integers = pattern_values(self.element.dtype.name)[units]
        elif units.dtype == np.uint64:
            integers = np.bitwise_xor(units, np.uint64(UINT64_OFFSET)).view(np.int64)
        else:
            integers = units.astype(np.int64, copy=False)
        return integers

    def _complex(self, units: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], ...]:
        import numpy as np

        if units.dtype == np.float16:
            units = units.astype(np.float32)
        real = units[0::2].copy()
        imaginary = units[1::2].copy()
        magnitude = _magnitude(real, imaginary)
        if self.flags & TensorFlag.NEG:
            np.negative(real, out=real)
        if bool(self.flags & TensorFlag.NEG) != bool(self.flags & TensorFlag.CONJ):
            np.negative(imaginary, out=imaginary)
        return magnitude, real, imaginary


def _magnitude(real: npt.NDArray[Any], imaginary: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """|z| in float64. One beyond float64 is inf, and counted as such."""
    import numpy as np

    magnitude: npt.NDArray[np.float64]
    if real.dtype == np.float64:
        with np.errstate(over="ignore"):
            magnitude = np.hypot(real, imaginary)
        return magnitude
    # Squares of float32 are exact in float64, so that this is off by less than a unit in the last place.
    magnitude = real.astype(np.float64)
    other = imaginary.astype(np.float64)
    np.multiply(magnitude, magnitude, out=magnitude)
    np.multiply(other, other, out=other)
    np.add(magnitude, other, out=magnitude)
    np.sqrt(magnitude, out=magnitude)
    if np.isnan(magnitude).any():  # inf beside NaN is inf, as in C99 and numpy
        magnitude[np.isinf(real) | np.isinf(imaginary)] = np.inf
    return magnitude


def decoder_of(dtype: DType, flags: TensorFlag, quantizer: Quantizer | None = None) -> Decoder:
    """The decoder for a dtype wider than 16 bits, or for a quantized one with its parameters."""
    element = element_of(dtype)
    if element.form == "complex":
        part: Domain = "float64" if dtype.itemsize == 16 else "float32"
        normal = element.smallest_normal
        streams: tuple[Stream, ...] = (
            Stream("magnitude", "float64", 0, normal),
            Stream("real", part, 0, normal),
            Stream("imaginary", part, 0, normal),
        )
    elif quantizer is not None:
        streams = (
            Stream("dequantized value", "float32", 0, element_normal("float32")),
            Stream("stored integer", "int"),
        )
    elif element.form == "int":
        streams = (Stream("value", "int", UINT64_OFFSET if dtype.name == "uint64" else 0),)
    else:
        streams = (Stream("value", "float64" if dtype.itemsize == 8 else "float32", 0, element.smallest_normal),)
    return Decoder(element, flags, quantizer, streams)


@lru_cache
def element_normal(name: str) -> float:
    from viewer.checkpoint.dtypes import dtype_named

    return element_of(dtype_named(name)).smallest_normal
