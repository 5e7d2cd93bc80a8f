"""Known shapes of numpy: scalars and arrays. numpy itself is not needed.

Forms follow numpy/_core/src/multiarray/methods.c (`array_reduce`, `array_setstate`), numpy/_core/numeric.py
(`_frombuffer`) and numpy/ma/core.py (`MaskedArray.__getstate__`, `_mareconstruct`).

An array of numbers is a row of the TensorTable. A structured one is an object with a row for each field, whose bytes
are gathered from the records; dates, durations, texts and long doubles are listed as numpy prints them.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from viewer.checkpoint.dtypes import DTYPE_CODE, DTYPES
from viewer.checkpoint.tensors import contiguous_stride, numel_of
from viewer.formats.pickle.numpy_dtypes import DtypeRecord
from viewer.formats.pickle.numpy_elements import element_reader
from viewer.formats.pickle.plain_shapes import original_bytes
from viewer.formats.pickle.standins import Problem, Record, ScalarStandIn, StandInType

if TYPE_CHECKING:
    from viewer.formats.pickle.session import PickleSession

_STRUCT_CODES: Final = {
    "b1": "?", "i1": "b", "i2": "h", "i4": "i", "i8": "q", "u1": "B", "u2": "H", "u4": "I", "u8": "Q",
    "f2": "e", "f4": "f", "f8": "d", "c8": "ff", "c16": "dd",
}  # fmt: skip

_RECORD_TYPES: Final = ("numpy.record", "numpy.void", "numpy.rec.record")
_DIMS: Final = 64
_TEXT_NBYTES: Final = 1 << 20
_SCALAR_NBYTES: Final = 4_096
_DEPTH: Final = 8
"""Records inside records that are taken apart."""
_GATHERED_AT_ONCE: Final = 256
"""Bytes of records that count as one decoded item (`PickleSession.may_decode`): copying is that much faster."""
_SLOW: Final = 100
"""Items that a long double counts as: its digits are worked out in exact fractions, in up to a millisecond."""


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

    __slots__ = ("_is_masked", "_session", "note", "number", "parts", "type_name")

    def __init__(self, session: PickleSession, type_name: str, *, is_masked: bool = False) -> None:
        self._session = session
        self._is_masked = is_masked
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
        _, shape, dtype, order, data = state[:5]
        fortran = bool(order) if type(order) in {int, bool} else False
        if self._is_masked and len(state) == 7:
            self._take_masked(shape, dtype, fortran, data, state[5], state[6])
        else:
            self.fill(shape, dtype, fortran=fortran, data=data)

    def _take_masked(
        self, shape: object, dtype: object, fortran: bool, data: object, mask: object, fill_value: object
    ) -> None:
        """The parts of a masked array: its mask is True where a value does not count."""
        values = ArrayRecord(self._session, "numpy.ndarray")
        values.fill(shape, dtype, fortran=fortran, data=data)
        masked = ArrayRecord(self._session, "numpy.ndarray")
        masked.fill(shape, _mask_dtype(self._session, dtype), fortran=fortran, data=mask)
        sizes = _shape(shape)
        if sizes is not None and isinstance(dtype, DtypeRecord):
            self.note = _note(dtype, sizes)
        self.parts = {"data": values, "mask": masked, "fill_value": fill_value}

    def fill(self, shape: object, dtype: object, *, fortran: bool, data: object) -> None:
        """Take on a shape, a dtype and the values."""
        sizes = _shape(shape)
        if sizes is None or not isinstance(dtype, DtypeRecord):
            self.note = "of a shape or dtype that cannot be read"
            self.parts = {"shape": shape, "dtype": dtype, "data": data}
            return
        stride = contiguous_stride(sizes)
        if fortran and len(sizes) > 1:
            stride = tuple(reversed(contiguous_stride(sizes[::-1])))
        else:
            fortran = False
        try:
            raw = original_bytes(self._session, data)
        except TypeError:
            self.note = _note(dtype, sizes)
            # Objects are listed in logical order whatever the order in memory.
            self.parts = {"items": data} if type(data) is list else {"data": data}
            if type(data) is not list:
                self.note += ", of which the values are not in the file"
            return
        self.take(dtype, sizes, stride, raw, data)
        if self.number is not None:
            extra = self._session.tensors.extra[self.number]
            if fortran:
                extra["fortran"] = True
            if self.type_name != "numpy.ndarray":
                extra["type"] = self.type_name

    def take(
        self,
        dtype: DtypeRecord,
        shape: tuple[int, ...],
        stride: tuple[int, ...],
        raw: bytes,
        data: object,
        depth: int = 0,
    ) -> None:
        """Take on values that lie in `raw`.

        Parameters
        ----------
        stride
            In elements.
        data
            What the pickle holds: shown where `raw` cannot be taken apart.
        """
        if dtype.base is not None and len(shape) + len(dtype.extents) <= _DIMS:
            inner = contiguous_stride(dtype.extents)
            count = numel_of(dtype.extents)
            shape, stride = (*shape, *dtype.extents), (*(step * count for step in stride), *inner)
            dtype = dtype.base
        if dtype.torch_name and numel_of(shape) < 1 << 62:
            self._take_numbers(dtype, shape, stride, raw)
            return
        self.note = _note(dtype, shape)
        self.parts = None
        if numel_of(shape) >= 1 << 62:
            self.note += ", which cannot be"
        elif dtype.members:
            self.parts = self._fields(dtype, shape, stride, raw, depth)
        elif dtype.base is None:
            self.parts = self._items(dtype, shape, stride, raw)
        if self.parts is None:
            self.parts = {"data": data}

    def _take_numbers(self, dtype: DtypeRecord, shape: tuple[int, ...], stride: tuple[int, ...], raw: bytes) -> None:
        session, code, big_endian = self._session, DTYPE_CODE[dtype.torch_name], dtype.big_endian

        def add_storage() -> int:
            return session.add_inline_storage(raw, code, big_endian=big_endian)

        storage = session.once(f"array {code} {big_endian}", raw, add_storage)
        assert isinstance(storage, int)
        number = self.number = session.add_tensor(code, shape, stride, storage)
        session.tensors.extra[number] = {"numpy": True}
        needed = numel_of(shape) * DTYPES[code].itemsize
        if needed > len(raw):
            session.tensors.problem[number] = f"reaches outside its storage: needs {needed:,} bytes of {len(raw):,}"

    def _fields(
        self, dtype: DtypeRecord, shape: tuple[int, ...], stride: tuple[int, ...], raw: bytes, depth: int
    ) -> dict[str, object] | None:
        """An array for each field, of bytes gathered from the records; None where there are too many or they lie."""
        session, count, itemsize = self._session, numel_of(shape), dtype.itemsize
        if (
            depth >= _DEPTH
            or itemsize == 0
            or count * itemsize > len(raw)
            or sum(kind.itemsize for _, kind, _ in dtype.members) > itemsize
            or not session.may_decode(len(raw) // _GATHERED_AT_ONCE + 10 * len(dtype.members))
        ):
            return None
        parts: dict[str, object] = {}
        for name, kind, offset in dtype.members:
            if offset < 0 or offset + kind.itemsize > itemsize:
                parts[name] = Problem(f"it would lie outside the {itemsize:,} bytes of a record")
                continue
            gathered = _gather(raw, count, itemsize, offset, kind.itemsize)
            parts[name] = self._field(kind, shape, stride, gathered, depth + 1)
        return parts

    def _field(
        self, dtype: DtypeRecord, shape: tuple[int, ...], stride: tuple[int, ...], raw: bytes, depth: int
    ) -> object:
        if not shape and not dtype.members and dtype.base is None:
            try:
                return _element(self._session, dtype, raw)
            except (TypeError, ValueError):
                return raw
        array = ArrayRecord(self._session, "numpy.ndarray" if shape or not dtype.members else "numpy.void")
        array.take(dtype, shape, stride, raw, raw, depth)
        return array

    def _items(
        self, dtype: DtypeRecord, shape: tuple[int, ...], stride: tuple[int, ...], raw: bytes
    ) -> dict[str, object] | None:
        """The elements as a list in logical order; None where there are too many, or it is not known how."""
        session, count, width = self._session, numel_of(shape), dtype.itemsize
        if width == 0 or count * width > min(len(raw), _TEXT_NBYTES):
            return None
        is_slow = dtype.code[:1] in {"f", "c"}
        if not session.may_decode(count * (_SLOW if is_slow else 1) + count * width // _GATHERED_AT_ONCE):
            return None
        read = element_reader(dtype, raw)
        if read is None:
            return None
        order = range(count) if not count or stride == contiguous_stride(shape) else _positions(shape, stride)
        items = [read(raw[at * width : (at + 1) * width]) for at in order]
        return {"items": items}


def _note(dtype: DtypeRecord, shape: tuple[int, ...]) -> str:
    return f"{dtype.text}, {'×'.join(map(str, shape)) or 'scalar'}"


def _shape(shape: object) -> tuple[int, ...] | None:
    if type(shape) is not tuple or len(shape) > _DIMS:
        return None
    for extent in shape:
        if type(extent) is not int or not 0 <= extent < 1 << 62:
            return None
    return shape if numel_of(shape) < 1 << 62 else None


def _positions(shape: tuple[int, ...], stride: tuple[int, ...]) -> list[int]:
    """Where each element lies, in logical order."""
    positions = [0]
    for extent, step in zip(shape, stride, strict=True):
        positions = [at + nth * step for at in positions for nth in range(extent)]
    return positions


def _gather(raw: bytes, count: int, itemsize: int, offset: int, width: int) -> bytes:
    """One field of each of `count` records, end to end."""
    end = count * itemsize
    if width == itemsize:
        return raw[:end]
    if count <= width:
        return b"".join([raw[at : at + width] for at in range(offset, end, itemsize)])
    gathered = bytearray(count * width)
    for nth in range(width):
        gathered[nth::width] = raw[offset + nth : end : itemsize]
    return bytes(gathered)


def _element(session: PickleSession, dtype: DtypeRecord, raw: bytes) -> object:
    """One element: a number, a text, or a record with its fields."""
    name = dtype.torch_name
    if name:
        if len(raw) != DTYPES[DTYPE_CODE[name]].itemsize:
            raise ValueError("not the bytes of one number")
        numbers = struct.unpack((">" if dtype.big_endian else "<") + _STRUCT_CODES[dtype.code], raw)
        value: object = complex(*numbers) if len(numbers) == 2 else numbers[0]
        return ScalarStandIn(f"numpy.{'bool_' if name == 'bool' else name}", repr(value), value)
    if dtype.members or dtype.base is not None:
        record = ArrayRecord(session, "numpy.void" if dtype.members else "numpy.ndarray")
        record.take(dtype, (), (), raw, raw)
        return record
    if len(raw) != dtype.itemsize and dtype.code[:1] in {"M", "m", "f", "c"}:
        raise ValueError("not the bytes of one element")
    read = element_reader(dtype, raw)
    if read is None:
        raise TypeError("no plain value")
    value = read(raw)
    if isinstance(value, ScalarStandIn):
        return value
    if isinstance(value, str):
        return ScalarStandIn("numpy.str_", value)
    return ScalarStandIn("numpy.void" if dtype.code[:1] == "V" else "numpy.bytes_", "", value)


def _mask_dtype(session: PickleSession, dtype: object) -> DtypeRecord:
    """The dtype of a mask: a bool for each value, or for each field of it (numpy/ma/core.py:make_mask_descr)."""
    made = DtypeRecord("b1")
    if isinstance(dtype, DtypeRecord) and dtype.members and session.may_decode(10 * len(dtype.members)):
        made = DtypeRecord(f"V{len(dtype.members)}")
        plain = all(not kind.members and kind.base is None for _, kind, _ in dtype.members)
        if plain:
            made.set_members([(name, DtypeRecord("b1"), nth) for nth, (name, _, _) in enumerate(dtype.members)])
    return made


def _dtype(session: PickleSession) -> Callable[..., object]:
    def build(code: object, _align: object = False, _copy: object = True) -> DtypeRecord:
        if isinstance(code, StandInType) and code.dotted in _RECORD_TYPES:
            return DtypeRecord("V", session)  # the fields and the size come with the state
        if type(code) is not str or len(code) > 40:
            raise TypeError("not a code")
        return DtypeRecord(code, session)

    return build


def _string_dtype(session: PickleSession) -> Callable[..., object]:
    def build(_coerce: object = True, _missing: object = None) -> DtypeRecord:
        """The dtype of texts of any length, whose arrays are pickled as lists."""
        return DtypeRecord("T16", session)

    return build


def _scalar(session: PickleSession) -> Callable[..., object]:
    def build(dtype: object, packed: object = b"") -> object:
        if not isinstance(dtype, DtypeRecord):
            raise TypeError("not a dtype")
        raw = original_bytes(session, packed)
        if dtype.code[:1] in {"U", "S"}:
            raw = raw[:_SCALAR_NBYTES]
        if dtype.code[:1] not in {"U", "S"}:
            return _element(session, dtype, raw)
        # Once for the same bytes: a text of 4 KiB a million times over would fill the memory.
        purpose = f"element {dtype.code} {dtype.big_endian}"
        return session.once(purpose, packed, lambda: _element(session, dtype, raw))

    return build


def _reconstruct(session: PickleSession) -> Callable[..., object]:
    def build(array_type: object, _shape: object = (), _code: object = b"b") -> ArrayRecord:
        if not isinstance(array_type, StandInType):
            raise TypeError("not a class")
        return ArrayRecord(session, array_type.dotted)

    return build


def _reconstruct_masked(session: PickleSession) -> Callable[..., object]:
    def build(array_type: object, _base: object, _shape: object = (), _code: object = "b") -> ArrayRecord:
        if not isinstance(array_type, StandInType):
            raise TypeError("not a class")
        return ArrayRecord(session, array_type.dotted, is_masked=True)

    return build


def _from_buffer(session: PickleSession) -> Callable[..., object]:
    def build(buffer: object, dtype: object, shape: object, order: object, _axis_order: object = None) -> ArrayRecord:
        made = ArrayRecord(session, "numpy.ndarray")
        made.fill(shape, dtype, fortran=order == "F" if type(order) is str else False, data=buffer)
        return made

    return build


NUMPY_SHAPES: Final[dict[str, Callable[[PickleSession], Callable[..., object]]]] = {
    "numpy.dtype": _dtype,
    "numpy._core._internal._convert_to_stringdtype_kwargs": _string_dtype,
    "numpy._core.multiarray.scalar": _scalar,
    "numpy._core.multiarray._reconstruct": _reconstruct,
    "numpy._core.numeric._frombuffer": _from_buffer,
    "numpy.ma.core._mareconstruct": _reconstruct_masked,
}
"""By dotted name (see `viewer.formats.pickle.known`)."""
