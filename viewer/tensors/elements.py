"""How the bytes of each dtype become numbers: units in the file, packed values, the value of every bit pattern."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from viewer.checkpoint.dtypes import DType

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

Form: TypeAlias = Literal["pattern", "float", "int", "complex"]

_PER_BYTE: Final = {"float4_e2m1fn_x2": 2, "quint4x2": 2, "quint2x4": 4}
"""Types whose values are unpacked here, first value in the lowest bits (`c10/util/quint4x2.h`, `quint2x4.h`,
`Float4_e2m1fn_x2.h`). `bits1x8`, `bits2x4` and `bits4x2` have no arithmetic in torch; they are shown byte by byte."""

_FLOAT4: Final = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, -0.0, -0.5, -1.0, -1.5, -2.0, -3.0, -4.0, -6.0)
"""E2M1 of the OCP Microscaling Formats specification 1.0, table 5."""

_SMALLEST_NORMAL: Final = {
    "float16": 2.0**-14,
    "bfloat16": 2.0**-126,
    "float32": 2.0**-126,
    "float64": 2.0**-1022,
    "complex32": 2.0**-14,
    "complex64": 2.0**-126,
    "complex128": 2.0**-1022,
    "float8_e4m3fn": 2.0**-6,
    "float8_e5m2": 2.0**-14,
    "float8_e4m3fnuz": 2.0**-7,
    "float8_e5m2fnuz": 2.0**-15,
    "float4_e2m1fn_x2": 1.0,
}
"""As `torch.finfo(dtype).smallest_normal`. float8_e8m0fnu holds powers of two alone and has no denormals."""


@dataclass(frozen=True, slots=True)
class Element:
    """One dtype as this room reads it.

    Attributes
    ----------
    form
        "pattern": at most 16 bits, so that every bit pattern can be counted. Otherwise what the units are.
    unit
        numpy code of what is byte-swapped as one: "u1", "u2", "f4", "f8", "i4", "i8", "u4", "u8", "f2".
    units
        Units per element: 2 for complex numbers.
    per_byte
        Values in one byte; 1 for all but packed types.
    smallest_normal
        Magnitudes below it, other than 0, are denormal; 0.0 where there are none.
    """

    dtype: DType
    form: Form
    unit: str
    units: int = 1
    per_byte: int = 1
    smallest_normal: float = 0.0

    @property
    def itemsize(self) -> int:
        """Bytes that are read for one element, or for `per_byte` packed ones."""
        return self.dtype.itemsize

    @property
    def is_integer(self) -> bool:
        """True where the values are ints: integer, bool, bits, and the stored side of quantized types."""
        return self.dtype.kind in ("int", "uint", "bool", "quantized") or (
            self.dtype.kind == "bits" and self.dtype.name != "float4_e2m1fn_x2"
        )


def element_of(dtype: DType) -> Element:
    """How elements of `dtype` are read; quantized ones as their stored integers."""
    normal = _SMALLEST_NORMAL.get(dtype.name, 0.0)
    if dtype.kind == "complex":
        return Element(dtype, "complex", f"f{dtype.itemsize // 2}", 2, 1, normal)
    if dtype.itemsize <= 2:
        return Element(dtype, "pattern", f"u{dtype.itemsize}", 1, _PER_BYTE.get(dtype.name, 1), normal)
    if dtype.kind == "float":
        return Element(dtype, "float", f"f{dtype.itemsize}", 1, 1, normal)
    sign = "u" if dtype.kind == "uint" else "i"
    return Element(dtype, "int", f"{sign}{dtype.itemsize}")


@lru_cache(maxsize=64)
def pattern_values(name: str) -> npt.NDArray[np.float64] | npt.NDArray[np.int64]:
    """The value of every bit pattern of a dtype of form "pattern", indexed by the pattern; not writable.

    int64 for integer types, else float64, which holds all of them exactly. Values narrower than a byte (`int4`) are
    in its low bits, and the bits above them do not count.
    """
    import numpy as np

    from viewer.checkpoint.dtypes import dtype_named

    dtype = dtype_named(name)
    values: npt.NDArray[np.float64] | npt.NDArray[np.int64]
    if dtype.name == "float4_e2m1fn_x2":
        values = np.array(_FLOAT4)
    elif dtype.kind == "float":
        values = _float_values(dtype)
    else:
        values = _int_values(dtype)
    values.flags.writeable = False
    return values


def _float_values(dtype: DType) -> npt.NDArray[np.float64]:
    import numpy as np
    import torch

    codes = np.arange(1 << (8 * dtype.itemsize), dtype=f"u{dtype.itemsize}")
    stored = torch.from_numpy(codes).view(getattr(torch, dtype.name))
    # float8 types convert to float32 alone; every step is exact.
    return stored.to(torch.float32).to(torch.float64).numpy()


def _int_values(dtype: DType) -> npt.NDArray[np.int64]:
    import numpy as np

    if dtype.name == "bool":
        return np.minimum(np.arange(256), 1)  # any bit set is True, as in C++
    bits = _bits_of(dtype)
    size = 1 << (bits if dtype.name in _PER_BYTE else 8 * dtype.itemsize)
    codes = np.arange(size, dtype=np.int64) & ((1 << bits) - 1)
    if dtype.kind == "int" or dtype.name == "qint8":
        codes[codes >= 1 << (bits - 1)] -= 1 << bits
    return codes


def _bits_of(dtype: DType) -> int:
    if dtype.name in _PER_BYTE:
        return 8 // _PER_BYTE[dtype.name]
    if dtype.kind in ("int", "uint"):
        return int(dtype.name.removeprefix("u").removeprefix("int"))
    return 8 * dtype.itemsize
