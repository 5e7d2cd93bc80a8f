"""Values as a pickle of protocol 2: one sequence of opcodes for one content (docs/canonical-format.md, section 3).

`torch.load(weights_only=True)` reads every opcode that is used for what state_dicts hold; see
`torch/_weights_only_unpickler.py`. Nothing is imported or called to write a name.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from typing import Final

from viewer.checkpoint.dtypes import STORAGE_CLASS_DTYPE, DType
from viewer.errors import LimitExceeded
from viewer.export.values import (
    CallValue,
    DictValue,
    ListValue,
    NameValue,
    Record,
    SetValue,
    StorageValue,
    TensorValue,
    Value,
)

STORAGE_CLASS: Final = {
    name: cls for cls, name in STORAGE_CLASS_DTYPE.items() if cls not in ("UntypedStorage", "TypedStorage")
}
"""torch's storage class by dtype, where it had one before untyped storages came (torch 2.0)."""

_TUPLES: Final = {1: b"\x85", 2: b"\x86", 3: b"\x87"}
_MAX_U32: Final = 0xFFFFFFFF


def write_pickle(root: Value) -> tuple[bytes, list[Record]]:
    """The pickle of a value, and the records that its storage keys count."""
    writer = _Writer()
    writer.emit(root)
    return writer.assembled(), writer.records


def int_opcodes(number: int) -> bytes:
    """The opcode of an int and its argument."""
    if 0 <= number <= 0xFF:
        return b"K" + number.to_bytes(1, "little")
    if 0 <= number <= 0xFFFF:
        return b"M" + number.to_bytes(2, "little")
    if -(1 << 31) <= number < 1 << 31:
        return b"J" + number.to_bytes(4, "little", signed=True)
    nbytes = (number if number >= 0 else ~number).bit_length() // 8 + 1
    raw = number.to_bytes(nbytes, "little", signed=True)
    if nbytes <= 0xFF:
        return b"\x8a" + nbytes.to_bytes(1, "little") + raw
    return b"\x8b" + nbytes.to_bytes(4, "little") + raw


class _Writer:
    """Collects opcodes. An int in `_out` is a place in the memo: n where a value may be put, ~n where it is got."""

    def __init__(self) -> None:
        self.records: list[Record] = []
        self._out: list[bytes | int] = []
        self._places: dict[object, int] = {}
        self._classes: dict[object, int] = {}  # number of each equal immutable value, by its parts' numbers
        self._class_of: dict[int, int] = {}  # the same by id, for values that live as long as the content
        self._keys: dict[int, str] = {}
        self._by_type: dict[type, Callable[[Value], None]] = {
            type(None): self._none,
            bool: self._bool,
            int: self._int,
            float: self._float,
            complex: self._complex,
            str: self._text,
            bytes: self._bytes,
            tuple: self._tuple,
            ListValue: self._list,
            DictValue: self._dict,
            SetValue: self._set,
            NameValue: self._name,
            CallValue: self._call,
            TensorValue: self._tensor,
            StorageValue: self._storage_value,
        }

    def emit(self, value: Value) -> None:
        self._by_type[type(value)](value)

    def assembled(self) -> bytes:
        """The whole pickle: unused places are left out, the others numbered as they stand."""
        used = {~item for item in self._out if isinstance(item, int) and item < 0}
        numbers: dict[int, int] = {}
        pieces = [b"\x80\x02"]
        append = pieces.append
        for item in self._out:
            if not isinstance(item, int):
                append(item)
            elif item < 0:
                append(_indexed(b"h", b"j", numbers[~item]))
            elif item in used:
                index = numbers[item] = len(numbers)
                append(_indexed(b"q", b"r", index))
        append(b".")
        return b"".join(pieces)

    def _recall(self, key: object) -> bool:
        """Get a value from the memo; False where it was not written yet."""
        place = self._places.get(key)
        if place is None:
            return False
        self._out.append(~place)
        return True

    def _put(self, key: object) -> None:
        place = self._places[key] = len(self._places)
        self._out.append(place)

    def _none(self, _value: Value) -> None:
        self._out.append(b"N")

    def _bool(self, value: Value) -> None:
        self._out.append(b"\x88" if value else b"\x89")

    def _int(self, value: Value) -> None:
        self._out.append(int_opcodes(value))

    def _float(self, value: Value) -> None:
        self._out.append(b"G" + struct.pack(">d", value))

    def _complex(self, value: Value) -> None:
        key = ("complex", struct.pack(">dd", value.real, value.imag))
        if not self._recall(key):
            self._global("builtins", "complex")
            self._float(value.real)
            self._float(value.imag)
            self._out.append(b"\x86R")
            self._put(key)

    def _text(self, value: Value) -> None:
        if self._recall(value):
            return
        raw = value.encode("utf-8", "surrogatepass")
        if len(raw) > _MAX_U32:
            raise LimitExceeded(f"a text of {len(raw):,} bytes is longer than a pickle of protocol 2 can hold")
        self._out.append(b"X" + len(raw).to_bytes(4, "little") + raw)
        self._put(value)

    def _bytes(self, value: Value) -> None:
        key = ("bytes", value)
        if not self._recall(key):
            self._global("_codecs", "encode")
            self._text(value.decode("latin-1"))
            self._text("latin1")
            self._out.append(b"\x86R")
            self._put(key)

    def _tuple(self, value: Value) -> None:
        if not value:
            self._out.append(b")")
            return
        key = self._class(value)
        if not self._recall(key):
            self._arguments(value)
            self._put(key)

    def _arguments(self, items: tuple[Value, ...]) -> None:
        """A tuple that is a part of a call, and so is written in full each time."""
        self._sequence(items, self.emit)

    def _sequence(self, items: tuple[Value, ...], emit: Callable[[Value], None]) -> None:
        if not items:
            self._out.append(b")")
            return
        if len(items) > 3:
            self._out.append(b"(")
        for item in items:
            emit(item)
        self._out.append(_TUPLES.get(len(items), b"t"))

    def _list(self, value: Value) -> None:
        if not self._recall(id(value)):
            self._out.append(b"]")
            self._put(id(value))
            self._items(value.items)

    def _items(self, items: Iterable[Value] | None) -> None:
        if items:
            self._out.append(b"(")
            for item in items:
                self.emit(item)
            self._out.append(b"e")

    def _dict(self, value: Value) -> None:
        if not self._recall(id(value)):
            self._out.append(b"}")
            self._put(id(value))
            self._pairs(value.pairs)

    def _pairs(self, pairs: Iterable[tuple[Value, Value]] | None) -> None:
        if pairs:
            self._out.append(b"(")
            for key, item in pairs:
                self.emit(key)
                self.emit(item)
            self._out.append(b"u")

    def _set(self, value: Value) -> None:
        key = self._class(value) if value.frozen else id(value)
        if not self._recall(key):
            self._global("builtins", "frozenset" if value.frozen else "set")
            self._out.append(b"]")
            self._items(value.members)
            self._out.append(b"\x85R")
            self._put(key)

    def _name(self, value: Value) -> None:
        self._global(value.module, value.name)

    def _global(self, module: str, name: str) -> None:
        key = ("name", module, name)
        if self._recall(key):
            return
        outer, _, last = name.rpartition(".")
        if outer:
            self._global("builtins", "getattr")
            self._global(module, outer)
            self._text(last)
            self._out.append(b"\x86R")
        else:
            self._out.append(b"c" + f"{module}\n{name}\n".encode())
        self._put(key)

    def _call(self, value: Value) -> None:
        key = self._class(value) if value.immutable else id(value)
        if self._recall(key):
            return
        if value.kwargs is not None:
            self._global("copyreg", "__newobj_ex__")
            self.emit(value.function)
            self._arguments(value.args)
            self.emit(value.kwargs)
            self._out.append(b"\x87R")
        else:
            self.emit(value.function)
            self._arguments(value.args)
            self._out.append(b"\x81" if value.is_new else b"R")
        self._put(key)
        self._items(value.items)
        self._pairs(value.pairs)
        for state in value.states:
            self.emit(state)
            self._out.append(b"b")

    def _class(self, value: Value) -> int:
        """A number that all equal immutable values share."""
        known = self._class_of.get(id(value))
        if known is None:
            parts = self._parts(value)
            known = self._class_of[id(value)] = self._classes.setdefault(parts, -1 - len(self._classes))
        return known

    def _parts(self, value: Value) -> tuple[object, ...]:
        if isinstance(value, tuple):
            return ("tuple", *map(self._part, value))
        if isinstance(value, SetValue):
            return ("frozenset", *map(self._part, value.members))
        states = tuple(map(self._part, value.states))
        return (
            "call",
            self._part(value.function),
            value.is_new,
            tuple(map(self._part, value.args)),
            None if value.kwargs is None else id(value.kwargs),
            tuple(map(self._part, value.items or ())),
            tuple((self._part(key), self._part(item)) for key, item in value.pairs or ()),
            states,
        )

    def _part(self, value: Value) -> object:
        kind = type(value)
        if kind is str:
            return value
        if kind is int or kind is bool or kind is bytes:
            return kind.__name__, value
        if kind is float:
            return "float", struct.pack(">d", value)
        if kind is complex:
            return "complex", struct.pack(">dd", value.real, value.imag)
        if value is None:
            return None
        if kind is NameValue:
            return "name", value.module, value.name
        if kind is tuple or (kind is SetValue and value.frozen) or (kind is CallValue and value.immutable):
            return "class", self._class(value)
        return "object", id(value)

    def _storage(self, record: Record) -> None:
        if self._recall(id(record)):
            return
        key = str(len(self.records))
        self.records.append(record)
        cls = STORAGE_CLASS.get(record.dtype.name)
        if cls is None or record.nbytes % record.dtype.itemsize:
            module, cls, numel = "torch.storage", "UntypedStorage", record.nbytes
        else:
            module, numel = "torch", record.nbytes // record.dtype.itemsize
        self._out.append(b"(")
        self._text("storage")
        self._global(module, cls)
        self._text(key)
        self._text("cpu")
        self._int(numel)
        self._out.append(b"tQ")
        self._put(id(record))

    def _storage_value(self, value: Value) -> None:
        self._storage(value.record)

    def _tensor(self, value: Value) -> None:
        if self._recall(id(value)):
            return
        if value.subclass is not None or (value.attributes is not None and not value.parameter):
            self._with_attributes(value)
        elif value.parameter:
            self._parameter(value)
        else:
            self._rebuild(value, value.requires_grad)
        self._put(id(value))

    def _with_attributes(self, value: TensorValue) -> None:
        self._global("torch._tensor", "_rebuild_from_type_v2")
        self._out.append(b"(")
        self._global("torch._utils", _function_of(value))
        if value.subclass is None:
            self._global("torch", "Tensor")
        else:
            self.emit(value.subclass)
        self._rebuild_arguments(value, value.requires_grad)
        self.emit(value.attributes)
        self._out.append(b"tR")

    def _parameter(self, value: TensorValue) -> None:
        with_state = value.attributes is not None
        self._global("torch._utils", "_rebuild_parameter_with_state" if with_state else "_rebuild_parameter")
        if with_state:
            self._out.append(b"(")
        self._rebuild(value, requires_grad=False)
        self._bool(value.requires_grad)
        self._hooks()
        if with_state:
            self.emit(value.attributes)
            self._out.append(b"tR")
        else:
            self._out.append(b"\x87R")

    def _rebuild(self, value: TensorValue, requires_grad: bool) -> None:
        self._global("torch._utils", _function_of(value))
        self._rebuild_arguments(value, requires_grad)
        self._out.append(b"R")

    def _rebuild_arguments(self, value: TensorValue, requires_grad: bool) -> None:
        out = self._out
        if value.layout == "meta":
            out.append(b"(")
            self._global("torch", value.dtype.name)
            self._shape_and_stride(value.shape, None)
            self._bool(requires_grad)
            out.append(b"t")
        elif value.layout == "nested":
            self._arguments(value.parts)
        elif value.layout != "strided":
            self.emit(value.parts[0])
            self._sequence((*value.parts[1:], value.shape), self.emit)
            out.append(b"\x86")
        else:
            record = value.record
            assert record is not None
            out.append(b"(")
            self._storage(record)
            self._int(0)
            self._shape_and_stride(record.shape, record.stride)
            if value.quantizer is not None:
                self._tuple(value.quantizer)
            self._bool(requires_grad)
            self._hooks()
            if value.quantizer is None and not has_storage_class(value.dtype):
                self._global("torch", value.dtype.name)
            out.append(b"t")

    def _shape_and_stride(self, shape: tuple[int, ...], stride: tuple[int, ...] | None) -> None:
        from viewer.checkpoint.tensors import contiguous_stride

        self._ints(shape)
        self._ints(contiguous_stride(shape) if stride is None else stride)

    def _ints(self, items: tuple[int, ...]) -> None:
        """A tuple of ints that may not live on."""
        if not items:
            self._out.append(b")")
            return
        parts = ("tuple", *(("int", item) for item in items))
        key = self._classes.setdefault(parts, -1 - len(self._classes))
        if not self._recall(key):
            self._sequence(items, self._int)
            self._put(key)

    def _hooks(self) -> None:
        self._global("collections", "OrderedDict")
        self._out.append(b")R")


def has_storage_class(dtype: DType) -> bool:
    """Whether `_rebuild_tensor_v2` can say the dtype by the class of the storage."""
    return dtype.name in STORAGE_CLASS


def _function_of(value: TensorValue) -> str:
    if value.layout == "meta":
        return "_rebuild_meta_tensor_no_storage"
    if value.layout == "nested":
        return "_rebuild_nested_tensor"
    if value.layout != "strided":
        return "_rebuild_sparse_tensor"
    if value.quantizer is not None:
        return "_rebuild_qtensor"
    return "_rebuild_tensor_v2" if has_storage_class(value.dtype) else "_rebuild_tensor_v3"


def _indexed(short: bytes, long: bytes, index: int) -> bytes:
    return short + index.to_bytes(1, "little") if index <= 0xFF else long + index.to_bytes(4, "little")
