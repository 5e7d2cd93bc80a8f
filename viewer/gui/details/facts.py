"""Facts about a node as rows of a label and a value, read from the columns. No Qt."""

from __future__ import annotations

from dataclasses import dataclass

from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.nodes import Kind
from viewer.checkpoint.tensors import CHUNKED, DEFLATED, INLINE, STORED, StorageRef, TensorFlag, TensorRef
from viewer.gui.format import (
    format_bytes,
    format_bytes_exact,
    format_count,
    format_exact,
    format_percent,
    format_shape,
)
from viewer.report.wording import printable


@dataclass(frozen=True, slots=True)
class Fact:
    """One row.

    Attributes
    ----------
    label, shown
        What it is, and its value as it is read.
    exact
        The value to hover and to copy; "" where `shown` is exact.
    plain
        True where the value is words, which are not set in the face of numbers.
    """

    label: str
    shown: str
    exact: str = ""
    plain: bool = False

    @property
    def copied(self) -> str:
        return self.exact or self.shown


KIND_WORDS = {
    Kind.MAPPING: "mapping",
    Kind.SEQUENCE: "sequence",
    Kind.SET: "set",
    Kind.OBJECT: "object",
    Kind.TENSOR: "tensor",
    Kind.STORAGE: "storage saved by itself",
    Kind.SCALAR: "value",
    Kind.REFERENCE: "class or function",
    Kind.LINK: "link",
    Kind.PROBLEM: "unreadable entry",
    Kind.GROUP: "group",
    Kind.TEXT: "text",
}


def size_fact(label: str, nbytes: int) -> Fact:
    return Fact(label, format_bytes(nbytes), format_bytes_exact(nbytes))


def headline(tensor: TensorRef, computed_on: str = "") -> str:
    """float32 · 64×64×3×3 · 144 KB · saved on cuda:0 · computed on cpu."""
    parts = [tensor.dtype.name, format_shape(tensor.shape) if tensor.shape else "scalar", format_bytes(tensor.nbytes)]
    if tensor.layout != "strided":
        parts.insert(1, tensor.layout)
    parts.append(f"saved on {tensor.device}")
    if computed_on:
        parts.append(f"computed on {computed_on}")
    return " · ".join(parts)


def tensor_problem(tensor: TensorRef) -> str | None:
    """Why the values of a tensor cannot be read; None where they can."""
    if tensor.problem is not None:
        return tensor.problem
    return None if tensor.storage is None else tensor.storage.problem


def tensor_facts(checkpoint: Checkpoint, node: int, tensor: TensorRef) -> list[Fact]:
    """What a tensor is."""
    facts = [
        Fact("type", checkpoint.nodes.type_name(node)),
        Fact("dtype", tensor.dtype.name),
        Fact("shape", format_shape(tensor.shape) if tensor.shape else "scalar, no axes", format_exact(tensor.shape)),
        Fact("elements", format_count(tensor.numel)),
        size_fact("size", tensor.nbytes),
        Fact("layout", tensor.layout),
        Fact("saved on", tensor.device),
        Fact("parameter", "yes" if tensor.is_parameter else "no", plain=True),
        Fact("requires grad", "yes" if tensor.requires_grad else "no", plain=True),
    ]
    facts += extra_facts(tensor)
    if checkpoint.nodes.n_children[node]:
        facts.append(Fact("attributes", format_count(checkpoint.nodes.n_children[node])))
    return facts


def extra_facts(tensor: TensorRef) -> list[Fact]:
    """The facts that few tensors have: quantization, names, the device of a meta tensor …"""
    facts = []
    for name, value in tensor.extra.items():
        text = value if isinstance(value, str) else format_exact(value)
        shown = text if len(text) <= 80 else f"{text[:80]}…"
        facts.append(Fact(name.replace("_", " "), shown, text))
    return facts


def storage_facts(checkpoint: Checkpoint, storage: StorageRef) -> list[Fact]:
    """Where a storage lies and how it is kept."""
    facts = [
        Fact("storage key", storage.key or "–"),
        Fact("saved as", storage.dtype.name),
        Fact("saved on", storage.location),
        size_fact("bytes stored", storage.nbytes),
    ]
    if storage.encoding in (STORED, DEFLATED):
        file = checkpoint.files[storage.file]
        facts += [
            Fact("file", printable(file.path.name), str(file.path)),
            Fact("offset in file", format_count(storage.offset), format_exact(storage.offset)),
            size_fact("length in file", storage.length),
        ]
    facts.append(Fact("encoding", _encoding_words(storage), plain=True))
    facts.append(Fact("byte order", "big-endian" if storage.big_endian else "little-endian", plain=True))
    return facts


def view_facts(tensor: TensorRef) -> list[Fact]:
    """How a tensor looks into its storage; a tensor without one has neither stride nor offset."""
    facts = [Fact("shape", format_exact(tensor.shape))]
    if tensor.storage is not None:
        elements = format_count(tensor.storage_offset)
        offset_nbytes = format_bytes_exact(tensor.storage_offset * tensor.dtype.itemsize)
        facts += [
            Fact("stride", format_exact(tensor.stride)),
            Fact("storage offset", f"{elements} elements", f"{tensor.storage_offset} elements, {offset_nbytes}"),
            Fact("contiguous", "yes" if tensor.is_contiguous else "no", plain=True),
        ]
    if tensor.layout != "strided":
        facts.append(Fact("layout", tensor.layout))
    if tensor.flags & TensorFlag.CONJ:
        facts.append(Fact("conjugate view", "yes", plain=True))
    if tensor.flags & TensorFlag.NEG:
        facts.append(Fact("negative view", "yes", plain=True))
    return [
        *facts,
        Fact("requires grad", "yes" if tensor.requires_grad else "no", plain=True),
        Fact("parameter", "yes" if tensor.is_parameter else "no", plain=True),
    ]


@dataclass(frozen=True, slots=True)
class Usage:
    """How much of its storage a tensor uses.

    Attributes
    ----------
    used
        Bytes of distinct elements.
    stored
        Bytes of the storage.
    exact
        False where strides overlap, so that `used` is an upper bound.
    """

    used: int
    stored: int
    exact: bool = True

    @property
    def fraction(self) -> float:
        return self.used / self.stored if self.stored else 0.0

    def __str__(self) -> str:
        if not self.stored:
            return "the storage is empty"
        share = format_percent(self.used, self.stored)
        bound = "" if self.exact else "at most "
        return f"{bound}{format_bytes(self.used)} of {format_bytes(self.stored)} stored · {share}"


def usage(tensor: TensorRef) -> Usage | None:
    """How much of the storage is used; None for a tensor without one."""
    if tensor.storage is None:
        return None
    if 0 in tensor.shape:
        return Usage(0, tensor.storage.nbytes)
    # An expanded axis (stride 0) shows one element many times.
    axes = sorted(
        (step, extent) for extent, step in zip(tensor.shape, tensor.stride, strict=True) if step and extent > 1
    )
    distinct, span, overlap = 1, 1, False
    for step, extent in axes:
        overlap = overlap or step < span
        distinct *= extent
        span += (extent - 1) * step
    nbytes = min(distinct, span) * tensor.dtype.itemsize
    return Usage(min(nbytes, tensor.storage.nbytes), tensor.storage.nbytes, exact=not overlap)


def file_facts(checkpoint: Checkpoint) -> list[Fact]:
    """What was opened."""
    facts = [
        Fact("file", printable(checkpoint.path.name or str(checkpoint.path)), str(checkpoint.path)),
        Fact("folder", str(checkpoint.path.parent)),
        Fact("container", checkpoint.container, plain=True),
        size_fact("size on disk", checkpoint.nbytes),
    ]
    if len(checkpoint.files) > 1:
        facts.append(
            Fact("files", format_count(len(checkpoint.files)), "\n".join(str(f.path) for f in checkpoint.files))
        )
    return facts + [Fact(name, value) for name, value in checkpoint.facts.items()]


def _encoding_words(storage: StorageRef) -> str:
    if storage.encoding == STORED:
        return "stored as it is"
    if storage.encoding == DEFLATED:
        return f"deflated to {format_percent(storage.length, storage.nbytes)}" if storage.nbytes else "deflated"
    if storage.encoding == INLINE:
        return "inside the pickle"
    if storage.encoding == CHUNKED:
        return "put together from pieces"
    return "unreadable"
