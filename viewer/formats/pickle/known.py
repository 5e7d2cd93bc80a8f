"""The table of harmless known shapes, and the stand-in classes for all names, known or not.

A known name is no more imported or called than any other: its stand-in is a class of ours whose `__new__` knows what
the arguments mean. The known shapes are

* the standard library's containers, dates, numbers, paths and namespaces (`plain_shapes`),
* numpy's scalars, dtypes and arrays (`numpy_shapes`),
* torch's tensors, parameters, storages, sizes, devices and dtypes (`torch_shapes`, `tensor_shapes`,
  `subclass_shapes`).

`HARMLESS` lists those that only build plain data or tensors wherever they are really called. Some that are rebuilt
here are not in it, since a program that really called them could be led anywhere: `builtins.getattr`,
`functools.partial`, `numpy.ma.core._mareconstruct` (an instance of any class), `torch.storage._load_from_bytes` (a
pickle of its own).
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from viewer.formats.content import ContentLimits, keeps_calls
from viewer.formats.pickle.faults import excess
from viewer.formats.pickle.names import CONSTANTS, STORAGE_CLASSES, plain_name
from viewer.formats.pickle.numpy_shapes import NUMPY_SHAPES
from viewer.formats.pickle.plain_shapes import PLAIN_SHAPES
from viewer.formats.pickle.standins import CallingType, ObjectStandIn, OrderedDictStandIn, StandInType
from viewer.formats.pickle.subclass_shapes import SUBCLASS_SHAPES
from viewer.formats.pickle.tensor_shapes import TENSOR_SHAPES
from viewer.formats.pickle.torch_shapes import TORCH_SHAPES
from viewer.formats.pickle.views import quick_rebuild

if TYPE_CHECKING:
    from viewer.formats.pickle.session import PickleSession

Builder: TypeAlias = Callable[..., object]
"""Makes a record or plain value of the arguments of a call, in constant time; raises one of `MISFITS` when they are
not what it knows, and the call is then recorded as that of an unknown class."""

MISFITS: Final = (TypeError, ValueError, OverflowError, LookupError, AttributeError, RecursionError, struct.error)

SHAPES: Final[dict[str, Callable[[PickleSession], Builder]]] = {
    **PLAIN_SHAPES,
    **NUMPY_SHAPES,
    **TORCH_SHAPES,
    **TENSOR_SHAPES,
    **SUBCLASS_SHAPES,
}
"""By dotted name, with the module names of Python 3 and numpy 2: what makes the builder of a session."""

HARMLESS: Final = (
    SHAPES.keys()
    | CONSTANTS.keys()
    | STORAGE_CLASSES
    | {
        "argparse.Namespace",
        "builtins.bool",
        "builtins.bytes",
        "builtins.dict",
        "builtins.float",
        "builtins.int",
        "builtins.list",
        "builtins.object",
        "builtins.str",
        "builtins.tuple",
        "numpy.ndarray",
        "types.SimpleNamespace",
    }
) - {"builtins.getattr", "functools.partial", "numpy.ma.core._mareconstruct", "torch.storage._load_from_bytes"}


def is_harmless(module: str, name: str) -> bool:
    """Whether a global is in the documented table of names that only build plain data or tensors."""
    return plain_name(module, name) in HARMLESS


def class_finder(session: PickleSession) -> Callable[[str, str], StandInType]:
    """The function that gives the stand-in class for a name, and counts how often each is asked for."""
    counts = session.global_counts
    classes: dict[tuple[str, str], StandInType] = {}

    def find(module: str, name: str) -> StandInType:
        key = (module, name)
        made = classes.get(key)
        if made is None:
            made = classes[key] = _make_class(session, module, name)
        counts[key] += 1
        return made

    return find


def _make_class(session: PickleSession, module: str, name: str) -> StandInType:
    limits = session.limits
    if len(module) + len(name) > limits.pickle_name_nchars:
        raise excess("a pickle", f"a class whose name has {len(module) + len(name):,} characters")
    if len(session.global_counts) >= limits.pickle_globals:
        raise excess("a pickle", f"more than {limits.pickle_globals:,} classes")
    plain = plain_name(module, name)
    shape = SHAPES.get(plain)
    if keeps_calls(limits, plain):
        shape = None
    make = _unknown() if shape is None else _known(shape(session))
    if shape is not None and plain == "collections.OrderedDict":
        make = _quick_ordered_dict(make)
    made_by: type[StandInType] = StandInType
    if isinstance(limits, ContentLimits):
        made_by = CallingType
    elif plain == "torch._utils._rebuild_tensor_v2":
        # Found on the type of the class, `__call__` is reached without the detour over `type.__call__`.
        made_by = type("QuickType", (StandInType,), {"__call__": quick_rebuild(session)})
    made = made_by("StandIn", (), {"__slots__": (), "__new__": make, "dotted": f"{module}.{name}"})
    session.classes.append(made)
    return made


def retire_classes(session: PickleSession, first: int) -> None:
    """Make the classes of a pickle that has been read, from the `first` of the session's on, forget the session.

    A class is part of a cycle always, which would keep the columns of a closed file until the collector comes by.
    """
    for made in session.classes[first:]:
        type.__setattr__(made, "__new__", _RETIRED)
        if type(made) not in (StandInType, CallingType):
            delattr(type(made), "__call__")
    del session.classes[first:]


def _quick_ordered_dict(general: Builder) -> Builder:
    """An empty OrderedDict, the hooks of every tensor that torch saves, without a detour; others by `general`."""

    def make(cls: StandInType, /, *args: object, **kwargs: Any) -> object:
        return general(cls, *args, **kwargs) if args or kwargs else OrderedDictStandIn()

    return make


def _unknown() -> Builder:
    def make(cls: StandInType, /, *args: object, **kwargs: Any) -> object:
        return ObjectStandIn(cls, args, kwargs)

    return make


_RETIRED: Final = staticmethod(_unknown())


def _known(build: Builder) -> Builder:
    def make(cls: StandInType, /, *args: object, **kwargs: Any) -> object:
        try:
            return build(*args, **kwargs)
        except MISFITS:
            return ObjectStandIn(cls, args, kwargs)

    return make
