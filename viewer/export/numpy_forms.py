"""numpy's arrays, scalars and dtypes in one form, without numpy: little-endian, row-major."""

from __future__ import annotations

import struct
from array import array
from typing import TYPE_CHECKING, Final

from viewer.checkpoint.dtypes import dtype_named
from viewer.checkpoint.tensors import contiguous_stride, numel_of
from viewer.export.objects import NormalObject, normal_object
from viewer.export.values import CallValue, DictValue, NameValue, Record, TensorValue, Value
from viewer.formats.pickle import PickleSession
from viewer.formats.pickle.names import plain_name
from viewer.formats.pickle.numpy_dtypes import DtypeRecord
from viewer.formats.pickle.plain_shapes import original_bytes
from viewer.formats.pickle.standins import ObjectStandIn, StandInType

if TYPE_CHECKING:
    from viewer.export.reading import ContentReader

_UNSIGNED: Final = {1: "B", 2: "H", 4: "I", 8: "Q"}
_STRUCT: Final = {
    "bool": "?", "int8": "b", "int16": "h", "int32": "i", "int64": "q", "uint8": "B", "uint16": "H", "uint32": "I",
    "uint64": "Q", "float16": "e", "float32": "f", "float64": "d", "complex64": "ff", "complex128": "dd",
}  # fmt: skip


class _Array:
    """An array of numbers: dtype code of numpy, shape, and its bytes in the one form."""

    def __init__(self, dtype: DtypeRecord, shape: tuple[int, ...], raw: bytes) -> None:
        self.dtype = dtype
        self.shape = shape
        self.raw = raw


def numpy_value(item: ObjectStandIn, normal: NormalObject, function: Value) -> Value | None:
    """The one form of something of numpy's; None for what is none, or has no numbers (it is then kept as it is)."""
    if not isinstance(function, NameValue) or not function.module.startswith("numpy"):
        return None
    if function.dotted == "numpy.dtype":
        dtype = _dtype(item)
        return _dtype_value(dtype) if dtype is not None else None
    if function.dotted == "numpy.core.multiarray.scalar":
        scalar = _scalar(normal)
        if scalar is None:
            return None
        dtype, raw = scalar
        return CallValue(function, (_dtype_value(dtype), raw), immutable=True)
    found = _array(normal, function.dotted)
    if found is None:
        return None
    made = CallValue(NameValue("numpy.core.multiarray", "_reconstruct"), (NameValue("numpy", "ndarray"), (0,), b"b"))
    made.states = [(1, found.shape, _dtype_value(found.dtype), False, found.raw)]
    return made


def plain_numpy(reader: ContentReader, normal: NormalObject, dotted: str) -> Value | None:
    """A number for a scalar, a tensor for an array of numbers, a text for a dtype, a list or dict for other arrays;
    None for what is not numpy's."""
    if not dotted.startswith("numpy."):
        return None
    if dotted == "numpy.dtype":
        return str(normal.args[0]) if normal.args and isinstance(normal.args[0], str) else None
    if dotted == "numpy.core.multiarray.scalar":
        scalar = _scalar(normal)
        if scalar is None:
            return None
        numbers = struct.unpack("<" + _STRUCT[scalar[0].torch_name], scalar[1])
        return complex(*numbers) if len(numbers) == 2 else numbers[0]
    found = _array(normal, dotted)
    if found is not None:
        return tensor_of(found)
    state = normal.states[0] if normal.states else None
    if type(state) is tuple and len(state) == 5:
        return DictValue(reader.pairs([("shape", state[1]), ("data", state[4])]))
    return None


def tensor_of(found: _Array) -> TensorValue:
    """An array as a tensor."""
    dtype = dtype_named(found.dtype.torch_name)
    record = Record(dtype, found.shape, contiguous_stride(found.shape), len(found.raw), data=found.raw)
    return TensorValue(dtype, found.shape, record)


def array_of(item: object) -> _Array | None:
    """The array of numbers that an object is."""
    if not isinstance(item, ObjectStandIn):
        return None
    normal = normal_object(item)
    if not isinstance(normal.function, StandInType):
        return None
    return _array(normal, plain_name(*normal.function.dotted.rpartition(".")[::2]))


def _dtype(item: object) -> DtypeRecord | None:
    """A dtype of numbers; None for any other."""
    if not isinstance(item, ObjectStandIn) or not item.args or type(item.args[0]) is not str:
        return None
    record = DtypeRecord(item.args[0])
    for state in item.state or ():
        record.__setstate__(state)
    return record if record.torch_name else None


def _dtype_value(dtype: DtypeRecord) -> CallValue:
    order = "|" if dtype.code in ("b1", "i1", "u1") else "<"
    state = (3, order, None, None, None, -1, -1, 0)
    return CallValue(NameValue("numpy", "dtype"), (dtype.code, False, True), immutable=True, states=[state])


def _scalar(normal: NormalObject) -> tuple[DtypeRecord, bytes] | None:
    if len(normal.args) != 2 or (dtype := _dtype(normal.args[0])) is None:
        return None
    raw = _bytes(normal.args[1])
    if raw is None or len(raw) != _itemsize(dtype):
        return None
    return dtype, _little(raw, dtype)


def _array(normal: NormalObject, dotted: str) -> _Array | None:
    if dotted.endswith("multiarray._reconstruct"):
        is_plain = bool(normal.args) and getattr(normal.args[0], "dotted", "") == "numpy.ndarray"
        state = normal.states[0] if len(normal.states) == 1 else None
        if not is_plain or type(state) is not tuple or len(state) not in (4, 5):
            return None
        shape, dtype, fortran, data = state[-4:]
    elif dotted.endswith("numeric._frombuffer") and len(normal.args) == 4:
        data, dtype, shape, order = normal.args
        fortran = order == "F"
    else:
        return None
    record, raw = _dtype(dtype), _bytes(data)
    if record is None or raw is None or type(shape) is not tuple:
        return None
    if not all(type(extent) is int and extent >= 0 for extent in shape):
        return None
    if numel_of(shape) * _itemsize(record) != len(raw):
        return None
    if fortran and len(shape) > 1:
        raw = _row_major(raw, shape, _itemsize(record))
    return _Array(record, shape, _little(raw, record))


def _bytes(given: object) -> bytes | None:
    if not isinstance(given, (bytes, bytearray, str)):
        value = getattr(given, "value", None)  # a long one is a record of the call that made it
        return value if isinstance(value, bytes) else None
    try:
        return original_bytes(PickleSession(), given)
    except (TypeError, UnicodeError):
        return None


def _itemsize(dtype: DtypeRecord) -> int:
    return dtype_named(dtype.torch_name).itemsize


def _little(raw: bytes, dtype: DtypeRecord) -> bytes:
    unit = _itemsize(dtype) // (2 if dtype.code.startswith("c") else 1)
    if not dtype.big_endian or unit == 1:
        return raw
    items = array(_UNSIGNED[unit], raw)
    items.byteswap()
    return items.tobytes()


def _row_major(raw: bytes, shape: tuple[int, ...], itemsize: int) -> bytes:
    """Elements in column-major order put into row-major order."""
    if itemsize <= 8:
        view = memoryview(raw)
        return b"".join(_rows(view if itemsize == 1 else _cast(view, itemsize), shape))
    halves = memoryview(raw).cast("Q")
    both = array("Q", bytes(len(raw)))
    for half in (0, 1):
        both[half::2] = array("Q", b"".join(_rows(memoryview(halves[half::2].tobytes()).cast("Q"), shape)))
    return both.tobytes()


def _cast(view: memoryview, itemsize: int) -> memoryview:
    return view.cast("H") if itemsize == 2 else view.cast("I") if itemsize == 4 else view.cast("Q")


def _rows(items: memoryview, shape: tuple[int, ...]) -> list[bytes]:
    # Element (i, j, k …) of column-major order lies at i + n_i * (j + n_j * (k …)).
    if len(shape) <= 1:
        return [items.tobytes()]
    pieces: list[bytes] = []
    for first in range(shape[0]):
        pieces += _rows(items[first :: shape[0]], shape[1:])
    return pieces
