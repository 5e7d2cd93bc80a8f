"""Values as a pickle of protocol 2: one sequence of opcodes for one content (docs/canonical-format.md, section 3).

`torch.load(weights_only=True)` reads every opcode that is used for what state_dicts hold; see
`torch/_weights_only_unpickler.py`. Nothing is imported or called to write a name.
"""

from __future__ import annotations

from typing import Final, TypeAlias

from viewer.checkpoint.dtypes import STORAGE_CLASS_DTYPE, DType
from viewer.checkpoint.tensors import contiguous_stride
from viewer.export.pickle_ops import Opcodes
from viewer.export.values import Record, StorageValue, TensorValue, Value

STORAGE_CLASS: Final = {
    name: cls for cls, name in STORAGE_CLASS_DTYPE.items() if cls not in ("UntypedStorage", "TypedStorage")
}
"""torch's storage class by dtype, where it had one before untyped storages came (torch 2.0)."""

_Items: TypeAlias = "list[bytes | int]"


def write_pickle(root: Value) -> tuple[bytes, list[Record]]:
    """The pickle of a value, and the records that its storage keys count."""
    writer = _Writer()
    writer.emit(root)
    return writer.assembled(), writer.records


class _Writer(Opcodes):
    """The opcodes of tensors and storages."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[Record] = []
        self._alike: dict[tuple[object, ...], tuple[_Items, _Items, _Items]] = {}
        self.by_type[TensorValue] = self._tensor
        self.by_type[StorageValue] = self._storage_value

    def _storage(self, record: Record) -> None:
        if self.recall(id(record)):
            return
        key = str(len(self.records))
        self.records.append(record)
        cls = STORAGE_CLASS.get(record.dtype.name)
        if cls is None or record.nbytes % record.dtype.itemsize:
            module, cls, numel = "torch.storage", "UntypedStorage", record.nbytes
        else:
            module, numel = "torch", record.nbytes // record.dtype.itemsize
        self.out.append(b"(")
        self.text("storage")
        self.name(module, cls)
        self.text(key)
        self.text("cpu")
        self.integer(numel)
        self.out.append(b"tQ")
        self.put(id(record))

    def _storage_value(self, value: Value) -> None:
        self._storage(value.record)

    def _tensor(self, value: Value) -> None:
        if self.recall(id(value)):
            return
        if value.subclass is not None or (value.attributes is not None and not value.parameter):
            self._with_attributes(value)
        elif value.parameter:
            self._parameter(value)
        else:
            self._rebuild(value, value.requires_grad)
        self.put(id(value))

    def _with_attributes(self, value: TensorValue) -> None:
        self.name("torch._tensor", "_rebuild_from_type_v2")
        self.out.append(b"(")
        self.name("torch._utils", _function_of(value))
        if value.subclass is None:
            self.name("torch", "Tensor")
        else:
            self.emit(value.subclass)
        self._rebuild_arguments(value, value.requires_grad)
        self.emit(value.attributes)
        self.out.append(b"tR")

    def _parameter(self, value: TensorValue) -> None:
        with_state = value.attributes is not None
        self.name("torch._utils", "_rebuild_parameter_with_state" if with_state else "_rebuild_parameter")
        if with_state:
            self.out.append(b"(")
        self._rebuild(value, requires_grad=False)
        self.boolean(value.requires_grad)
        self._hooks()
        if with_state:
            self.emit(value.attributes)
            self.out.append(b"tR")
        else:
            self.out.append(b"\x87R")

    def _rebuild(self, value: TensorValue, requires_grad: bool) -> None:
        record = value.record
        is_usual = record is not None and value.quantizer is None and has_storage_class(value.dtype)
        if record is None or not is_usual or id(record) in self.places:
            self.name("torch._utils", _function_of(value))
            self._rebuild_arguments(value, requires_grad)
            self.out.append(b"R")
            return
        alike = value.dtype.name, record.shape, record.stride, record.nbytes, requires_grad
        known = self._alike.get(alike)
        if known is not None:
            self._again(record, *known)
            return
        start = len(self.out)
        self.name("torch._utils", _function_of(value))
        self._rebuild_arguments(value, requires_grad)
        self.out.append(b"R")
        self._remember(alike, record, start)

    def _again(self, record: Record, head: _Items, middle: _Items, tail: _Items) -> None:
        """The opcodes of a tensor that differs from an earlier one by its storage key alone."""
        out = self.out
        out += head
        self.text(str(len(self.records)))
        self.records.append(record)
        out += middle
        self.put(id(record))
        out += tail

    def _remember(self, alike: tuple[object, ...], record: Record, start: int) -> None:
        """Keep the opcodes of a tensor for the next one that is alike, where that gets all parts from the memo."""
        written = self.out[start:]
        key = self.places[str(len(self.records) - 1)]
        storage = self.places[id(record)]
        items: _Items = []
        places = []
        for item in written:
            if isinstance(item, int) and item in (key, ~key, storage):
                places.append(len(items))
                items.append(item)
            elif isinstance(item, int) and item >= 0:
                # A part was put here for the first time: what was written just before it is got next time.
                return
            else:
                items.append(item)
        if len(places) == 2:
            first, second = places
            begin = first - (1 if items[first] == key else 0)
            self._alike[alike] = items[:begin], items[first + 1 : second], items[second + 1 :]

    def _rebuild_arguments(self, value: TensorValue, requires_grad: bool) -> None:
        out = self.out
        if value.layout == "meta":
            out.append(b"(")
            self.name("torch", value.dtype.name)
            self._shape_and_stride(value.shape, None)
            self.boolean(requires_grad)
            out.append(b"t")
        elif value.layout == "nested":
            self.arguments(value.parts)
        elif value.layout != "strided":
            self.emit(value.parts[0])
            self.sequence((*value.parts[1:], value.shape), self.emit)
            out.append(b"\x86")
        else:
            record = value.record
            assert record is not None
            out.append(b"(")
            self._storage(record)
            self.integer(0)
            self._shape_and_stride(record.shape, record.stride)
            if value.quantizer is not None:
                self.tuple_value(value.quantizer)
            self.boolean(requires_grad)
            self._hooks()
            if value.quantizer is None and not has_storage_class(value.dtype):
                self.name("torch", value.dtype.name)
            out.append(b"t")

    def _shape_and_stride(self, shape: tuple[int, ...], stride: tuple[int, ...] | None) -> None:
        self._ints(shape)
        self._ints(contiguous_stride(shape) if stride is None else stride)

    def _ints(self, items: tuple[int, ...]) -> None:
        """A tuple of ints that may not live on."""
        if not items:
            self.out.append(b")")
            return
        parts = ("tuple", *(("int", item) for item in items))
        key = self.classes.setdefault(parts, -1 - len(self.classes))
        if not self.recall(key):
            self.sequence(items, self.integer)
            self.put(key)

    def _hooks(self) -> None:
        self.name("collections", "OrderedDict")
        self.out.append(b")R")


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
