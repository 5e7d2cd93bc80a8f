"""Views of storages: the rows of tensors, checked against what their storage holds."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from viewer.checkpoint.dtypes import DTYPES
from viewer.checkpoint.tensors import TensorFlag
from viewer.formats.pickle.standins import SequenceStandIn, StandInType, StorageStandIn, TensorStandIn

if TYPE_CHECKING:
    from viewer.formats.pickle.session import PickleSession

LARGEST: Final = (1 << 63) - 1  # torch counts elements and bytes in int64
GRAD: Final = int(TensorFlag.REQUIRES_GRAD)
NO_SHAPE: Final = (0,)  # what stands for a shape that cannot be
_ITEMSIZE: Final = tuple(dtype.itemsize for dtype in DTYPES)


def placer(session: PickleSession) -> Callable[[StorageStandIn, object, object, object, object, int], TensorStandIn]:
    """The function that makes a row for a view of a storage. A view that cannot be keeps its row, with what is wrong
    in `problem`."""
    tensors = session.tensors
    dtypes, shapes, strides = tensors.dtype.append, tensors.shape.append, tensors.stride.append
    storages, offsets, flags = tensors.storage.append, tensors.storage_offset.append, tensors.flags.append
    rows = tensors.shape
    storage_nbytes = session.storages.nbytes
    most_dims = session.limits.tensor_dims

    def place(
        storage: StorageStandIn, offset: object, size: object, stride: object, requires_grad: object, dtype: int
    ) -> TensorStandIn:
        if not (
            type(offset) is int
            and type(size) is tuple
            and type(stride) is tuple
            and len(size) == len(stride) <= most_dims
            and offset >= 0
        ):
            return misplaced(session, storage, size, stride, requires_grad, dtype)
        first = offset + storage.first
        last = first
        numel = 1
        for extent, step in zip(size, stride):  # noqa: B905 - of one length, and `strict` costs a tenth of the call
            if type(extent) is not int or type(step) is not int or extent < 0 or step < 0:
                return misplaced(session, storage, size, stride, requires_grad, dtype)
            numel *= extent
            last += (extent - 1) * step
        if numel > LARGEST or first > LARGEST:
            return misplaced(session, storage, size, stride, requires_grad, dtype)
        number = len(rows)
        dtypes(dtype)
        shapes(size)
        strides(stride)
        storages(storage.number)
        offsets(first)
        flags(GRAD if requires_grad is True else 0)
        if numel:
            needed = (last + 1) * _ITEMSIZE[dtype]
            there = storage_nbytes[storage.number]
            if needed > there:
                tensors.problem[number] = (
                    f"reaches outside its storage: needs {count_text(needed)} bytes of {there:,}"
                )
        return TensorStandIn(number)

    return place


def quick_rebuild(session: PickleSession) -> Callable[..., object]:
    """What calling the stand-in of `_rebuild_tensor_v2` does, by which nearly every tensor is made: the same as its
    `__new__`, with the usual six arguments in one step. (A function that calls three others takes twice the time.)"""
    tensors = session.tensors
    dtypes, shapes, strides = tensors.dtype.append, tensors.shape.append, tensors.stride.append
    storages, offsets, flags = tensors.storage.append, tensors.storage_offset.append, tensors.flags.append
    placed = tensors.shape
    storage_nbytes = session.storages.nbytes
    most_dims = session.limits.tensor_dims
    new = object.__new__

    def call(
        cls: StandInType,
        storage: Any = None,
        offset: Any = None,
        size: Any = None,
        stride: Any = None,
        requires_grad: object = None,
        hooks: object = None,
        /,
        *more: object,
    ) -> object:
        if not (
            type(storage) is StorageStandIn
            and type(offset) is int
            and type(size) is tuple
            and type(stride) is tuple
            and len(size) == len(stride) <= most_dims
            and offset >= 0
            and hooks is not None
            and not more
        ):
            return by_new(cls, storage, offset, size, stride, requires_grad, hooks, *more)
        first = offset + storage.first
        dims = len(size)
        if dims == 1:  # nearly all are vectors and matrices; a loop takes twice the time
            (numel,), (step,) = size, stride
            if type(numel) is not int or type(step) is not int or numel < 0 or step < 0:
                return by_new(cls, storage, offset, size, stride, requires_grad, hooks)
            last = first + (numel - 1) * step
        elif dims == 2:
            (rows, columns), (down, across) = size, stride
            if not (
                type(rows) is type(columns) is type(down) is type(across) is int
                and rows >= 0
                and columns >= 0
                and down >= 0
                and across >= 0
            ):
                return by_new(cls, storage, offset, size, stride, requires_grad, hooks)
            numel = rows * columns
            last = first + (rows - 1) * down + (columns - 1) * across
        else:
            last = first
            numel = 1
            for extent, step in zip(size, stride):  # noqa: B905 - of one length, and `strict` costs a tenth
                if type(extent) is not int or type(step) is not int or extent < 0 or step < 0:
                    return by_new(cls, storage, offset, size, stride, requires_grad, hooks)
                numel *= extent
                last += (extent - 1) * step
        dtype = storage.dtype
        number = storage.number
        if numel > LARGEST or first > LARGEST or (numel and (last + 1) * _ITEMSIZE[dtype] > storage_nbytes[number]):
            return by_new(cls, storage, offset, size, stride, requires_grad, hooks)
        made = new(TensorStandIn)
        made.number = len(placed)
        made.parts = None
        dtypes(dtype)
        shapes(size)
        strides(stride)
        storages(number)
        offsets(first)
        flags(GRAD if requires_grad is True else 0)
        return made

    return call


def by_new(cls: StandInType, /, *given: object) -> object:
    """An instance as `__new__` makes it."""
    while given and given[-1] is None:  # not given by the pickle, or given as None: the same to all that is built
        given = given[:-1]
    make: Callable[..., object] = cls.__new__
    return make(cls, *given)


def misplaced(
    session: PickleSession,
    storage: StorageStandIn,
    size: object,
    stride: object,
    requires_grad: object,
    dtype: int,
) -> TensorStandIn:
    """A row for a view whose shape, stride or offset cannot be; or the same with its lists made tuples."""
    shape = dims_of(size, session.limits.tensor_dims)
    number = session.add_tensor(dtype, NO_SHAPE, (1,), storage.number, 0, GRAD if requires_grad is True else 0)
    if shape is None:
        problem = "its shape is not a list of sizes"
    else:
        problem = f"its shape, stride or offset cannot be: shape {shape_text(shape)}"
    session.tensors.problem[number] = problem
    return TensorStandIn(number, {"claimed shape": size, "claimed stride": stride})


def dims_of(size: object, most: int) -> tuple[int, ...] | None:
    """The ints of a tuple, list or torch.Size; None where there are too many or other things among them."""
    if isinstance(size, SequenceStandIn):
        size = size.given
    if not isinstance(size, (tuple, list)) or len(size) > most or not all(type(extent) is int for extent in size):
        return None
    return tuple(size)


def shape_text(shape: tuple[int, ...]) -> str:
    """A shape for a message, in bounded length."""
    return "×".join(str(extent) if extent.bit_length() <= 128 else "a huge number" for extent in shape[:8])


def count_text(number: int) -> str:
    """A number for a message, in bounded length."""
    return f"{number:,}" if number.bit_length() <= 128 else "a huge number of"
