"""Why do two files differ in bytes although, or because, their content is the same or not?

Both files are cut into regions (`viewer.export.regions`), regions that are for the same thing are compared, and each
byte of both files is counted once: as equal, or for a reason. Whether the contents are the same is told by their
canonical forms.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from viewer.checkpoint.document import Checkpoint
from viewer.errors import ViewerError
from viewer.export.canonical import Prepared, prepared
from viewer.export.content_differences import content_differences_task
from viewer.export.explain_results import Explanation, Reason
from viewer.export.options import ExportOptions
from viewer.export.pickle_compare import REASONS, compare_pickles
from viewer.export.regions import Region, RegionKind, regions_of
from viewer.formats.content import content_task
from viewer.formats.source import FileSource
from viewer.task import Progress, Task

_CHUNK_NBYTES: Final = 1 << 20
_MAX_PICKLE: Final = 256 << 20

_TEXTS: Final[dict[RegionKind, str]] = {
    "record header": "headers of the records (versions, flags, times, sizes, checksums)",
    "record name": "names of the records (the archive's folder, storage keys)",
    "padding": "padding and other extra fields of the records",
    "checksum": "checksums and sizes behind the records (they follow from the data)",
    "directory": "the archive's directory (it follows from names, offsets and checksums)",
    "record": "small records of the archive",
    "count": "counts and lengths in front of data",
    "header": "the safetensors header",
    "machine": "facts about the machine that wrote the file",
    "key list": "the list of storage keys (addresses, in old files)",
    "rest": "bytes that belong to nothing",
}


@dataclass(slots=True)
class _Amount:
    a_nbytes: int = 0
    b_nbytes: int = 0
    where: str = ""
    a_at: int = -1
    b_at: int = -1
    places: int = 0
    in_content: bool = False


@dataclass(slots=True)
class _Side:
    source: FileSource
    checkpoint: Checkpoint
    ready: Prepared | None
    regions: list[Region]


@dataclass(slots=True)
class _Account:
    """What was counted so far."""

    amounts: dict[str, _Amount] = field(default_factory=dict)
    a_same: int = 0
    b_same: int = 0
    moved: int = 0

    def add(self, text: str, a: tuple[int, int], b: tuple[int, int], where: str, *, in_content: bool = False) -> None:
        """Count (bytes, offset) of either side for a reason; what belongs to nothing has none."""
        if text == _TEXTS["rest"]:
            return
        amount = self.amounts.setdefault(text, _Amount())
        if not amount.places:
            amount.where = where
            amount.a_at, amount.b_at = a[1], b[1]
        amount.places += 1
        amount.a_nbytes += a[0]
        amount.b_nbytes += b[0]
        amount.in_content |= in_content


def explain_task(a: str | os.PathLike[str], b: str | os.PathLike[str]) -> Task[Explanation]:
    """Account for every byte in which two files differ.

    Raises
    ------
    ViewerError
        When one of them cannot be opened.
    """
    options = ExportOptions(objects="keep")
    contents = [(yield from content_task(a)), (yield from content_task(b))]
    for content in contents:
        if len(content.checkpoint.files) != 1:
            raise ViewerError(
                "this is a checkpoint of several files; bytes are compared file by file",
                path=content.checkpoint.path,
                advice="Give two of its files",
            )
    with FileSource(contents[0].checkpoint.path) as source_a, FileSource(contents[1].checkpoint.path) as source_b:
        sides = []
        for source, content in ((source_a, contents[0]), (source_b, contents[1])):
            ready = prepared(content, options)
            sides.append(
                _Side(
                    source,
                    content.checkpoint,
                    None if ready.obstacles else ready,
                    regions_of(source, content.checkpoint),
                )
            )
        yield Progress(0, source_a.nbytes + source_b.nbytes)
        left, right = sides
        found = yield from content_differences_task(left.ready, right.ready)
        account = _Account()
        yield from _compare_task(left, right, account, found.same_tensors)
        return _explanation(left, right, account, found.digests, found.sentences)


def _compare_task(a: _Side, b: _Side, account: _Account, same_tensors: set[str]) -> Task[None]:
    others = {(region.kind, region.key): region for region in b.regions}
    met: set[tuple[RegionKind, str]] = set()
    total = a.source.nbytes + b.source.nbytes
    done = told = 0
    for region in a.regions:
        key = region.kind, region.key
        other = others.get(key)
        if other is None or key in met:
            account.add(_alone(region, same_tensors), (region.nbytes, region.start), (0, -1), region.key)
            continue
        met.add(key)
        for step in _compare_region(a, b, region, other, account, same_tensors):
            done += step
            if done - told >= 8 << 20:
                told = done
                yield Progress(min(done, total), total)
    for region in b.regions:
        if (region.kind, region.key) not in met:
            account.add(_alone(region, same_tensors), (0, -1), (region.nbytes, region.start), region.key)


def _alone(region: Region, same_tensors: set[str]) -> str:
    """The reason for a region without a counterpart."""
    if region.kind == "values" and region.key in same_tensors:
        return "storages of their own for equal tensors that share one in the other file"
    if region.kind == "values":
        return "values of tensors or storages that only one file has"
    if region.kind == "pickle":
        return "pickles that only one file has"
    if region.kind == "record":
        return f"the record {region.key}, which only one file has"
    if region.kind == "rest":
        return _TEXTS["rest"]
    return f"{_TEXTS[region.kind]}: those without a counterpart in the other file"


def _compare_region(
    a: _Side, b: _Side, one: Region, other: Region, account: _Account, same_tensors: set[str]
) -> Iterator[int]:
    if one.kind == "pickle" and max(one.nbytes, other.nbytes) <= _MAX_PICKLE:
        _compare_pickle_regions(a, b, one, other, account)
        yield one.nbytes + other.nbytes
        return
    if one.nbytes != other.nbytes:
        text, in_content = _size_text(one, same_tensors)
        account.add(text, (one.nbytes, one.start), (other.nbytes, other.start), one.key, in_content=in_content)
        yield one.nbytes + other.nbytes
        return
    different = 0
    first = -1
    for at in range(0, one.nbytes, _CHUNK_NBYTES):
        count = min(_CHUNK_NBYTES, one.nbytes - at)
        left, right = a.source.read(one.start + at, count), b.source.read(other.start + at, count)
        if left != right:
            found, nth = _differing(left, right)
            first = at + nth if first < 0 else first
            different += found
        yield 2 * count
    same = one.nbytes - different
    account.a_same += same
    account.b_same += same
    if one.start != other.start:
        account.moved += same
    if different:
        text, in_content = _value_text(one, same_tensors)
        account.add(
            text, (different, one.start + first), (different, other.start + first), one.key, in_content=in_content
        )


def _differing(a: bytes, b: bytes) -> tuple[int, int]:
    """How many bytes of two equally long ones differ, and where the first is."""
    mixed = (int.from_bytes(a, "big") ^ int.from_bytes(b, "big")).to_bytes(len(a), "big")
    return len(mixed) - mixed.count(0), len(mixed) - len(mixed.lstrip(b"\0"))


def _value_text(region: Region, same_tensors: set[str]) -> tuple[str, bool]:
    if region.kind != "values":
        return _TEXTS[region.kind], False
    if region.key in same_tensors:
        return "the order or form in which equal elements lie (strides, byte order, lazy bits)", False
    return "values of tensors", True


def _size_text(region: Region, same_tensors: set[str]) -> tuple[str, bool]:
    if region.kind != "values":
        return _TEXTS[region.kind], False
    if region.key in same_tensors:
        return "storages of another size around equal tensors (views, expanded ones, compression)", False
    return "values of tensors of another shape, dtype or storage", True


def _compare_pickle_regions(a: _Side, b: _Side, one: Region, other: Region, account: _Account) -> None:
    left, right = a.source.read(one.start, one.nbytes), b.source.read(other.start, other.nbytes)
    amounts = compare_pickles(left, right)
    same_a = len(left) - sum(amount.a_nbytes for amount in amounts.values())
    same_b = len(right) - sum(amount.b_nbytes for amount in amounts.values())
    account.a_same += same_a
    account.b_same += same_b
    if one.start != other.start:
        account.moved += min(same_a, same_b)
    same_content = a.ready is not None and b.ready is not None and a.ready.pickle == b.ready.pickle
    for text, amount in amounts.items():
        if text == REASONS["value"] and same_content:
            text = "other opcodes for the same structure (memo, how objects are made, order of sets)"
        a_at = one.start + amount.a_at if amount.a_at >= 0 else -1
        b_at = other.start + amount.b_at if amount.b_at >= 0 else -1
        account.add(
            f"pickle: {text}",
            (amount.a_nbytes, a_at),
            (amount.b_nbytes, b_at),
            one.key,
            in_content=text == REASONS["value"],
        )


def _explanation(
    a: _Side, b: _Side, account: _Account, digests: tuple[str, str], sentences: list[str]
) -> Explanation:
    reasons = [
        Reason(
            text,
            amount.a_nbytes,
            amount.b_nbytes,
            amount.where,
            amount.a_at,
            amount.b_at,
            amount.places,
            amount.in_content,
        )
        for text, amount in account.amounts.items()
        if amount.a_nbytes or amount.b_nbytes
    ]
    reasons.sort(key=_weight, reverse=True)
    a_left = a.source.nbytes - account.a_same - sum(reason.a_nbytes for reason in reasons)
    b_left = b.source.nbytes - account.b_same - sum(reason.b_nbytes for reason in reasons)
    made = Explanation(
        a.checkpoint.path,
        b.checkpoint.path,
        a.source.nbytes,
        b.source.nbytes,
        account.a_same,
        account.b_same,
        account.moved,
        reasons,
        a_left,
        b_left,
        *digests,
        sentences,
    )
    object.__setattr__(made, "verdict", _verdict(made))
    return made


_FOLLOWING: Final = frozenset({_TEXTS["directory"], _TEXTS["checksum"], _TEXTS["padding"], _TEXTS["record header"]})
"""Reasons that follow from others, and so are not named first."""


def _weight(reason: Reason) -> int:
    return reason.a_nbytes + reason.b_nbytes


def _verdict(found: Explanation) -> str:
    if found.same_bytes and not found.reasons and not found.moved_nbytes:
        return "the files are the same, byte for byte"
    first = [reason.text for reason in found.reasons if reason.text not in _FOLLOWING]
    main = next(iter(first or [reason.text for reason in found.reasons]), "the order of equal parts")
    if found.same_content:
        return f"the content is the same; the bytes differ above all by {main}"
    if not found.a_digest or not found.b_digest:
        return f"the contents cannot be named; the bytes differ above all by {main}"
    return f"the contents differ: {found.content[0] if found.content else main}"
