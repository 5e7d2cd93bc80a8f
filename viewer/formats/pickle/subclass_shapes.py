"""Known shapes of torch that are tensors by name: nested ones, wrappers of other tensors, and subclasses.

Signatures follow torch/_utils.py, torch/_tensor.py, torch/nested/_internal/nested_tensor.py (`__reduce_ex__`) and
torch/distributed/tensor/_api.py of torch 2.13.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from viewer.checkpoint.tensors import TensorFlag
from viewer.formats.content import keeps_calls
from viewer.formats.pickle.standins import ObjectStandIn, ScalarStandIn, StandInType, TensorStandIn
from viewer.formats.pickle.tensor_shapes import (
    TENSOR_SHAPES,
    Builder,
    add_state,
    dtype_of,
    layout_name,
    without_storage,
)
from viewer.formats.pickle.views import GRAD, shape_text

if TYPE_CHECKING:
    from viewer.formats.pickle.session import PickleSession

_PARAMETER: Final = int(TensorFlag.PARAMETER)
_JAGGED_PARTS: Final = ("values", "offsets", "lengths")
_PLACEMENTS: Final = 8
"""Dimensions of a device mesh whose placements are spelled out."""


def _rebuild_nested_tensor(session: PickleSession) -> Builder:
    def build(buffer: object, sizes: object, strides: object, offsets: object) -> TensorStandIn:
        if type(buffer) is not TensorStandIn:
            raise TypeError("not a buffer")
        parts: dict[str, object] = {"values": buffer, "sizes": sizes, "strides": strides, "storage_offsets": offsets}
        extra: dict[str, object] = {key: part.number for key, part in parts.items() if type(part) is TensorStandIn}
        dtype = session.tensors.dtype[buffer.number]
        shape = session.tensors.shape[buffer.number]
        return without_storage(session, dtype, shape, layout="nested", extra=extra, parts=parts)

    return build


def _rebuild_jagged(session: PickleSession) -> Builder:
    def build(inner: object) -> TensorStandIn:
        """A nested tensor of the jagged layout, from a dict of its tensors and facts."""
        if type(inner) is not dict or type(inner.get("values")) is not TensorStandIn:
            raise TypeError("not the parts of a jagged tensor")
        parts: dict[str, object] = {key: inner[key] for key in _JAGGED_PARTS if inner.get(key) is not None}
        extra: dict[str, object] = {key: part.number for key, part in parts.items() if type(part) is TensorStandIn}
        ragged = inner.get("_ragged_idx")
        if type(ragged) is int:
            extra["ragged dimension"] = ragged
        number = inner["values"].number
        flags = GRAD if inner.get("requires_grad") is True else 0
        shape, dtype = session.tensors.shape[number], session.tensors.dtype[number]
        return without_storage(session, dtype, shape, layout="jagged", flags=flags, extra=extra, parts=parts)

    return build


def _rebuild_wrapper_subclass(session: PickleSession) -> Builder:
    def build(
        made: object,
        dtype: object,
        size: object,
        _stride: object,
        _offset: object,
        layout: object,
        device: object,
        requires_grad: object = False,
    ) -> TensorStandIn:
        code = dtype_of(dtype)
        if code is None or not isinstance(made, StandInType):
            raise TypeError("not a wrapper")
        extra: dict[str, object] = {"type": made.dotted}
        if isinstance(device, ScalarStandIn):
            extra["device"] = device.text
        flags = GRAD if requires_grad is True else 0
        name = layout_name(layout)
        return without_storage(
            session, code, size, layout=name if name != "strided" else "", flags=flags, extra=extra
        )

    return build


def _note_placements(session: PickleSession, tensor: TensorStandIn) -> None:
    """What a DTensor is a part of: the row has the shape of the whole, and the local tensor is below it."""
    parts = tensor.parts or {}
    local, spec = parts.get("_local_tensor"), parts.get("_spec")
    if type(local) is not TensorStandIn or not isinstance(spec, ObjectStandIn):
        return
    extra = session.tensors.extra.setdefault(tensor.number, {})
    extra["local shape"] = shape_text(session.tensors.shape[local.number]) or "scalar"
    state = spec.state[0] if spec.state else None
    placements = state.get("placements") if type(state) is dict else None
    if type(placements) is tuple and len(placements) <= _PLACEMENTS:
        extra["placements"] = ", ".join(map(_placement_text, placements))


def _placement_text(placement: object) -> str:
    """ "Shard(0)" of a stand-in for torch.distributed.tensor.placement_types.Shard."""
    if not isinstance(placement, ObjectStandIn):
        return "?"
    state = placement.state[0] if placement.state else placement.args[0] if placement.args else None
    if type(state) is dict:
        state = state.get("dim")
    return f"{placement.type_name.rpartition('.')[2][:40]}({state if type(state) is int else ''})"


_PLAIN_TYPES: Final = {"torch.Tensor", "torch._tensor.Tensor", "torch.tensor.Tensor"}
_PARAMETER_TYPES: Final = {"torch.nn.parameter.Parameter", "torch.nn.Parameter", "torch.nn.parameter.Buffer"}


def _rebuild_from_type(session: PickleSession) -> Builder:
    # A table of its own: that a rebuild calls a rebuild that calls a rebuild … would cost a level each time.
    inner: dict[str, Builder] = {}

    def build(function: object, made: object, args: object, state: object = None) -> object:
        if not isinstance(function, StandInType) or not isinstance(made, StandInType) or type(args) is not tuple:
            raise TypeError("not a rebuild of a tensor")
        if function.dotted not in inner:
            shape = TENSOR_SHAPES.get(function.dotted) or SUBCLASS_SHAPES.get(function.dotted)
            if shape is None or shape is _rebuild_from_type or keeps_calls(session.limits, function.dotted):
                raise TypeError("not a rebuild of a tensor")
            inner[function.dotted] = shape(session)
        if len(args) > 16:
            raise TypeError("too many arguments")
        tensor = inner[function.dotted](*args)
        if type(tensor) is not TensorStandIn:
            raise TypeError("not a tensor")
        if made.dotted in _PARAMETER_TYPES:
            session.tensors.flags[tensor.number] |= _PARAMETER
        elif made.dotted not in _PLAIN_TYPES:
            session.tensors.extra.setdefault(tensor.number, {})["type"] = made.dotted
        # The state of a jagged tensor is its parts once more, and caches of the compiler.
        if state and function.dotted != _JAGGED:
            add_state(tensor, state)
            _note_placements(session, tensor)
        return tensor

    return build


_JAGGED: Final = "torch.nested._internal.nested_tensor._rebuild_njt"

SUBCLASS_SHAPES: Final[dict[str, Callable[[PickleSession], Builder]]] = {
    "torch._utils._rebuild_nested_tensor": _rebuild_nested_tensor,
    "torch._utils._rebuild_wrapper_subclass": _rebuild_wrapper_subclass,
    "torch._tensor._rebuild_from_type": _rebuild_from_type,
    "torch._tensor._rebuild_from_type_v2": _rebuild_from_type,
    _JAGGED: _rebuild_jagged,
}
"""By dotted name (see `viewer.formats.pickle.known`)."""
