"""Known shapes of torch: everything that rebuilds a tensor. Each becomes a row of the session's TensorTable.

Signatures follow torch/_utils.py and torch/_tensor.py of torch 2.13; older files give fewer arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from viewer.checkpoint.dtypes import DTYPE_CODE, DTYPES
from viewer.checkpoint.tensors import NO_STORAGE, TensorFlag, numel_of
from viewer.formats.pickle.names import constant_of
from viewer.formats.pickle.numpy_shapes import ArrayRecord
from viewer.formats.pickle.standins import (
    Problem,
    ScalarStandIn,
    StorageStandIn,
    TensorStandIn,
)
from viewer.formats.pickle.views import GRAD, LARGEST, NO_SHAPE, dims_of, placer

if TYPE_CHECKING:
    from viewer.formats.pickle.session import PickleSession

Builder = Callable[..., object]

_PARAMETER: Final = int(TensorFlag.PARAMETER)
_FEW: Final = 16
"""Attributes of a tensor that are put beside others; a dict of more is a child of its own."""


def dtype_of(item: object) -> int | None:
    """The code of a torch dtype's stand-in."""
    constant = constant_of(item)
    return DTYPE_CODE.get(constant[1].removeprefix("torch.")) if constant else None


def _storage_of(item: object) -> StorageStandIn:
    if type(item) is not StorageStandIn:
        raise TypeError("not a storage")
    return item


def _add_flags(session: PickleSession, number: int, metadata: object) -> None:
    if type(metadata) is dict:
        for name, flag in (("conj", TensorFlag.CONJ), ("neg", TensorFlag.NEG)):
            if metadata.get(name) is True:
                session.tensors.flags[number] |= flag


def _rebuild_tensor(session: PickleSession) -> Builder:
    place = placer(session)

    def build(storage: object, offset: object, size: object, stride: object) -> TensorStandIn:
        kept = _storage_of(storage)
        return place(kept, offset, size, stride, False, kept.dtype)

    return build


def _rebuild_tensor_v2(session: PickleSession) -> Builder:
    place = placer(session)

    def build(
        storage: object,
        offset: object,
        size: object,
        stride: object,
        requires_grad: object = False,
        _hooks: object = None,
        metadata: object = None,
    ) -> TensorStandIn:
        if type(storage) is not StorageStandIn:
            raise TypeError("not a storage")
        made = place(storage, offset, size, stride, requires_grad, storage.dtype)
        if metadata is not None:
            _add_flags(session, made.number, metadata)
        return made

    return build


def _rebuild_tensor_v3(session: PickleSession) -> Builder:
    place = placer(session)

    def build(
        storage: object,
        offset: object,
        size: object,
        stride: object,
        requires_grad: object,
        _hooks: object,
        dtype: object,
        metadata: object = None,
    ) -> TensorStandIn:
        code = dtype_of(dtype)
        if code is None:
            raise TypeError("not a dtype")
        made = place(_storage_of(storage), offset, size, stride, requires_grad, code)
        _add_flags(session, made.number, metadata)
        return made

    return build


def _rebuild_parameter(session: PickleSession) -> Builder:
    def build(data: object, requires_grad: object = True, _hooks: object = None, state: object = None) -> object:
        if isinstance(data, ArrayRecord) or type(data) is not TensorStandIn:
            raise TypeError("not a tensor")
        flags = session.tensors.flags
        flags[data.number] |= _PARAMETER
        if requires_grad is True:
            flags[data.number] |= GRAD
        if state:
            add_state(data, state)
        return data

    return build


def add_state(tensor: TensorStandIn, state: object) -> None:
    """Attributes of a tensor: a dict, or a dict and a dict of slots (torch/_utils.py:_set_obj_state)."""
    for attributes in state if type(state) is tuple and len(state) == 2 else (state,):
        if not attributes:
            continue
        if type(attributes) is not dict or not all(type(name) is str for name in list(attributes)[:_FEW]):
            tensor.__setstate__(attributes)
        elif tensor.parts is None:
            tensor.parts = attributes
        elif max(len(attributes), len(tensor.parts)) <= _FEW and not attributes.keys() & tensor.parts.keys():
            # A new dict: the old one is the pickle's, and may be the state of other tensors, too.
            tensor.parts = {**tensor.parts, **attributes}
        else:
            tensor.__setstate__(attributes)


def _rebuild_qtensor(session: PickleSession) -> Builder:
    place = placer(session)

    def build(
        storage: object,
        offset: object,
        size: object,
        stride: object,
        params: object,
        requires_grad: object = False,
        _hooks: object = None,
    ) -> TensorStandIn:
        kept = _storage_of(storage)
        if type(params) is not tuple or not 1 <= len(params) <= 8:
            raise TypeError("not quantizer parameters")
        scheme = constant_of(params[0])
        made = place(kept, offset, size, stride, requires_grad, kept.dtype)
        extra: dict[str, object] = {"qscheme": scheme[1].removeprefix("torch.") if scheme else "unknown"}
        if len(params) == 3 and type(params[1]) in {float, int} and type(params[2]) is int:
            extra["scale"], extra["zero_point"] = params[1], params[2]
        elif len(params) == 4:
            parts = made.parts = made.parts or {}
            for name, part in (("scales", params[1]), ("zero_points", params[2])):
                parts[name] = part
                if type(part) is TensorStandIn:
                    extra[name] = part.number
            if type(params[3]) is int and abs(params[3]) <= session.limits.tensor_dims:
                extra["axis"] = params[3]
        session.tensors.extra[made.number] = extra
        return made

    return build


def without_storage(
    session: PickleSession,
    dtype: int,
    size: object,
    *,
    layout: str = "",
    flags: int = 0,
    extra: dict[str, object] | None = None,
    parts: dict[str, object] | None = None,
) -> TensorStandIn:
    """A row for a tensor that has no storage of its own."""
    shape = dims_of(size, session.limits.tensor_dims)
    sound = shape is not None and all(extent >= 0 for extent in shape) and numel_of(shape) <= LARGEST
    number = session.add_tensor(dtype, shape if sound and shape is not None else NO_SHAPE, (), NO_STORAGE, 0, flags)
    if not sound:
        session.tensors.problem[number] = "its shape cannot be"
    if layout:
        session.tensors.layout[number] = layout
    if extra:
        session.tensors.extra[number] = extra
    return TensorStandIn(number, parts)


_SPARSE_PARTS: Final = {
    "sparse_csr": ("crow_indices", "col_indices"),
    "sparse_bsr": ("crow_indices", "col_indices"),
    "sparse_csc": ("ccol_indices", "row_indices"),
    "sparse_bsc": ("ccol_indices", "row_indices"),
}


def layout_name(item: object) -> str:
    """ "sparse_coo" of the stand-in of `torch.sparse_coo`; "" for what is no layout."""
    constant = constant_of(item)
    text = constant[1] if constant else item.text if isinstance(item, ScalarStandIn) else ""
    return text.removeprefix("torch.").removeprefix("_")[:40]


def _rebuild_sparse_tensor(session: PickleSession) -> Builder:
    def build(layout: object, data: object) -> TensorStandIn:
        name = layout_name(layout)
        if type(data) is not tuple:
            raise TypeError("not the parts of a sparse tensor")
        parts: dict[str, object]
        if name == "sparse_coo" and 3 <= len(data) <= 4:
            parts = {"indices": data[0], "values": data[1]}
            size = data[2]
        elif name in _SPARSE_PARTS and len(data) == 4:
            compressed, plain = _SPARSE_PARTS[name]
            parts = {compressed: data[0], plain: data[1], "values": data[2]}
            size = data[3]
        else:
            raise TypeError("an unknown layout")
        extra: dict[str, object] = {key: part.number for key, part in parts.items() if type(part) is TensorStandIn}
        if name == "sparse_coo" and len(data) == 4 and type(data[3]) is bool:
            extra["is_coalesced"] = data[3]
        values = parts["values"]
        dtype = session.tensors.dtype[values.number] if type(values) is TensorStandIn else DTYPE_CODE["float32"]
        return without_storage(session, dtype, size, layout=name, extra=extra, parts=parts)

    return build


def _rebuild_meta_tensor(session: PickleSession) -> Builder:
    def build(dtype: object, size: object, _stride: object, requires_grad: object = False) -> TensorStandIn:
        code = dtype_of(dtype)
        if code is None:
            raise TypeError("not a dtype")
        flags = GRAD if requires_grad is True else 0
        return without_storage(session, code, size, flags=flags, extra={"device": "meta"})

    return build


def _rebuild_on_device(session: PickleSession) -> Builder:
    def build(data: object, dtype: object, device: object, requires_grad: object = False) -> object:
        """A tensor of a device without storages, saved through numpy or the CPU: the values are those of `data`."""
        number = data.number if isinstance(data, (ArrayRecord, TensorStandIn)) else None
        if number is None:
            raise TypeError("not values")
        if requires_grad is True:
            session.tensors.flags[number] |= GRAD
        extra = session.tensors.extra.setdefault(number, {})
        if type(device) is str and len(device) <= 100:
            extra["device"] = device
        code = dtype_of(dtype)
        if code is not None and code != session.tensors.dtype[number]:
            extra["dtype on device"] = DTYPES[code].name
        return TensorStandIn(number)

    return build


def _parameter(session: PickleSession) -> Builder:
    rebuild = _rebuild_parameter(session)

    def build(data: object, requires_grad: object = True) -> object:
        return rebuild(data, requires_grad)

    return build


def _load_from_bytes(session: PickleSession) -> Builder:
    def build(data: object) -> object:
        """A storage pickled by plain pickle: `torch.save` of it, as bytes (torch/storage.py)."""
        loader = session.nested_loader
        if loader is None or type(data) is not bytes:
            raise TypeError("nothing reads it")
        raw: bytes = data

        def load() -> object:
            made = loader(raw)
            return Problem("a storage kept in a byte string is empty") if made is None else made

        return session.once("nested", data, load)

    return build


TENSOR_SHAPES: Final[dict[str, Callable[[PickleSession], Builder]]] = {
    "torch._utils._rebuild_tensor": _rebuild_tensor,
    "torch._utils._rebuild_tensor_v2": _rebuild_tensor_v2,
    "torch._utils._rebuild_tensor_v3": _rebuild_tensor_v3,
    "torch._utils._rebuild_parameter": _rebuild_parameter,
    "torch._utils._rebuild_parameter_with_state": _rebuild_parameter,
    "torch._utils._rebuild_qtensor": _rebuild_qtensor,
    "torch._utils._rebuild_sparse_tensor": _rebuild_sparse_tensor,
    "torch._utils._rebuild_sparse_csr_tensor": _rebuild_sparse_tensor,
    "torch._utils._rebuild_meta_tensor_no_storage": _rebuild_meta_tensor,
    "torch._utils._rebuild_device_tensor_from_numpy": _rebuild_on_device,
    "torch._utils._rebuild_device_tensor_from_cpu_tensor": _rebuild_on_device,
    "torch._utils._rebuild_xla_tensor": _rebuild_on_device,
    "torch.nn.parameter.Parameter": _parameter,
    "torch.storage._load_from_bytes": _load_from_bytes,
}
"""By dotted name (see `viewer.formats.pickle.known`)."""
