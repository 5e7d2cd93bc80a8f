"""NumPy's own files: .npy (one array) and .npz (a zip of them).

Format (numpy/lib/format.py): the magic, a version in 2 bytes, the length of the header in 2 bytes (4 from version 2
on), the header as the text of a Python dict with descr, fortran_order and shape, then the values; for arrays of
objects a pickle.
"""

from __future__ import annotations

import re
from typing import Final

from viewer.checkpoint.dtypes import DTYPE_CODE, DTYPES
from viewer.checkpoint.tensors import STORED, contiguous_stride, numel_of
from viewer.errors import MalformedFile, ViewerError
from viewer.formats.archives import ZipMember
from viewer.formats.byte_source import ByteSource
from viewer.formats.nested import child_task, reader_of
from viewer.formats.pickle import Group, PickleSession, Problem, TensorStandIn
from viewer.formats.pickle.numpy_dtypes import DtypeRecord
from viewer.formats.pickle.numpy_shapes import ArrayRecord
from viewer.formats.pickle_stream import load_pickle_task
from viewer.formats.reading import Part, PartReader, Reading
from viewer.formats.zip_archive import ZipArchive
from viewer.formats.zip_directory import ZipDirectory
from viewer.task import Progress, Task

_MAGIC: Final = b"\x93NUMPY"
_MAX_HEADER_NBYTES: Final = 10_000
"""As numpy itself has it (numpy/lib/format.py, _MAX_HEADER_SIZE)."""
_MAX_SHOWN_NBYTES: Final = 1 << 16
"""Values of types that torch lacks are shown up to here: text, bytes."""
_MAX_RECORDS_NBYTES: Final = 16 << 20
"""Records of a structured dtype are taken apart in memory up to here."""
_MAX_DIMS: Final = 64
_MAX_FIELDS: Final = 512
_LONG: Final = re.compile(r"(?<=\d)L\b")
_SUFFIX: Final = ".npy"
_AGAIN: Final = "Fetch the file again, or write it again with numpy.save"


class NpyReader(PartReader):
    """Reads .npy files."""

    name = "NumPy array (.npy)"

    def sniff(self, head: bytes, source: ByteSource) -> bool:  # noqa: ARG002 - a reader may look further
        return head.startswith(_MAGIC)

    def part_task(self, source: ByteSource, reading: Reading) -> Task[Part]:
        dtype, fortran, shape, start = _header(source)
        facts = {"dtype": dtype.text, "order": "Fortran" if fortran else "C"}
        facts["byte order"] = "big-endian" if dtype.big_endian else "little-endian"
        warnings: list[str] = []
        if dtype.code.startswith("O"):
            loaded = yield from load_pickle_task(reading.session, source, start, "the pickle of objects")
            return Part(loaded.root, self.name, warnings, facts)
        yield Progress(start, source.nbytes)
        if dtype.torch_name:
            root: object = _tensor(reading.session, source, dtype, fortran, shape, start)
        else:
            array = ArrayRecord(reading.session, "numpy.ndarray")
            left = source.nbytes - start
            if left <= (_MAX_RECORDS_NBYTES if dtype.members else _MAX_SHOWN_NBYTES):
                array.fill(shape, dtype, fortran=fortran, data=source.read(start, left))
            else:
                size = "×".join(map(str, shape)) or "scalar"
                array.note = f"{dtype.text}, {size}: torch has no such dtype, and {left:,} bytes are too many to list"
            root = array
        return Part(root, self.name, warnings, facts)


def is_npz(directory: ZipDirectory) -> bool:
    """True where all records are arrays."""
    return bool(directory.by_name) and all(name.endswith(_SUFFIX) for name in directory.by_name)


def npz_part_task(archive: ZipArchive, reading: Reading) -> Task[Part]:
    """Read the structure of an .npz: a row for each array, under its name."""
    directory = archive.directory
    rows: dict[str, object] = {}
    warnings: list[str] = []
    for nth, (name, number) in enumerate(directory.by_name.items()):
        yield Progress(nth, len(directory.by_name), "arrays")
        key = name.removesuffix(_SUFFIX)
        try:
            source = yield from ZipMember(archive, number).source_task(reading.budget)
            reader = reader_of(source)
            if reader is None:
                rows[key] = Problem("this record is no NumPy array")
                continue
            part = yield from child_task(source, reader, reading)
            rows[key] = part.root
            warnings += [f"{name}: {warning}" for warning in part.warnings]
        except ViewerError as error:
            rows[key] = Problem(". ".join(filter(None, (error.fault, error.advice))))
    compressed = sum(map(bool, directory.method))
    facts = {"arrays": f"{len(rows):,}"}
    if compressed:
        facts["compressed records"] = f"{compressed:,} (inflated into memory)"
    return Part(Group(rows, "npz"), "NumPy archive (.npz)", [*directory.warnings, *warnings], facts)


def _header(source: ByteSource) -> tuple[DtypeRecord, bool, tuple[int, ...], int]:
    """dtype, whether in Fortran order, shape, and where the values begin."""
    head = source.read(0, min(source.nbytes, 12))
    if len(head) < 10:
        raise MalformedFile("this is the beginning of a NumPy array (.npy), but it is incomplete", path=source.path)
    width = 2 if head[6] == 1 else 4
    start = 8 + width
    nbytes = int.from_bytes(head[8:start], "little")
    if head[6] not in (1, 2, 3) or nbytes > _MAX_HEADER_NBYTES:
        raise MalformedFile(
            f"this NumPy array (.npy) has the version {head[6]} and a header of {nbytes:,} bytes, which numpy itself "
            "does not read",
            path=source.path,
        )
    if start + nbytes > source.nbytes:
        raise MalformedFile("this NumPy array (.npy) is incomplete: it ends in its header", path=source.path)
    import ast  # some milliseconds that only these files need

    text = source.read(start, nbytes).decode("utf-8" if head[6] == 3 else "latin-1", "replace")
    try:
        facts = ast.literal_eval(_LONG.sub("", text.strip()))  # Python 2 wrote its long integers as 3L
        shape = facts["shape"]
        if type(shape) is not tuple or len(shape) > _MAX_DIMS or not all(_is_extent(extent) for extent in shape):
            raise MalformedFile(
                f"the header of this NumPy array (.npy) claims an impossible shape: {str(shape)[:60]}",
                path=source.path,
                advice=_AGAIN,
            )
        return _dtype(facts["descr"]), facts["fortran_order"] is True, shape, start + nbytes
    except (ValueError, TypeError, LookupError, SyntaxError, MemoryError, RecursionError) as error:
        raise MalformedFile(
            "the header of this NumPy array (.npy) cannot be read",
            path=source.path,
            advice=_AGAIN,
        ) from error


def _is_extent(extent: object) -> bool:
    return type(extent) is int and 0 <= extent < 1 << 62


def _dtype(descr: object) -> DtypeRecord:
    """The dtype that a header describes (numpy/lib/format.py:descr_to_dtype): a code, a list of fields (name or
    title and name, dtype, and the shape of a subarray), or a pair of a dtype and a shape."""
    if isinstance(descr, str) and len(descr) <= 40:
        return DtypeRecord(descr)
    if isinstance(descr, tuple) and len(descr) == 2:
        made = DtypeRecord("V")
        made.__setstate__((3, "|", (_dtype(descr[0]), descr[1]), None, None))
        made.itemsize = made.base.itemsize * numel_of(made.extents) if made.base is not None else 0
        return made
    if not isinstance(descr, list) or not 0 < len(descr) <= _MAX_FIELDS:
        raise ValueError("its dtype is of an unknown form")
    made, members, offset = DtypeRecord("V"), [], 0
    for entry in descr:
        name = entry[0][1] if isinstance(entry[0], tuple) else entry[0]
        kind = _dtype(entry[1] if len(entry) == 2 else (entry[1], entry[2]))
        if name != "":  # what fills the gaps between aligned fields has no name
            members.append((str(name), kind, offset))
        offset += kind.itemsize
    made.set_members(members)
    made.itemsize = offset
    return made


def _tensor(
    session: PickleSession, source: ByteSource, dtype: DtypeRecord, fortran: bool, shape: tuple[int, ...], start: int
) -> TensorStandIn:
    """A row for an array whose values lie in the source."""
    code = DTYPE_CODE[dtype.torch_name]
    numel = numel_of(shape)
    needed, left = numel * DTYPES[code].itemsize, source.nbytes - start
    if needed >= 1 << 62:
        raise MalformedFile("the shape of this NumPy array (.npy) is too large to be", path=source.path)
    storage = session.add_storage("values", code, needed, "cpu")
    session.complete_storages()
    extra: dict[str, object] = {"numpy": True, "type": "numpy.ndarray"}
    stride = contiguous_stride(shape)
    if fortran and len(shape) > 1:
        stride = tuple(reversed(contiguous_stride(shape[::-1])))
        extra["fortran"] = True
    number = session.add_tensor(code, shape, stride, storage)
    session.tensors.extra[number] = extra
    storages = session.storages
    storages.big_endian[storage] = int(dtype.big_endian)
    if needed > left:
        storages.problem[storage] = (
            f"the file is incomplete: {needed - left:,} of its {needed:,} bytes lie beyond the end"
        )
        return TensorStandIn(number)
    storages.encoding[storage] = STORED
    storages.offset[storage] = start
    storages.length[storage] = needed
    del storages.problem[storage]
    return TensorStandIn(number)
