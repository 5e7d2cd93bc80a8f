"""Known shapes of numpy: dtypes, scalars and arrays. numpy itself is not needed.

Forms follow numpy/_core/src/multiarray/descriptor.c (`arraydescr_reduce`, `arraydescr_setstate`), methods.c
(`array_reduce`, `array_setstate`) and numpy/_core/numeric.py (`_frombuffer`).
"""

from __future__ import annotations

import codecs
import struct
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from viewer.checkpoint.dtypes import DTYPE_CODE, DTYPES
from viewer.checkpoint.tensors import contiguous_stride, numel_of
from viewer.formats.pickle.plain_shapes import original_bytes
from viewer.formats.pickle.standins import Record, ScalarStandIn, StandInType

if TYPE_CHECKING:
    from viewer.formats.pickle.session import PickleSession

_TORCH_NAMES: Final = {
    "b1": "bool", "i1": "int8", "i2": "int16", "i4": "int32", "i8": "int64",
    "u1": "uint8", "u2": "uint16", "u4": "uint32", "u8": "uint64",
    "f2": "float16", "f4": "float32", "f8": "float64", "c8": "complex64", "c16": "complex128",
}  # fmt: skip
"""numpy's kind and size, and torch's name."""

_STRUCT_CODES: Final = {
    "b1": "?", "i1": "b", "i2": "h", "i4": "i", "i8": "q", "u1": "B", "u2": "H", "u4": "I", "u8": "Q",
    "f2": "e", "f4": "f", "f8": "d", "c8": "ff", "c16": "dd",
}  # fmt: skip

_DIMS: Final = 64
_FIELDS: Final = 64
_TEXT_NBYTES: Final = 1 << 20


class DtypeRecord(Record):
    """A numpy dtype.

    Attributes
    ----------
    code
        Kind and bytes of an element, as numpy writes them ("f4", "U3", "O8", "V12").
    big_endian
        True where the most significant byte comes first.
    fields
        Of a structured dtype: text such as "x: f4, y: i8"; "" for any other.
    """

    __slots__ = ("big_endian", "code", "fields")

    def __init__(self, code: str) -> None:
        self.big_endian = code[:1] == ">"
        self.code = code.lstrip("<>=|")
        self.fields = ""

    def __setstate__(self, state: object) -> None:
        # (version, byte order, subarray, names, fields, itemsize, alignment, flags[, metadata])
        if type(state) is not tuple or len(state) < 5:
            return
        order, subarray, names, fields = state[1:5]
        if type(order) is str and order in ("<", ">"):
            self.big_endian = order == ">"
        if type(names) is tuple and type(fields) is dict and len(names) <= _FIELDS:
            parts = []
            for name in names:
                field = fields.get(name) if type(name) is str else None
                kind = field[0].code if type(field) is tuple and field and isinstance(field[0], DtypeRecord) else "?"
                parts.append(f"{str(name)[:40]}: {kind}" if type(name) is str else "?")
            self.fields = ", ".join(parts)
        elif subarray is not None:
            self.fields = "subarray"

    def decode(self, raw: bytes) -> str:
        """An element of a text dtype, which numpy keeps in UTF-32 and fills up with zeros."""
        # By the functions themselves: a codec looked up by name is imported when it is first needed.
        decode = codecs.utf_32_be_decode if self.big_endian else codecs.utf_32_le_decode
        return decode(raw, "replace", True)[0].rstrip("\0")

    @property
    def torch_name(self) -> str:
        """What torch calls this dtype; "" where it has none such."""
        return "" if self.fields else _TORCH_NAMES.get(self.code, "")

    @property
    def text(self) -> str:
        if self.fields:
            return f"[{self.fields}]"
        torch_name = self.torch_name
        return f"{'>' if self.big_endian and torch_name else ''}{torch_name or self.code}"


class ArrayRecord(Record):
    """A numpy array.

    Attributes
    ----------
    type_name
        "numpy.ndarray", or the subclass.
    number
        Its row in the TensorTable; None where torch has no such dtype.
    note
        One line about an array that is not a tensor.
    parts
        Children to show below it; None where there are none.
    """

    __slots__ = ("_session", "note", "number", "parts", "type_name")

    def __init__(self, session: PickleSession, type_name: str) -> None:
        self._session = session
        self.type_name = type_name
        self.number: int | None = None
        self.note = "without its state"
        self.parts: dict[str, object] | None = None

    def __setstate__(self, state: object) -> None:
        # (version, shape, dtype, is Fortran, bytes or list); version 0 leaves the first out
        if type(state) is tuple and len(state) == 4:
            state = (0, *state)
        if type(state) is not tuple or len(state) < 5:
            # A subclass's own state around it (numpy/ma, pandas …).
            self.parts = {"state": state}
            return
        self.fill(
            state[1], state[2], fortran=bool(state[3]) if type(state[3]) in {int, bool} else False, data=state[4]
        )

    def fill(self, shape: object, dtype: object, *, fortran: bool, data: object) -> None:
        """Take on a shape, a dtype and the values."""
        sizes = _shape(shape)
        if sizes is None or not isinstance(dtype, DtypeRecord):
            self.note = "of a shape or dtype that cannot be read"
            self.parts = {"shape": shape, "dtype": dtype, "data": data}
            return
        size_text = "×".join(map(str, sizes)) or "scalar"
        if not dtype.torch_name:
            self.note = f"{dtype.text}, {size_text}"
            self.parts = _other_values(self._session, dtype, sizes, data)
            return
        code = DTYPE_CODE[dtype.torch_name]
        needed = numel_of(sizes) * DTYPES[code].itemsize
        try:
            raw = original_bytes(self._session, data)
        except TypeError:
            self.note = f"{dtype.text}, {size_text}, of which the values are not in the file"
            self.parts = {"data": data}
            return
        self.number = _add_array(self._session, code, sizes, raw, fortran=fortran, big_endian=dtype.big_endian)
        if self.type_name != "numpy.ndarray":
            self._session.tensors.extra[self.number]["type"] = self.type_name
        if needed > len(raw):
            self._session.tensors.problem[self.number] = (
                f"reaches outside its storage: needs {needed:,} bytes of {len(raw):,}"
            )


def _shape(shape: object) -> tuple[int, ...] | None:
    if type(shape) is not tuple or len(shape) > _DIMS:
        return None
    for extent in shape:
        if type(extent) is not int or not 0 <= extent < 1 << 62:
            return None
    return shape if numel_of(shape) < 1 << 62 else None


def _add_array(
    session: PickleSession, code: int, shape: tuple[int, ...], raw: bytes, *, fortran: bool, big_endian: bool
) -> int:
    def add_storage() -> int:
        return session.add_inline_storage(raw, code, big_endian=big_endian)

    storage = session.once(f"array {code} {big_endian}", raw, add_storage)
    assert isinstance(storage, int)
    stride = contiguous_stride(shape)
    extra: dict[str, object] = {"numpy": True}
    if fortran and len(shape) > 1:
        stride = tuple(reversed(contiguous_stride(shape[::-1])))
        extra["fortran"] = True
    number = session.add_tensor(code, shape, stride, storage)
    session.tensors.extra[number] = extra
    return number


def _other_values(
    session: PickleSession, dtype: DtypeRecord, shape: tuple[int, ...], data: object
) -> dict[str, object] | None:
    """What to show below an array whose dtype torch lacks: objects as they are, short texts decoded, or the bytes."""
    if type(data) is list:
        return {"items": data}
    kind, size = dtype.code[:1], dtype.code[1:]
    if kind not in {"U", "S"} or not size.isdigit() or dtype.fields:
        return {"data": data}
    raw = original_bytes(session, data)
    width = int(size) * (4 if kind == "U" else 1)
    count = min(numel_of(shape), len(raw) // max(width, 1))
    if width == 0 or len(raw) > _TEXT_NBYTES or not session.may_decode(count):
        return {"data": data}
    items: list[object] = []
    for at in range(0, count * width, width):
        piece = raw[at : at + width]
        items.append(dtype.decode(piece) if kind == "U" else piece.rstrip(b"\0"))
    return {"items": items}


def _dtype(_session: PickleSession) -> Callable[..., object]:
    def build(code: object, _align: object = False, _copy: object = True) -> DtypeRecord:
        if type(code) is not str or len(code) > 40:
            raise TypeError("not a code")
        return DtypeRecord(code)

    return build


def _scalar(session: PickleSession) -> Callable[..., object]:
    def build(dtype: object, packed: object = b"") -> ScalarStandIn:
        if not isinstance(dtype, DtypeRecord):
            raise TypeError("not a dtype")
        code = dtype.code
        name = dtype.torch_name
        if not name:
            if code[:1] in {"U", "S"}:
                raw = original_bytes(session, packed)[:4_096]
                if code[:1] == "U":
                    return ScalarStandIn("numpy.str_", dtype.decode(raw))
                return ScalarStandIn("numpy.bytes_", "", raw)
            raise TypeError("no plain number")
        raw = original_bytes(session, packed)
        if len(raw) != DTYPES[DTYPE_CODE[name]].itemsize:
            raise ValueError("not the bytes of one number")
        numbers = struct.unpack((">" if dtype.big_endian else "<") + _STRUCT_CODES[code], raw)
        value: object = complex(*numbers) if len(numbers) == 2 else numbers[0]
        return ScalarStandIn(f"numpy.{'bool_' if name == 'bool' else name}", repr(value), value)

    return build


def _reconstruct(session: PickleSession) -> Callable[..., object]:
    def build(array_type: object, _shape: object = (), _code: object = b"b") -> ArrayRecord:
        if not isinstance(array_type, StandInType):
            raise TypeError("not a class")
        return ArrayRecord(session, array_type.dotted)

    return build


def _from_buffer(session: PickleSession) -> Callable[..., object]:
    def build(buffer: object, dtype: object, shape: object, order: object, _axis_order: object = None) -> ArrayRecord:
        made = ArrayRecord(session, "numpy.ndarray")
        made.fill(shape, dtype, fortran=order == "F" if type(order) is str else False, data=buffer)
        return made

    return build


NUMPY_SHAPES: Final[dict[str, Callable[[PickleSession], Callable[..., object]]]] = {
    "numpy.dtype": _dtype,
    "numpy._core.multiarray.scalar": _scalar,
    "numpy._core.multiarray._reconstruct": _reconstruct,
    "numpy._core.numeric._frombuffer": _from_buffer,
}
"""By dotted name (see `viewer.formats.pickle.known`)."""
