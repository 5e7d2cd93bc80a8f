"""The content of a checkpoint as values: what docs/canonical-format.md writes, and nothing else.

None, bool, int, float, complex, str, bytes and tuple stand for themselves; everything else is one of the classes
here. Names, frozen sets and immutable calls are equal when their parts are; all others are compared by identity.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from viewer.checkpoint.dtypes import DType
from viewer.checkpoint.nodes import Key
from viewer.checkpoint.paths import format_path
from viewer.checkpoint.tensors import StorageRef, TensorRef, numel_of

Value: TypeAlias = Any
"""One of the above. (A recursive alias of them all would only make every function cast.)"""


@dataclass(slots=True, eq=False)
class ListValue:
    items: list[Value] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class DictValue:
    pairs: list[tuple[Value, Value]] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class SetValue:
    """A set or frozenset, its members in the order in which they are written."""

    members: list[Value]
    frozen: bool = False


@dataclass(slots=True, eq=False)
class NameValue:
    """A class or function, by name."""

    module: str
    name: str

    @property
    def dotted(self) -> str:
        return f"{self.module}.{self.name}"


@dataclass(slots=True, eq=False)
class CallValue:
    """What a call makes, or `__new__` alone, and what is done to it afterwards.

    Attributes
    ----------
    function
        A NameValue, or whatever else is called.
    is_new
        True for `function.__new__(function, *args)`.
    immutable
        True where it cannot be changed in place, so that equal ones are one.
    items, pairs
        None where there are none: what is appended, and set by key.
    states
        What `__setstate__` is given, in order.
    """

    function: Value
    args: tuple[Value, ...] = ()
    kwargs: DictValue | None = None
    is_new: bool = False
    immutable: bool = False
    items: list[Value] | None = None
    pairs: list[tuple[Value, Value]] | None = None
    states: list[Value] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Record:
    """The bytes of one tensor or storage, as they are written: compact, little-endian, bits resolved.

    Attributes
    ----------
    dtype
        Of the elements written.
    shape, stride
        The stride is that of a contiguous tensor, unless strides are kept.
    nbytes
        How many bytes are written.
    keys
        What leads to where it was first met.
    tensor
        Where the elements come from; None for a storage written whole, or bytes that are held here.
    lies_as_written
        Whether the elements lie in the source's storage one after the other in the order in which they are written.
    storage
        A storage to be written whole.
    data
        Bytes that are held in memory (of a numpy array).
    """

    dtype: DType
    shape: tuple[int, ...]
    stride: tuple[int, ...]
    nbytes: int
    keys: tuple[Key, ...] = ()
    tensor: TensorRef | None = None
    lies_as_written: bool = False
    storage: StorageRef | None = None
    data: bytes | None = None

    @property
    def numel(self) -> int:
        return numel_of(self.shape)

    @property
    def path(self) -> str:
        return format_path(self.keys)


_PER_BYTE = {"quint4x2": 2, "quint2x4": 4}


def packed_nbytes(dtype: DType, numel: int) -> int:
    """Bytes of `numel` elements. Packed quantized types count values, all others elements of whole bytes."""
    return -(-numel // _PER_BYTE.get(dtype.name, 1)) * dtype.itemsize


@dataclass(slots=True, eq=False)
class TensorValue:
    """A tensor.

    Attributes
    ----------
    dtype
        As written.
    record
        None for those without a storage.
    layout
        "strided", "meta", "sparse_coo", "sparse_csr" …, "nested".
    parts
        Of sparse and nested ones: the values of their parts, in the order in which they are written.
    quantizer
        The tuple of a quantized tensor: qscheme and its parameters.
    attributes, subclass
        None where there are none.
    """

    dtype: DType
    shape: tuple[int, ...]
    record: Record | None
    requires_grad: bool = False
    parameter: bool = False
    layout: str = "strided"
    parts: tuple[Value, ...] = ()
    quantizer: tuple[Value, ...] | None = None
    attributes: Value = None
    subclass: NameValue | None = None

    @property
    def is_plain(self) -> bool:
        """True for a strided tensor without anything that a bare array lacks; it may be a Parameter."""
        return (
            self.layout == "strided"
            and self.quantizer is None
            and self.attributes is None
            and self.subclass is None
            and self.record is not None
        )


@dataclass(slots=True, eq=False)
class StorageValue:
    """A storage by itself."""

    record: Record


def children_of(value: Value) -> Iterator[Value]:
    """The values directly below one, in the order in which they are written."""
    if isinstance(value, tuple):
        yield from value
    elif isinstance(value, ListValue):
        yield from value.items
    elif isinstance(value, DictValue):
        for pair in value.pairs:
            yield from pair
    elif isinstance(value, SetValue):
        yield from value.members
    elif isinstance(value, CallValue):
        yield value.function
        yield from value.args
        if value.kwargs is not None:
            yield value.kwargs
        yield from value.items or ()
        for pair in value.pairs or ():
            yield from pair
        yield from value.states
    elif isinstance(value, TensorValue):
        yield from value.parts
        yield from value.quantizer or ()
        if value.attributes is not None:
            yield value.attributes
        if value.subclass is not None:
            yield value.subclass


def tensors_in(root: Value) -> Iterator[TensorValue]:
    """Every tensor below a value once, in the order in which they are written."""
    seen: set[int] = set()
    stack = [root]
    while stack:
        value = stack.pop()
        if value is None or isinstance(value, (str, int, float, bytes, complex)) or id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, TensorValue):
            yield value
        stack.extend(reversed(list(children_of(value))))
