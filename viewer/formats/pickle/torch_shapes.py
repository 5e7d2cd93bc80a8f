"""Known shapes of torch that are not tensors: sizes, devices, layouts, quantization schemes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from viewer.formats.pickle.names import CONSTANTS
from viewer.formats.pickle.standins import ScalarStandIn, SequenceStandIn

if TYPE_CHECKING:
    from viewer.formats.pickle.session import PickleSession


def _size(given: object = ()) -> object:
    return SequenceStandIn("torch.Size", given)


def _device(kind: object, index: object = None) -> ScalarStandIn:
    if type(kind) is not str or len(kind) > 40:
        raise TypeError("not a device")
    if index is not None and (type(index) is not int or not 0 <= index < 1 << 31):
        raise TypeError("not the number of a device")
    return ScalarStandIn("torch.device", kind if index is None else f"{kind}:{index}")


def _layout(name: object) -> ScalarStandIn:
    """torch/serialization.py:_get_layout, by which layouts are pickled."""
    if type(name) is not str or len(name) > 40:
        raise TypeError("not a layout")
    return ScalarStandIn("torch.layout", CONSTANTS.get(name, ("", name))[1])


def _typed_container(given: object, _type: object = None) -> object:
    """TorchScript's lists and dicts of one type (torch/jit/_pickle.py): the container itself."""
    if type(given) not in (list, dict):
        raise TypeError("not a list or dict")
    return given


def _always(build: Callable[..., object]) -> Callable[[PickleSession], Callable[..., object]]:
    return lambda _session: build


TORCH_SHAPES: Final[dict[str, Callable[[PickleSession], Callable[..., object]]]] = {
    "torch.Size": _always(_size),
    "torch.device": _always(_device),
    "torch.serialization._get_layout": _always(_layout),
    "torch.jit._pickle.build_intlist": _always(_typed_container),
    "torch.jit._pickle.build_doublelist": _always(_typed_container),
    "torch.jit._pickle.build_boollist": _always(_typed_container),
    "torch.jit._pickle.build_tensorlist": _always(_typed_container),
    "torch.jit._pickle.restore_type_tag": _always(_typed_container),
}
"""By dotted name (see `viewer.formats.pickle.known`)."""
