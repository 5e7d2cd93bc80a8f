"""Local headers looked at many at a time, against one at a time."""

from __future__ import annotations

import struct
import zipfile
from pathlib import Path

import pytest

from viewer.formats import zip_records
from viewer.formats.limits import LIMITS
from viewer.formats.source import FileSource
from viewer.formats.zip_directory import read_directory
from viewer.formats.zip_records import RecordRanges, layout_of, locate_task
from viewer.task import run

COUNT = 700


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "many.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for n in range(COUNT):
            archive.writestr(f"m/data/{n}", bytes(n % 40))
    return path


def local_header(path: Path, nth: int) -> int:
    with zipfile.ZipFile(path) as archive:
        return archive.infolist()[nth].header_offset


def patch(path: Path, nth: int, at: int, raw: bytes) -> None:
    offset = local_header(path, nth) + at
    data = bytearray(path.read_bytes())
    data[offset : offset + len(raw)] = raw
    path.write_bytes(data)


def located(path: Path) -> RecordRanges:
    with FileSource(path) as source:
        directory = read_directory(source, LIMITS)
        return run(locate_task(source, directory, layout_of(source, directory), range(len(directory))))


def assert_same_one_by_one(path: Path, monkeypatch: pytest.MonkeyPatch) -> RecordRanges:
    found = located(path)
    calls = []

    def none(*_: object) -> list[int]:
        calls.append(1)
        return []

    monkeypatch.setattr(zip_records, "starts_of_run", none)
    assert located(path) == found
    assert calls
    return found


def test_that_sound_headers_give_what_zipfile_reads(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = assert_same_one_by_one(file, monkeypatch)
    assert found.problem == {}
    for nth in (0, 9, 10, 99, 100, 555, COUNT - 1):
        assert found.start[nth] == local_header(file, nth) + 30 + len(f"m/data/{nth}")


@pytest.mark.parametrize(
    ("at", "raw", "problem"),
    [
        (0, b"XX", "no record begins"),
        (6, b"\x01", "encrypted"),
        (8, b"\x08", "disagree about the compression"),
        (26, struct.pack("<H", 3), "another name"),
        (28, struct.pack("<H", 60_000), "overlap"),
        (30 + 7, b"X", "another name"),
    ],
    ids=["signature", "flags", "method", "name length", "extra length", "name"],
)
@pytest.mark.parametrize("nth", [1, 250, 500, COUNT - 2])
def test_that_one_bad_header_among_many_is_found(
    file: Path, nth: int, at: int, raw: bytes, problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    patch(file, nth, at, raw)
    found = assert_same_one_by_one(file, monkeypatch)
    assert list(found.problem) == [nth]
    assert (
        problem in found.problem[nth]
        or "beyond the end" in found.problem[nth]
        or "into the zip" in found.problem[nth]
    )


def test_that_names_are_found_by_their_end(tmp_path: Path) -> None:
    for names in (["a/data.pkl", "b/data.pkl", "data.pkl", "data.pkl.bak", "c/other"], ["c/other"], ["data.pkl"]):
        path = tmp_path / "names.zip"
        with zipfile.ZipFile(path, "w") as archive:
            for name in names:
                archive.writestr(name, b"")
        with FileSource(path) as source:
            directory = read_directory(source, LIMITS)
        expected = [name for name in names if name.endswith("data.pkl")]
        assert directory.names_with_end("data.pkl") == expected
        directory.by_name["with\0mark/data.pkl"] = 0
        assert directory.names_with_end("data.pkl") == [*expected, "with\0mark/data.pkl"]


def test_that_no_record_reaches_beyond_the_file_where_the_next_is_said_to_lie_there(file: Path) -> None:
    with FileSource(file) as source:
        directory = read_directory(source, LIMITS)
        directory.end = 0  # the records are said to follow the directory
        directory.header[COUNT - 1] = source.nbytes + 1_000
        limits = layout_of(source, directory).limit
    assert max(limits) == source.nbytes
