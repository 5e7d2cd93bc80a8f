"""What scans found, kept between openings in the user's cache folder.

One file for each checkpoint file, named by what makes its bytes certain without reading them: device, inode, size,
and the times of the last change of its content and of its attributes, to the nanosecond. A row in it is named by
where the tensor's bytes lie, their CRC-32 where the file keeps one, and how they are seen. A file that was changed
within the last seconds is not remembered: two changes in one tick of the clock could not be told apart (git calls
such files "racily clean").

The first line is a header with a CRC-32 of the rest; then each line is the name of a row, a tab, and its fields in
JSON, which are checked as they are read. What is damaged, foreign or of another version counts as nothing and is
written anew; without a folder that can be written, nothing is kept, and that is no error.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import sys
import tempfile
import time
import zlib
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

from viewer.checkpoint.document import Checkpoint, FileFacts
from viewer.checkpoint.tensors import DEFLATED, STORED, TensorRef
from viewer.tensors.scan_results import MINI_BINS, ScanRow

VERSION: Final = 1
"""Of the statistics and of this format; rows of another version are not used."""

MAX_NBYTES: Final = 64 << 20
"""Of all files together: the rows of some 200,000 tensors. The files not used for longest go first."""

_bound: int | None = None
"""What the person chose in its place; None for nothing."""

_SETTLED_S: Final = 2.0
"""Seconds since the last change after which a time stamp is trusted: FAT counts in steps of two."""

_SUFFIX: Final = ".scan.json"

_FIELDS: Final = (
    "of", "count", "min", "max", "mean", "std", "l2", "zeros", "nan", "posinf", "neginf", "constant", "all_zero",
    "constant_rows", "rows", "counts",
)  # fmt: skip


def cache_folder() -> Path | None:
    """Where scans are kept; None where the user has no home."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA", "")
    else:
        base = os.environ.get("XDG_CACHE_HOME", "")
    try:
        if base and Path(base).is_absolute():  # the XDG specification has relative ones ignored
            return Path(base) / "checkpoint-viewer" / "scans"
        if sys.platform == "darwin":
            return Path.home() / "Library" / "Caches" / "checkpoint-viewer" / "scans"
        return Path.home() / ".cache" / "checkpoint-viewer" / "scans"
    except RuntimeError:
        return None


def clear() -> int:
    """Remove all that is kept; how many bytes that were."""
    removed = 0
    for path, nbytes, _ in _kept():
        with suppress(OSError):
            path.unlink()
            removed += nbytes
    return removed


class ScanCache:
    """The rows of one checkpoint that are known, and those that are to be kept.

    Parameters
    ----------
    read
        False to know nothing at first.
    """

    def __init__(self, checkpoint: Checkpoint, *, read: bool = True) -> None:
        self._checkpoint = checkpoint
        self._folder = cache_folder()
        self._names: dict[int, str | None] = {}
        self._rows: dict[int, dict[bytes, bytes]] = {}
        self._changed: set[int] = set()
        self._read = read

    def find(self, tensor: TensorRef) -> ScanRow | None:
        """The row of the very same bytes seen the same way, if it is known."""
        key = self._key(tensor)
        if key is None or tensor.storage is None:
            return None
        fields = self._of_file(tensor.storage.file).get(key)
        return None if fields is None else _row(tensor.number, fields)

    def keep(self, tensor: TensorRef, row: ScanRow) -> None:
        """Have a row written by `write`; rows with a problem are not kept."""
        key = self._key(tensor)
        if key is None or tensor.storage is None or row.problem is not None:
            return
        fields = json.dumps([getattr(row, name) for name in _FIELDS], separators=(",", ":"))
        self._of_file(tensor.storage.file)[key] = fields.encode()
        self._changed.add(tensor.storage.file)

    def write(self) -> None:
        """Write what is new, unless a file was changed meanwhile, and remove the oldest where it becomes too much."""
        for file in sorted(self._changed):
            name = self._names[file]
            if name is None or self._folder is None or _name_of(self._checkpoint.files[file]) != name:
                continue
            with suppress(OSError):
                _write(self._folder / (name + _SUFFIX), _document(name, self._rows[file]))
        if self._changed:
            _trim()
        self._changed.clear()

    def _of_file(self, file: int) -> dict[bytes, bytes]:
        """What is known of the tensors in a file."""
        rows = self._rows.get(file)
        if rows is None:
            name = self._names[file]
            rows = {}
            if name is not None and self._folder is not None and self._read:
                rows = _load(self._folder / (name + _SUFFIX), name)
            self._rows[file] = rows
        return rows

    def _key(self, tensor: TensorRef) -> bytes | None:
        """What makes a row certain, beside the file; None where something else has a say."""
        storage = tensor.storage
        if storage is None or storage.encoding not in (STORED, DEFLATED) or tensor.problem is not None:
            return None
        if any(not isinstance(value, str | int | float) for value in tensor.extra.values()):
            return None  # scales in other tensors
        if "scales" in tensor.extra:
            return None
        if storage.file not in self._names:
            self._names[storage.file] = _name_of(self._checkpoint.files[storage.file])
        if self._names[storage.file] is None:
            return None
        key = repr(
            (
                storage.encoding,
                storage.offset,
                storage.length,
                storage.nbytes,
                storage.big_endian,
                self._checkpoint.storages.crc.get(storage.number),
                tensor.dtype.name,
                tensor.shape,
                tensor.stride,
                tensor.storage_offset,
                int(tensor.flags),
                tensor.layout,
                sorted((name, repr(value)) for name, value in tensor.extra.items()),
            )
        )
        return key.encode("utf-8", "backslashreplace")


def _name_of(facts: FileFacts) -> str | None:
    """The name of what is known of a file; None while that is not certain, or when another file was opened."""
    try:
        now = facts.path.stat()
    except OSError:
        return None
    if (now.st_size, now.st_mtime_ns, now.st_ino, now.st_dev) != (
        facts.nbytes,
        facts.mtime_ns,
        facts.inode,
        facts.device,
    ):
        return None
    if time.time() - max(now.st_mtime, now.st_ctime) < _SETTLED_S:
        return None
    stamp = (VERSION, facts.nbytes, facts.mtime_ns, now.st_ctime_ns, facts.inode, facts.device)
    return hashlib.sha256(repr(stamp).encode()).hexdigest()[:40]


def _document(name: str, rows: dict[bytes, bytes]) -> bytes:
    body = b"".join([line for key, fields in rows.items() for line in (key, b"\t", fields, b"\n")])
    return json.dumps([VERSION, name, zlib.crc32(body)]).encode() + b"\n" + body


def _load(path: Path, name: str) -> dict[bytes, bytes]:
    """The rows in a file, by their names; none where it is not exactly what `_document` writes."""
    try:
        status = path.stat()
        if status.st_size > MAX_NBYTES or not stat.S_ISREG(status.st_mode):
            return {}
        header, _, body = path.read_bytes().partition(b"\n")
        if json.loads(header) != [VERSION, name, zlib.crc32(body)]:
            return {}
        os.utime(path)  # it was used
    except (OSError, ValueError, RecursionError):
        return {}
    lines = [line.partition(b"\t") for line in body.split(b"\n")[:-1]]
    return {key: fields for key, _, fields in lines}


def _row(number: int, packed: bytes) -> ScanRow | None:
    """The row that was kept; None for anything else."""
    try:
        fields = json.loads(packed)
    except (ValueError, RecursionError):
        return None
    if not isinstance(fields, list) or len(fields) != len(_FIELDS):
        return None
    found = dict(zip(_FIELDS, fields, strict=True))
    counts = found["counts"]
    if (
        not isinstance(found["of"], str)
        or not all(_is_count(found[name]) for name in ("count", "zeros", "nan", "posinf", "neginf", "rows"))
        or not all(found[name] is None or _is_number(found[name]) for name in ("min", "max"))
        or not all(found[name] is None or type(found[name]) is float for name in ("mean", "std", "l2"))
        or not all(type(found[name]) is bool for name in ("constant", "all_zero"))
        or not (found["constant_rows"] is None or _is_count(found["constant_rows"]))
        or not (isinstance(counts, list) and len(counts) <= MINI_BINS and all(map(_is_count, counts)))
        or found["nan"] + found["posinf"] + found["neginf"] + sum(counts) != found["count"]
    ):
        return None
    return ScanRow(number, **{**found, "counts": tuple(counts)})


def _is_count(value: object) -> bool:
    return type(value) is int and value >= 0


def _is_number(value: object) -> bool:
    return type(value) in (int, float)


def _write(path: Path, data: bytes) -> None:
    """Put a file in its place whole, or not at all."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(prefix=".", suffix=".tmp", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        Path(name).replace(path)
    except BaseException:
        with suppress(OSError):
            Path(name).unlink()
        raise


def _kept() -> Iterable[tuple[Path, int, float]]:
    """The files with their sizes and times, those of a write that was cut short among them."""
    folder = cache_folder()
    found: list[tuple[Path, int, float]] = []
    with suppress(OSError):
        for path in sorted(folder.iterdir()) if folder is not None else ():
            if path.name.endswith((_SUFFIX, ".tmp")):
                status = path.lstat()
                found.append((path, status.st_size, status.st_mtime))
    return found


def keep_at_most(nbytes: int) -> None:
    """Bound the size of all files together, now and from now on."""
    global _bound
    _bound = nbytes
    _trim()


def kept_nbytes() -> int:
    """What the files take."""
    return sum(nbytes for _, nbytes, _ in _kept())


def _trim() -> None:
    """Remove the files that were not used for longest, until the rest is small enough."""
    kept = sorted(_kept(), key=_time_of)
    most = MAX_NBYTES if _bound is None else _bound
    total = sum(nbytes for _, nbytes, _ in kept)
    for path, nbytes, _ in kept:
        if total <= most:
            return
        with suppress(OSError):
            path.unlink()
            total -= nbytes


def _time_of(kept: tuple[Path, int, float]) -> float:
    return kept[2]
