"""The element types that torch can store, with the names and sizes that torch gives them.

Names, sizes and the storage classes follow torch 2.13 (`torch/storage.py:_dtype_to_storage_type_map`,
`c10/core/ScalarType.h`). Types narrower than a byte occupy whole bytes in a storage: `float4_e2m1fn_x2`,
`quint4x2`, `bits4x2` … pack several values into one byte, `int1` … `uint7` keep one value per byte.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

DTypeKind: TypeAlias = Literal["float", "int", "uint", "bool", "complex", "quantized", "bits"]


@dataclass(frozen=True, slots=True)
class DType:
    """One element type.

    Attributes
    ----------
    name
        As torch prints it, without "torch.".
    short
        For narrow columns ("f32").
    itemsize
        Bytes of one element in a storage.
    safetensors
        The name in a safetensors header, or "" where that format has none.
    """

    name: str
    short: str
    kind: DTypeKind
    itemsize: int
    safetensors: str = ""

    def __str__(self) -> str:
        return self.name


def _table() -> tuple[DType, ...]:
    rows: list[DType] = [
        DType("float32", "f32", "float", 4, "F32"),
        DType("float64", "f64", "float", 8, "F64"),
        DType("float16", "f16", "float", 2, "F16"),
        DType("bfloat16", "bf16", "float", 2, "BF16"),
        DType("int64", "i64", "int", 8, "I64"),
        DType("int32", "i32", "int", 4, "I32"),
        DType("int16", "i16", "int", 2, "I16"),
        DType("int8", "i8", "int", 1, "I8"),
        DType("uint8", "u8", "uint", 1, "U8"),
        DType("bool", "bool", "bool", 1, "BOOL"),
        DType("uint16", "u16", "uint", 2, "U16"),
        DType("uint32", "u32", "uint", 4, "U32"),
        DType("uint64", "u64", "uint", 8, "U64"),
        DType("complex32", "c32", "complex", 4),
        DType("complex64", "c64", "complex", 8, "C64"),
        DType("complex128", "c128", "complex", 16),
        DType("float8_e4m3fn", "f8e4m3", "float", 1, "F8_E4M3"),
        DType("float8_e5m2", "f8e5m2", "float", 1, "F8_E5M2"),
        DType("float8_e4m3fnuz", "f8e4m3z", "float", 1, "F8_E4M3FNUZ"),
        DType("float8_e5m2fnuz", "f8e5m2z", "float", 1, "F8_E5M2FNUZ"),
        DType("float8_e8m0fnu", "f8e8m0", "float", 1, "F8_E8M0"),
        DType("float4_e2m1fn_x2", "f4x2", "bits", 1, "F4"),
        DType("qint8", "qi8", "quantized", 1),
        DType("quint8", "qu8", "quantized", 1),
        DType("qint32", "qi32", "quantized", 4),
        DType("quint4x2", "qu4x2", "quantized", 1),
        DType("quint2x4", "qu2x4", "quantized", 1),
        DType("bits1x8", "b1x8", "bits", 1),
        DType("bits2x4", "b2x4", "bits", 1),
        DType("bits4x2", "b4x2", "bits", 1),
        DType("bits8", "b8", "bits", 1),
        DType("bits16", "b16", "bits", 2),
    ]
    rows += [DType(f"int{n}", f"i{n}", "int", 1) for n in range(1, 8)]
    rows += [DType(f"uint{n}", f"u{n}", "uint", 1) for n in range(1, 8)]
    return tuple(rows)


DTYPES: tuple[DType, ...] = _table()
"""Every dtype; an index into this tuple is what a checkpoint's columns hold (it never leaves the program)."""

DTYPE_CODE: dict[str, int] = {dtype.name: code for code, dtype in enumerate(DTYPES)}

STORAGE_CLASS_DTYPE: dict[str, str] = {
    "DoubleStorage": "float64",
    "FloatStorage": "float32",
    "HalfStorage": "float16",
    "BFloat16Storage": "bfloat16",
    "LongStorage": "int64",
    "IntStorage": "int32",
    "ShortStorage": "int16",
    "CharStorage": "int8",
    "ByteStorage": "uint8",
    "BoolStorage": "bool",
    "ComplexDoubleStorage": "complex128",
    "ComplexFloatStorage": "complex64",
    "QUInt8Storage": "quint8",
    "QInt8Storage": "qint8",
    "QInt32Storage": "qint32",
    "QUInt4x2Storage": "quint4x2",
    "QUInt2x4Storage": "quint2x4",
    "UntypedStorage": "uint8",
}
"""torch's typed storage classes. dtypes without a class of their own are saved over UntypedStorage."""


def dtype_named(name: str) -> DType:
    """The dtype that torch calls `name`, with or without "torch."; KeyError when torch has none."""
    return DTYPES[DTYPE_CODE[name.removeprefix("torch.")]]
