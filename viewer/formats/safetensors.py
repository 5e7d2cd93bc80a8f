"""safetensors files: a header that says where each tensor lies, then the values.

The tree is flat, as the file is: one row for each name, and `__metadata__` when there is one. What the format
forbids (overlaps, gaps, a span that does not fit the shape, an unknown dtype) is said in a warning or on the tensor's
own row, and everything else is shown all the same.
"""

from __future__ import annotations

import re
from typing import Final

from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.dtypes import DTYPE_CODE, DTYPES
from viewer.checkpoint.tensors import STORED, contiguous_stride, numel_of
from viewer.errors import MalformedFile, ViewerError
from viewer.formats.byte_source import ByteSource
from viewer.formats.canonical_tree import TREE_FACT, TREE_KEY, graph_of_tree
from viewer.formats.limits import LIMITS, Limits
from viewer.formats.pickle import PickleSession
from viewer.formats.pickle.standins import Problem, TensorStandIn
from viewer.formats.reading import Part, PartReader, Reading, checkpoint_task
from viewer.formats.safetensors_header import Header, parse_header
from viewer.formats.source import FileSource
from viewer.task import Progress, Task

METADATA: Final = "__metadata__"
_PREFIX_NBYTES: Final = 8
_CODES: Final = {dtype.safetensors: code for code, dtype in enumerate(DTYPES) if dtype.safetensors}
_PACKED: Final = DTYPE_CODE["float4_e2m1fn_x2"]
_NO_TORCH_DTYPE: Final = frozenset({"F6_E2M3", "F6_E3M2"})
"""Types of the format that torch 2.13 cannot hold."""
_TEXT: Final = re.compile(rb"[\t\n\r -~]+")
_NAMED: Final = 3
"""Names spelled out in one warning."""


def looks_like_safetensors(head: bytes) -> bool:
    """True where a file begins as the format demands: a length, then an opening brace and a name or the end."""
    return len(head) > _PREFIX_NBYTES + 1 and head[8:9] == b"{" and head[9:].lstrip(b" \t\r\n")[:1] in (b'"', b"}")


class SafetensorsReader(PartReader):
    """Reads safetensors files, for `viewer.formats.opening`."""

    name = "safetensors"

    def sniff(self, head: bytes, source: ByteSource) -> bool:  # noqa: ARG002 - a reader may look further
        # JSON text may have a brace there too; a length of a header never is eight letters.
        return looks_like_safetensors(head) and not _TEXT.fullmatch(head, 0, _PREFIX_NBYTES)

    def part_task(self, source: ByteSource, reading: Reading) -> Task[Part]:
        return (yield from _part_task(source, reading.session))


def safetensors_task(source: FileSource, limits: Limits = LIMITS) -> Task[Checkpoint]:
    """Read the structure of a safetensors file.

    Raises
    ------
    ViewerError
        When the header cannot be read; its message names the file.
    """
    try:
        session = PickleSession(limits)
        part = yield from _part_task(source, session)
        return (yield from checkpoint_task(source, session, part))
    except ViewerError as error:
        raise error.about(source.path) from error


def _part_task(source: ByteSource, session: PickleSession) -> Task[Part]:
    limits = session.limits
    header_nbytes = int.from_bytes(source.read(0, _PREFIX_NBYTES), "little")
    data_start = _PREFIX_NBYTES + header_nbytes
    if data_start > source.nbytes:
        raise MalformedFile(
            f"its header claims {header_nbytes:,} bytes, longer than the file of {source.nbytes:,}: the file is "
            "incomplete or something else",
            advice="Fetch it again",
        )
    if header_nbytes > limits.header_nbytes:
        raise MalformedFile(
            f"its header has {header_nbytes:,} bytes; the format allows {limits.header_nbytes:,}",
            advice="Split the tensors over several files",
        )
    yield Progress(0, header_nbytes)
    header = yield from parse_header(source.read(_PREFIX_NBYTES, header_nbytes))
    members = _place(header, session, data_start, source.nbytes)
    root: object = members
    facts = {"byte order": "little-endian (by the format)", "header": f"{header_nbytes:,} bytes"}
    if not header.names:
        facts["header"] += ", 0 tensors"
    if header.metadata is not None:
        root = _with_metadata(header, members, session, facts)
    return Part(
        root,
        "safetensors",
        [*header.warnings, *_tiling(header, source.nbytes - data_start)],
        facts,
    )


def _with_metadata(
    header: Header, members: dict[object, object], session: PickleSession, facts: dict[str, str]
) -> object:
    """The tree that a canonical export keeps in the metadata, or else the metadata and the flat list of tensors."""
    metadata = dict(header.metadata or {})
    tree = metadata.pop(TREE_KEY, None)
    if tree is not None:
        numbers = {str(name): item.number for name, item in members.items() if isinstance(item, TensorStandIn)}
        try:
            root = graph_of_tree(tree, numbers, session)
        except MalformedFile as error:
            header.warnings.append(f"{error.fault}; the tensors are shown by name")
        else:
            facts[TREE_FACT] = "of a canonical export, form 1"
            metadata.pop("format", None)
            if metadata and type(root) is dict:
                return {METADATA: metadata, **root}
            return root
    return {METADATA: dict(header.metadata or {}), **members}


def _place(header: Header, session: PickleSession, data_start: int, file_nbytes: int) -> dict[object, object]:
    """A row for each entry, by name; problems stand under their names, a second time under a numbered key."""
    members: dict[object, object] = {}
    spans: list[tuple[int, int, int, int]] = []  # storage, tensor, begin, end
    for name, dtype, shape, begin, end in zip(
        header.names, header.dtypes, header.shapes, header.begins, header.ends, strict=True
    ):
        code = _CODES.get(dtype)
        if code is None:
            members[name] = Problem(_unknown_dtype(dtype, shape))
            continue
        if code == _PACKED and shape and shape[-1] % 2 == 0:
            # The header counts 4-bit values; torch counts pairs of them (safetensors/torch.py, float4_e2m1fn_x2).
            shape = (*shape[:-1], shape[-1] // 2)
        storage = session.add_storage(name, code, max(end - begin, 0), "cpu")
        number = session.add_tensor(code, shape, contiguous_stride(shape), storage)
        members[name] = TensorStandIn(number)
        spans.append((storage, number, begin, end))
    session.complete_storages()
    for storage, number, begin, end in spans:
        _place_span(session, storage, number, data_start + begin, data_start + end, file_nbytes)
    for name, sentence in header.problems:
        members[name if name not in members else (name, "again")] = Problem(sentence)
    return members


def _place_span(session: PickleSession, storage: int, number: int, begin: int, end: int, file_nbytes: int) -> None:
    """Trust the range [begin, end) of the file for one tensor, or say why not."""
    storages, tensors = session.storages, session.tensors
    needed = numel_of(tensors.shape[number]) * DTYPES[tensors.dtype[number]].itemsize
    if end - begin != needed:
        problem = f"its span of {end - begin:,} bytes in the file is not the {needed:,} bytes of its shape"
    elif end > file_nbytes:
        missing = end - max(file_nbytes, begin)
        problem = f"the file is incomplete: {missing:,} of its {needed:,} bytes lie beyond the end"
    else:
        storages.encoding[storage] = STORED
        storages.offset[storage] = begin
        storages.length[storage] = needed
        del storages.problem[storage]
        return
    storages.problem[storage] = problem
    tensors.problem[number] = problem


def _unknown_dtype(dtype: str, shape: tuple[int, ...]) -> str:
    extent = "×".join(map(str, shape)) or "one value"
    if dtype in _NO_TORCH_DTYPE:
        return f"{dtype} ({extent}): torch has no such dtype"
    return f"{dtype} ({extent}): no dtype that the safetensors format knows"


def _tiling(header: Header, data_nbytes: int) -> list[str]:
    """What the format's rule "the tensors tile the data" finds."""
    spans = sorted(zip(header.begins, header.ends, header.names, strict=True))
    overlaps: list[str] = []
    unused = reached = 0
    last = ""
    for begin, end, name in spans:
        if end <= begin:
            continue
        if begin < reached:
            overlaps.append(f"{name!r} and {last!r}")
        unused += max(begin - reached, 0)
        if end > reached:
            reached, last = end, name
    warnings = []
    if overlaps:
        more = "" if len(overlaps) <= _NAMED else f" and {len(overlaps) - _NAMED:,} more"
        warnings.append(
            f"tensors overlap in the file, which the format forbids: {', '.join(overlaps[:_NAMED])}{more}"
        )
    if reached > data_nbytes:
        warnings.append(f"the file is incomplete: {reached - data_nbytes:,} bytes are missing at its end")
    unused += max(data_nbytes - reached, 0)
    if unused:
        warnings.append(f"{unused:,} bytes of the file are unused: no tensor covers them")
    return warnings
