"""Tensors and storages of a checkpoint as values: which record each needs, and which of them are the same."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.dtypes import DTYPES, DType, dtype_named
from viewer.checkpoint.tensors import TensorFlag, TensorRef, contiguous_stride, numel_of, span_of, storage_at
from viewer.errors import BadPath
from viewer.export.findings import Findings
from viewer.export.options import CASTS, ExportOptions
from viewer.export.values import (
    CallValue,
    DictValue,
    NameValue,
    Record,
    StorageValue,
    TensorValue,
    Value,
    packed_nbytes,
)
from viewer.formats.pickle.standins import StorageStandIn, TensorStandIn

if TYPE_CHECKING:
    from viewer.export.reading import ContentReader

_LAZY: Final = int(TensorFlag.CONJ | TensorFlag.NEG)
_GRAD: Final = int(TensorFlag.REQUIRES_GRAD)
_PARAMETER: Final = int(TensorFlag.PARAMETER)
_SPARSE_PARTS: Final = {
    "sparse_coo": ("indices", "values"),
    "sparse_csr": ("crow_indices", "col_indices", "values"),
    "sparse_bsr": ("crow_indices", "col_indices", "values"),
    "sparse_csc": ("ccol_indices", "row_indices", "values"),
    "sparse_bsc": ("ccol_indices", "row_indices", "values"),
    "nested": ("values", "sizes", "strides", "storage_offsets"),
}
_NAMED: Final = 3


class TensorReader:
    """Makes the values of tensors."""

    def __init__(
        self,
        checkpoint: Checkpoint,
        options: ExportOptions,
        findings: Findings,
        read: Callable[[object], Value],
    ) -> None:
        self._checkpoint = checkpoint
        self._options = options
        self._findings = findings
        self._read = read
        self._records: dict[object, Record] = {}
        self._same: dict[object, TensorValue] = {}
        self._by_storage: defaultdict[int, list[Record]] = defaultdict(list)
        self._packed: list[str] = []
        self._resolved: list[str] = []
        self._devices: set[str] = set()
        self._larger = 0
        self._cast = cast_target(options.cast)
        self._keeps_strides = options.keep_strides and options.flavour == "pth"  # safetensors has none

    def tensor(self, reader: ContentReader, item: TensorStandIn) -> Value:
        """The value of a tensor."""
        ref = self._checkpoint.tensor(item.number)
        subclass = str(ref.extra["type"]) if "type" in ref.extra and "numpy" not in ref.extra else ""
        if ref.problem is not None:
            return reader.cannot(f"a tensor that cannot be read: {ref.problem}")
        if subclass and self._options.objects != "keep":
            what = f"a tensor of the class {subclass}"
            if self._options.objects != "plain":
                return reader.cannot(what)
            self._findings.add("changed", f"{what} becomes a plain one")
            subclass = ""
        made = self._made(reader, item, ref)
        if not isinstance(made, TensorValue):
            return made
        if subclass:
            self._findings.add("needs-trust", f"a tensor of the class {subclass}")
            made.subclass = NameValue(*subclass.rpartition(".")[::2])
        return self._once(item, made)

    def _once(self, item: TensorStandIn, made: TensorValue) -> TensorValue:
        """The same value for what is the same tensor."""
        if made.record is None or made.attributes is not None or made.subclass is not None or made.quantizer:
            key: object = ("number", item.number)
        else:
            key = (id(made.record), made.parameter, made.requires_grad)
        return self._same.setdefault(key, made)

    def _made(self, reader: ContentReader, item: TensorStandIn, ref: TensorRef) -> Value:
        known = self._same.get(("number", item.number))
        if known is not None:
            return known
        parts = item.parts or {}
        flags = self._checkpoint.tensors.flags[ref.number]
        grad, parameter = bool(flags & _GRAD), bool(flags & _PARAMETER)
        if ref.layout in _SPARSE_PARTS:
            return self._of_parts(reader, ref, parts)
        if ref.storage is None:
            if ref.extra.get("device") != "meta":
                return reader.cannot(f"a tensor without values (layout {ref.layout or 'unknown'}, {ref.device})")
            self._findings.add("note", "a tensor of device meta, which has no elements", once=True)
            return TensorValue(ref.dtype, ref.shape, None, grad, parameter, layout="meta")
        made = TensorValue(ref.dtype, ref.shape, None, grad, parameter)
        if "qscheme" in ref.extra:
            quantizer = self._quantizer(ref, parts)
            if quantizer is None:
                return reader.cannot("a quantized tensor whose parameters cannot be read")
            made.quantizer = quantizer
            parts = {name: part for name, part in parts.items() if name not in ("scales", "zero_points")}
        made.record = self._record(ref)
        made.dtype = made.record.dtype
        if parts:
            self._same[("number", item.number)] = made
            made.attributes = DictValue(reader.pairs(parts.items()))
        return made

    def _of_parts(self, reader: ContentReader, ref: TensorRef, parts: dict[str, object]) -> Value:
        names = _SPARSE_PARTS[ref.layout]
        values = []
        for name in names:
            with reader.under(name):
                values.append(self._read(parts.get(name)))
        if not all(isinstance(value, TensorValue) for value in values[:-1]):
            return reader.cannot(f"a {ref.layout} tensor without all its parts")
        layout: tuple[Value, ...] = ()
        if ref.layout != "nested":
            made_by = NameValue("torch.serialization", "_get_layout")
            layout = (CallValue(made_by, (f"torch.{ref.layout}",), immutable=True),)
        if ref.extra.get("is_coalesced") is True:
            self._findings.add("note", "is_coalesced is not written; coalesce() sets it again", once=True)
        dtype = values[0].dtype if ref.layout == "nested" else getattr(values[-1], "dtype", ref.dtype)
        return TensorValue(
            dtype, ref.shape, None, ref.requires_grad, ref.is_parameter, ref.layout, (*layout, *values)
        )

    def _quantizer(self, ref: TensorRef, parts: dict[str, object]) -> tuple[Value, ...] | None:
        extra = ref.extra
        scheme = NameValue("torch", str(extra["qscheme"]))
        if "scale" in extra:
            return (scheme, extra["scale"], extra["zero_point"])
        if "axis" in extra and "scales" in parts and "zero_points" in parts:
            return (scheme, self._read(parts["scales"]), self._read(parts["zero_points"]), extra["axis"])
        return None

    def _record(self, ref: TensorRef) -> Record:
        assert ref.storage is not None
        dtype = ref.dtype
        if self._cast is not None and dtype.kind == "float":
            dtype = self._cast
        shape, storage = ref.shape, ref.storage
        written = contiguous_stride(shape)
        lies = ref.stride == written
        stride = written if lies else _meant(shape, ref.stride)
        lazy = self._checkpoint.tensors.flags[ref.number] & _LAZY
        key = (storage.number, ref.storage_offset, shape, stride, ref.dtype.name, lazy)
        record = self._records.get(key)
        if record is not None:
            return record
        if not lies and not ref.is_contiguous:
            kept = kept_stride(shape, ref.stride) if self._keeps_strides else None
            if kept is None:
                self._packed.append(self._findings.path)
            else:
                written, lies = kept, True
        else:
            lies = True
        needed = packed_nbytes(ref.dtype, numel_of(shape))
        nbytes = needed if dtype is ref.dtype else packed_nbytes(dtype, numel_of(shape))
        lies = lies and not lazy and dtype is ref.dtype
        record = self._records[key] = Record(
            dtype, shape, written, nbytes, tuple(self._findings.keys), ref, lies_as_written=lies
        )
        self._by_storage[storage.number].append(record)
        if lazy:
            self._resolved.append(self._findings.path)
        if storage.location != "cpu":
            self._devices.add(storage.location)
        if needed < storage.nbytes:
            self._larger += 1
        return record

    def storage(self, item: StorageStandIn) -> Value:
        """The value of a storage that stands by itself."""
        ref = storage_at(self._checkpoint.storages, item.number)
        key = ("storage", item.number, item.dtype)
        record = self._records.get(key)
        if record is None:
            dtype = DTYPES[item.dtype]
            numel = ref.nbytes // dtype.itemsize
            record = self._records[key] = Record(
                dtype, (numel,), (1,), ref.nbytes, tuple(self._findings.keys), storage=ref
            )
            self._by_storage[item.number].append(record)
            if ref.problem is not None:
                self._findings.add("cannot", f"a storage that cannot be read: {ref.problem}")
        return StorageValue(record)

    def note_all(self) -> None:
        """Say what was changed for many tensors, in a sentence each."""
        whole = self._findings.add_whole
        if self._devices:
            whole("changed", f"device tags become cpu: {', '.join(sorted(self._devices)[:8])}")
        if self._packed:
            whole("changed", f"packed into rows (strides are not kept): {_listed(self._packed)}")
        if self._resolved:
            whole("changed", f"lazy conjugate or negative bit resolved: {_listed(self._resolved)}")
        apart: list[list[str]] = []
        overlapping: list[list[str]] = []
        for records in self._by_storage.values():
            if len(records) > 1:
                paths = [record.path for record in records]
                (overlapping if _overlap(records) else apart).append(paths)
        for paths in overlapping[:20]:
            whole(
                "separated",
                f"different views of one storage that overlap get storages of their own: {_listed(paths)}",
            )
        if len(overlapping) > 20:
            whole("separated", f"so do those of {len(overlapping) - 20:,} further storages")
        if apart:
            names = [paths[0] for paths in apart]
            whole(
                "separated", f"views of one storage that do not overlap get storages of their own: {_listed(names)}"
            )
        if self._larger:
            whole("note", f"tensors that need less than the storages that the file keeps for them: {self._larger:,}")


def cast_target(name: str) -> DType | None:
    """The dtype to cast to; None for "".

    Raises
    ------
    BadPath
        Where it is none of `CASTS`.
    """
    if not name:
        return None
    if name not in CASTS:
        raise BadPath(f"cannot cast to {name!r}", advice=f"Choose one of {', '.join(CASTS)}")
    return dtype_named(name)


def _meant(shape: tuple[int, ...], stride: tuple[int, ...]) -> tuple[int, ...]:
    """The stride as a contiguous tensor has it where extents of 1 leave it without meaning."""
    return tuple(
        step if extent > 1 else usual
        for extent, step, usual in zip(shape, stride, contiguous_stride(shape), strict=True)
    )


def kept_stride(shape: tuple[int, ...], stride: tuple[int, ...]) -> tuple[int, ...] | None:
    """The stride to write where strides are kept; None where the view is not dense or shows elements twice.

    Extents of 1 have the stride of a contiguous tensor, since theirs means nothing.
    """
    if 0 in shape:
        return None
    dims = sorted((step, extent) for extent, step in zip(shape, stride, strict=True) if extent > 1)
    expected = 1
    for step, extent in dims:
        if step != expected:
            return None
        expected *= extent
    return _meant(shape, stride)


def _overlap(records: list[Record]) -> bool:
    spans = []
    for record in records:
        if record.storage is not None:
            spans.append((0, record.storage.nbytes))
        elif record.tensor is not None and record.nbytes:
            start = record.tensor.storage_offset * record.tensor.dtype.itemsize
            spans.append(
                (start, start + span_of(record.tensor.shape, record.tensor.stride) * record.tensor.dtype.itemsize)
            )
    spans.sort()
    return any(before[1] > after[0] for before, after in pairwise(spans))


def _listed(paths: list[str]) -> str:
    shown = ", ".join(path or "the root" for path in paths[:_NAMED])
    return shown if len(paths) <= _NAMED else f"{shown} … ({len(paths):,})"
