"""The records of an archive without its directory, against what the directory says: by every way to write one."""

from __future__ import annotations

import io
import itertools
import struct
import zipfile
import zlib
from pathlib import Path

import pytest

from viewer.formats.limits import LIMITS
from viewer.formats.source import FileSource
from viewer.formats.zip_end import end_records, has_directory, place_of_directory
from viewer.formats.zip_format import zip64_values
from viewer.formats.zip_recovery import RecordScan
from viewer.task import run

LOCAL, DESCRIPTOR, CENTRAL = b"PK\3\4", b"PK\7\x08", b"PK\1\2"
PADDING = struct.pack("<HH", 0x4246, 9) + bytes(9) + struct.pack("<HH", 7, 0)
CONTENTS = {
    "a/empty": b"",
    "a/data.pkl": b"\x80\x02N.",
    "a/zeros": bytes(70_000),
    # What looks like a descriptor, of a wrong length and of the right one, and a header.
    "a/liar": b"xx" + DESCRIPTOR + struct.pack("<III", 0, 99, 99) + LOCAL + b"x" * 50,
    "a/twin": b"y" * 100 + DESCRIPTOR + struct.pack("<III", 0, 100, 100) + b"y" * 30,
    "a/last": b"z" * 5_000_000,
}


def local(name: bytes, content: bytes, *, how: str, method: int = 0, extra: bytes = b"", at: int = 0) -> bytes:
    """One record, its sizes in the header, in the 64-bit field, or in a descriptor behind it."""
    data = content
    if method == 8:
        packer = zlib.compressobj(wbits=-15)
        data = packer.compress(content) + packer.flush()
    crc, sizes, flags, tail = zlib.crc32(content), (len(data), len(content)), 0, b""
    if how == "zip64":
        extra += struct.pack("<HHQQ", 1, 16, len(content), len(data))
        sizes = (0xFFFFFFFF, 0xFFFFFFFF)
    elif how.startswith("descriptor"):
        form = "<4sIQQ" if how == "descriptor64" else "<4sIII"
        tail = struct.pack(form, DESCRIPTOR, crc, *sizes)
        crc, sizes, flags = 0, (0, 0), 8
    head = struct.pack("<4sHHHHHIIIHH", LOCAL, 45, flags, method, 0, 33, crc, *sizes, len(name), len(extra))
    return head + name + extra + data + tail


def scanned(path: Path, sizes: dict[str, int] | None = None, until: str = "") -> RecordScan:
    with FileSource(path) as source:
        scan = RecordScan(source, LIMITS)
        run(scan.walk_task(sizes or {}, until=until))
        return scan


@pytest.mark.parametrize("method", [0, 8])
@pytest.mark.parametrize("how", ["header", "zip64", "descriptor", "descriptor64"])
@pytest.mark.parametrize("extra", [b"", PADDING], ids=["plain", "padded"])
@pytest.mark.parametrize("behind", [CENTRAL, b"", b"junk behind"], ids=["directory", "nothing", "junk"])
def test_that_records_are_found_by_what_their_headers_and_descriptors_say(
    method: int, how: str, extra: bytes, behind: bytes, tmp_path: Path
) -> None:
    contents = {name: content for name, content in CONTENTS.items() if name != "a/twin"}
    whole, starts = b"prefix", []
    for name, content in contents.items():
        starts.append(len(whole))
        whole += local(name.encode(), content, how=how, method=method, extra=extra)
    path = tmp_path / "cut.zip"
    path.write_bytes(whole + behind)
    scan = scanned(path)
    directory = scan.directory
    if how.startswith("descriptor") and behind == b"junk behind":
        # No descriptor is believed that is not followed by a record or the end: the last one has none.
        assert scan.cut == len(contents) - 1
        assert directory.names == list(contents)
        return
    assert directory.names == list(contents)
    assert list(directory.header) == starts
    assert list(directory.unpacked) == list(map(len, contents.values()))
    assert directory.prefix == 6
    assert directory.end == len(whole)
    assert (scan.cut, scan.complete) == (None, behind == CENTRAL)
    assert scan.lost == (len(whole) if behind == b"junk behind" else None)


@pytest.mark.parametrize("how", ["descriptor", "descriptor64"])
def test_that_who_knows_the_size_of_a_record_finds_its_end_first(how: str, tmp_path: Path) -> None:
    """The record holds what looks like its end; only its size tells that it is not."""
    inner = local(b"b", b"", how="header")
    content = b"y" * 100 + struct.pack("<4sIII", DESCRIPTOR, 0, 100, 100) + inner
    path = tmp_path / "cut.zip"
    path.write_bytes(local(b"a", content, how=how) + local(b"c", b"1", how="header") + CENTRAL)
    knowing = scanned(path, {"a": len(content)})
    assert knowing.directory.names == ["a", "c"]
    assert list(knowing.directory.packed) == [len(content), 1]
    assert knowing.complete
    guessing = scanned(path)
    assert guessing.directory.names[:2] == ["a", "b"]
    assert guessing.directory.packed[0] == 100
    wrong = scanned(path, {"a": len(content) - 1})
    assert wrong.directory.packed[0] == 100


@pytest.mark.parametrize("left", [0, 1, 29, 30, 31, 32, 40])
def test_that_a_file_that_ends_within_a_record_or_its_header_says_where(left: int, tmp_path: Path) -> None:
    first, second = local(b"a", b"1" * 20, how="header"), local(b"bb", b"2" * 100, how="header")
    path = tmp_path / "cut.zip"
    path.write_bytes(first + second[:left])
    scan = scanned(path)
    assert not scan.complete
    if left < 32:
        assert (scan.directory.names, scan.cut) == (["a"], None)
    else:
        assert (scan.directory.names, scan.cut) == (["a", "bb"], 1)
        assert list(scan.directory.packed) == [20, left - 32]


def test_that_a_walk_stops_at_a_name_and_goes_on_from_there(tmp_path: Path) -> None:
    names = ["m/data.pkl", "m/data/0", "m/data/1"]
    path = tmp_path / "whole.zip"
    path.write_bytes(b"".join(local(name.encode(), b"12", how="descriptor") for name in names) + CENTRAL)
    with FileSource(path) as source:
        scan = RecordScan(source, LIMITS)
        run(scan.walk_task({}, until="/data.pkl"))
        assert (scan.directory.names, scan.complete) == (names[:1], False)
        run(scan.walk_task({}))
        assert (scan.directory.names, scan.complete) == (names, True)
        assert scan.directory.by_name["m/data/1"] == 2


def test_that_64_bit_numbers_are_found_among_other_fields() -> None:
    numbers = struct.pack("<HHQQQ", 1, 24, 1, 2, 3)
    other = struct.pack("<HH", 9, 3) + b"abc"
    assert zip64_values(numbers) == zip64_values(other + numbers) == zip64_values(other * 5 + numbers) == (1, 2, 3)
    assert zip64_values(struct.pack("<HHQ", 1, 8, 7)) == (7,)
    assert zip64_values(struct.pack("<HHQQQQ", 1, 32, 1, 2, 3, 4)) == (1, 2, 3)
    assert zip64_values(numbers[:20]) == (1, 2)
    for nothing in (b"", other, numbers[:3], struct.pack("<HH", 9, 60_000) + numbers):
        assert zip64_values(nothing) == ()


def archive(comment: bytes = b"") -> bytes:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as made:
        made.writestr("a", b"1")
        made.comment = comment
    return sink.getvalue()


@pytest.mark.parametrize(
    ("data", "there"),
    [
        (archive(), True),
        (b"prefix" + archive(), True),
        (archive() + b"junk", True),
        (archive(b"a comment"), True),
        (archive(b"x" * 65_535), True),
        # A comment that looks like an end record of its own.
        (archive(struct.pack("<4sHHHHIIH", b"PK\5\6", 0, 0, 9, 9, 46, 5, 3) + b"xyz"), True),
        (archive(struct.pack("<4sHHHHIIH", b"PK\5\6", 0, 0, 9, 9, 46, 5, 0)), True),
        (archive()[:-1], False),
        (archive()[:-22], False),
        (b"PK\5\6" + bytes(18), False),
        (b"", False),
        (b"PK\5\6", False),
    ],
    ids=itertools.count(),
)
def test_that_a_directory_is_found_behind_and_before_whatever_looks_like_one(
    data: bytes, there: bool, tmp_path: Path
) -> None:
    path = tmp_path / "x.zip"
    path.write_bytes(data)
    with FileSource(path) as source:
        assert has_directory(source) is there


def end64(*, nbytes: int, offset: int, at: int) -> bytes:
    """The 64-bit end record of an archive of one record, and its locator, which says that it stands at `at`."""
    record: bytes = struct.pack("<4sQHHIIQQQQ", b"PK\6\6", 44, 45, 45, 0, 0, 1, 1, nbytes, offset)
    return record + struct.pack("<4sIQI", b"PK\6\7", 0, at, 1)


@pytest.mark.parametrize("shift", [0, 7])
def test_that_64_bit_end_records_are_found_where_they_say_or_before_their_locator(shift: int, tmp_path: Path) -> None:
    body = archive()
    start = body.index(CENTRAL)
    directory = body[start : body.rindex(b"PK\5\6")]
    at = start + len(directory)
    short = struct.pack("<4sHHHHIIH", b"PK\5\6", 0, 0, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0)
    whole = body[:start] + directory + end64(nbytes=len(directory), offset=start, at=at) + short
    path = tmp_path / "x.zip"
    path.write_bytes(bytes(shift) + whole)
    with FileSource(path) as source:
        (end,) = end_records(source)
        assert (end.count, end.nbytes, end.offset, end.position) == (1, len(directory), start, at + shift)
        assert place_of_directory(source, end) == start + shift


@pytest.mark.parametrize(("behind", "is_lost"), [(b"", False), (b"jun", False), (b"junk", True), (b"junk!", True)])
def test_that_bytes_that_are_no_record_are_told_and_less_than_a_signature_is_not(
    behind: bytes, is_lost: bool, tmp_path: Path
) -> None:
    record = local(b"a", b"12", how="header")
    path = tmp_path / "cut.zip"
    path.write_bytes(record + behind)
    scan = scanned(path)
    assert scan.directory.names == ["a"]
    assert scan.lost == (len(record) if is_lost else None)
