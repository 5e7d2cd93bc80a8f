"""Our directory parser against zipfile, and what it says about archives that contradict themselves."""

from __future__ import annotations

import struct
import warnings
import zipfile
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from viewer.errors import LimitExceeded, MalformedFile
from viewer.formats.limits import LIMITS
from viewer.formats.source import FileSource
from viewer.formats.zip_directory import ZipDirectory, read_directory
from viewer.formats.zip_end import has_directory
from viewer.formats.zip_records import RecordRanges, layout_of, locate_task
from viewer.formats.zip_recovery import RecordScan
from viewer.task import run


def write(path: Path, records: dict[str, bytes], compression: int = zipfile.ZIP_STORED) -> Path:
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, data in records.items():
            archive.writestr(name, data)
    return path


def directory_of(path: Path) -> ZipDirectory:
    with FileSource(path) as source:
        return read_directory(source, LIMITS)


def ranges_of(path: Path, wanted: Iterable[int] | None = None) -> tuple[ZipDirectory, RecordRanges]:
    with FileSource(path) as source:
        directory = read_directory(source, LIMITS)
        return directory, run(
            locate_task(
                source, directory, layout_of(source, directory), range(len(directory)) if wanted is None else wanted
            )
        )


def assert_like_zipfile(path: Path) -> ZipDirectory:
    directory, ranges = ranges_of(path)
    with zipfile.ZipFile(path) as archive:
        infos = archive.infolist()
        assert directory.names == [info.orig_filename for info in infos]
        assert list(directory.flags) == [info.flag_bits for info in infos]
        assert list(directory.method) == [info.compress_type for info in infos]
        assert list(directory.crc) == [info.CRC for info in infos]
        assert list(directory.packed) == [info.compress_size for info in infos]
        assert list(directory.unpacked) == [info.file_size for info in infos]
        assert list(directory.header) == [info.header_offset for info in infos]
        assert ranges.problem == {}
        whole = path.read_bytes()
        for number, info in list(enumerate(infos))[:: 1 + len(infos) // 500]:
            start, packed = ranges.start[number], directory.packed[number]
            if info.compress_type == zipfile.ZIP_STORED:
                assert whole[start : start + packed] == archive.read(info)
    return directory


def _without_signature(comment: bytes) -> bool:
    """zipfile takes the last end record's signature for the true one, even in a comment."""
    return b"PK" not in comment


names = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=30)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    records=st.dictionaries(names, st.binary(max_size=40), max_size=30),
    comment=st.binary(max_size=50).filter(_without_signature),
)
def test_that_any_archive_reads_as_zipfile_reads_it(
    tmp_path: Path, records: dict[str, bytes], comment: bytes
) -> None:
    path = write(tmp_path / "any.zip", records)
    with zipfile.ZipFile(path, "a") as archive:
        archive.comment = comment
    assert_like_zipfile(path)


@pytest.mark.parametrize("first", [1, 95, 9_990])
def test_that_long_rows_of_numbered_records_read_as_zipfile_reads_them(tmp_path: Path, first: int) -> None:
    records = {f"model/data/{number}": struct.pack("<q", number) for number in range(first, first + 6_000)}
    records["model/a name of another length"] = b"x"
    records |= {f"model/data/{number}": b"" for number in range(20_000, 20_300)}
    assert_like_zipfile(write(tmp_path / "numbered.zip", records))


def test_that_names_of_varying_length_read_as_zipfile_reads_them(tmp_path: Path) -> None:
    records = {"x" * (1 + number * 7919 % 60) + str(number): b"" for number in range(3_000)}
    assert_like_zipfile(write(tmp_path / "varied.zip", records))


def test_that_large_records_far_apart_are_located_too(tmp_path: Path) -> None:
    records = {f"model/data/{number}": bytes([number]) * 100_000 for number in range(20)}
    assert_like_zipfile(write(tmp_path / "large.zip", records))


def test_that_extra_fields_and_record_comments_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "extra.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for number in range(50):
            info = zipfile.ZipInfo(f"data/{number}")
            info.extra = struct.pack("<HH", 0x4246, number) + b"Z" * number
            info.comment = b"c" * (number % 5)
            archive.writestr(info, b"12345678")
    assert_like_zipfile(path)


def test_that_cp437_names_are_decoded_as_the_format_demands(tmp_path: Path) -> None:
    path = write(tmp_path / "old.zip", {"m?del/data.pkl": b"x"})
    path.write_bytes(path.read_bytes().replace(b"m?del", b"m\x94del"))
    assert directory_of(path).names == ["mödel/data.pkl"]
    assert_like_zipfile(path)


def test_that_many_records_and_thus_a_zip64_end_record_read_as_zipfile_reads_them(tmp_path: Path) -> None:
    path = write(tmp_path / "many.zip", {f"d/{number}": b"" for number in range(70_000)})
    assert len(assert_like_zipfile(path)) == 70_000


def test_that_records_with_one_name_are_told(tmp_path: Path) -> None:
    path = tmp_path / "twice.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a/data/0", b"first")
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr("a/data/0", b"second")
        archive.writestr("A/Data/0", b"third")
        archive.writestr("a/data/1", b"other")
    directory = directory_of(path)
    assert directory.duplicates == ["a/data/0", "A/Data/0"]
    assert [warning for warning in directory.warnings if "twice" in warning] == [
        f"the archive stores {name!r} twice or more; the one that torch reads is shown"
        for name in ("a/data/0", "A/Data/0")
    ]


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    names=st.lists(
        st.sampled_from(["data/0", "data/1", "DATA/0", "Data/1", "data/10", "x", "é", "É", "version"]),
        min_size=1,
        max_size=25,
    )
)
def test_that_of_records_with_one_name_the_one_is_taken_that_torch_takes(tmp_path: Path, names: list[str]) -> None:
    path = tmp_path / "names.zip"
    names = ["version", *names]
    with zipfile.ZipFile(path, "w") as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        for number, name in enumerate(names):
            archive.writestr(f"m/{name}", b"3" if name == "version" else str(number))
    directory = directory_of(path)
    reader = torch._C.PyTorchFileReader(str(path))
    for name in set(names) - {"version"}:
        assert directory.by_name[f"m/{name}"] == int(reader.get_record(name)), name


def test_that_a_file_without_a_directory_is_said_to_be_incomplete(tmp_path: Path) -> None:
    path = write(tmp_path / "cut.zip", {"a": b"1" * 100})
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(MalformedFile, match=r"cut\.zip.*incomplete.*missing"):
        directory_of(path)
    with FileSource(path) as source:
        assert not has_directory(source)


def test_that_an_empty_archive_has_no_records(tmp_path: Path) -> None:
    assert len(directory_of(write(tmp_path / "empty.zip", {}))) == 0


def test_that_a_limit_on_records_is_kept(tmp_path: Path) -> None:
    path = write(tmp_path / "many.zip", {f"d/{number}": b"" for number in range(6_000)})
    with FileSource(path) as source, pytest.raises(LimitExceeded, match="more than 5,000 records"):
        read_directory(source, replace(LIMITS, zip_entries=5_000))


def _patched(path: Path, signature: bytes, at: int, data: bytes, nth: int = 0) -> Path:
    """Overwrite bytes behind the nth signature."""
    whole = bytearray(path.read_bytes())
    found = -1
    for _ in range(nth + 1):
        found = whole.index(signature, found + 1)
    whole[found + at : found + at + len(data)] = data
    path.write_bytes(whole)
    return path


@pytest.fixture
def two(tmp_path: Path) -> Path:
    return write(tmp_path / "two.zip", {"m/data/0": b"0" * 100, "m/data/1": b"1" * 100})


@pytest.mark.parametrize("offset", [0, 7, 2**32 - 2])
def test_that_a_directory_that_is_not_where_the_end_says_is_found_before_the_end_record(
    two: Path, offset: int
) -> None:
    _patched(two, b"PK\5\6", 16, struct.pack("<I", offset))
    directory = directory_of(two)
    assert directory.names == ["m/data/0", "m/data/1"]


def test_that_a_directory_size_that_lies_is_an_error(two: Path) -> None:
    _patched(two, b"PK\5\6", 12, struct.pack("<I", 60))
    with pytest.raises(MalformedFile, match="breaks off"):
        directory_of(two)


def test_that_a_directory_that_breaks_off_is_an_error(two: Path) -> None:
    _patched(two, b"PK\1\2", 28, struct.pack("<H", 60_000), nth=1)
    with pytest.raises(MalformedFile, match="breaks off"):
        directory_of(two)


def test_that_a_wrong_number_of_records_is_a_warning(two: Path) -> None:
    _patched(two, b"PK\5\6", 10, struct.pack("<H", 9))
    directory = directory_of(two)
    assert len(directory) == 2
    assert any("2 records, but its end record says 9" in warning for warning in directory.warnings)


def test_that_missing_zip64_sizes_are_an_error(two: Path) -> None:
    whole = two.read_bytes()
    start = whole.index(b"PK\1\2")
    entry = bytearray(whole[start : start + 46 + 8])
    entry[24:28] = b"\xff" * 4
    entry[42:46] = b"\xff" * 4
    entry[30:32] = struct.pack("<H", 12)
    entry += struct.pack("<HHQ", 1, 8, 100)  # one of the two that are asked for
    rest = whole[start + 54 : whole.index(b"PK\5\6")]
    end = struct.pack("<4sHHHHIIH", b"PK\5\6", 0, 0, 2, 2, len(entry) + len(rest), start, 0)
    two.write_bytes(whole[:start] + entry + rest + end)
    with pytest.raises(MalformedFile, match="zip64"):
        directory_of(two)


def problems_of(path: Path) -> dict[str, str]:
    directory, ranges = ranges_of(path)
    return {directory.names[number]: problem for number, problem in ranges.problem.items()}


def test_that_a_size_that_reaches_into_the_next_record_is_an_overlap(two: Path) -> None:
    _patched(two, b"PK\1\2", 20, struct.pack("<II", 130, 130))
    assert problems_of(two) == {"m/data/0": "its bytes overlap those of another record"}


def test_that_a_size_that_reaches_into_the_directory_is_told(two: Path) -> None:
    _patched(two, b"PK\1\2", 20, struct.pack("<II", 101, 101), nth=1)
    assert problems_of(two) == {"m/data/1": "its bytes would reach into the zip directory"}


def test_that_a_size_beyond_the_end_of_the_file_is_told_with_numbers(two: Path) -> None:
    _patched(two, b"PK\1\2", 20, struct.pack("<II", 1_000_000, 1_000_000), nth=1)
    (problem,) = problems_of(two).values()
    assert "of its 1,000,000 bytes are beyond the end of the file" in problem


def test_that_two_names_for_one_record_are_an_overlap(two: Path) -> None:
    _patched(two, b"PK\1\2", 42, struct.pack("<I", 0), nth=1)
    assert set(problems_of(two)) == {"m/data/0", "m/data/1"}


def test_that_a_header_offset_that_lies_is_told(two: Path) -> None:
    _patched(two, b"PK\1\2", 42, struct.pack("<I", 5))
    assert "no record begins at byte 5" in problems_of(two)["m/data/0"]
    _patched(two, b"PK\1\2", 42, struct.pack("<I", 2**31))
    assert "beyond the end of the file" in problems_of(two)["m/data/0"]


def test_that_another_name_in_the_local_header_is_told(two: Path) -> None:
    _patched(two, b"PK\3\4", 30, b"m/data/7")
    assert "another name" in problems_of(two)["m/data/0"]


def test_that_a_name_length_in_the_local_header_that_lies_is_told(two: Path) -> None:
    _patched(two, b"PK\3\4", 26, struct.pack("<H", 4))
    assert "another name" in problems_of(two)["m/data/0"]


def test_that_two_sizes_of_a_stored_record_are_told(two: Path) -> None:
    _patched(two, b"PK\1\2", 24, struct.pack("<I", 4_000))
    assert "two different sizes" in problems_of(two)["m/data/0"]


def test_that_encryption_is_told_whichever_place_says_it(two: Path) -> None:
    _patched(two, b"PK\1\2", 8, b"\1\0")
    _patched(two, b"PK\3\4", 6, b"\1\0", nth=1)
    assert problems_of(two) == {"m/data/0": "it is encrypted", "m/data/1": "it is encrypted"}


def test_that_an_unknown_compression_is_named(two: Path) -> None:
    for signature, at in ((b"PK\1\2", 10), (b"PK\3\4", 8)):
        _patched(two, signature, at, struct.pack("<H", 14))
        _patched(two, signature, at, struct.pack("<H", 77), nth=1)
    assert "lzma" in problems_of(two)["m/data/0"]
    assert "method 77" in problems_of(two)["m/data/1"]


def test_that_disagreement_about_the_compression_is_told(two: Path) -> None:
    _patched(two, b"PK\3\4", 8, struct.pack("<H", 8))
    assert "disagree" in problems_of(two)["m/data/0"]


def test_that_only_the_records_asked_for_are_located(two: Path) -> None:
    _, ranges = ranges_of(two, [1])
    assert list(ranges.start) == [1]


def recovered(path: Path, sizes: dict[str, int] | None = None) -> RecordScan:
    with FileSource(path) as source:
        scan = RecordScan(source, LIMITS)
        run(scan.walk_task(sizes or {}))
        return scan


@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_that_records_are_found_without_the_directory(tmp_path: Path, compression: int) -> None:
    records = {f"m/data/{number}": bytes([number]) * number * 100 for number in range(30)}
    path = write(tmp_path / "whole.zip", records, compression)
    there = directory_of(path)
    path.write_bytes(path.read_bytes()[: there.end])
    scan = recovered(path)
    assert scan.directory.names == there.names
    assert list(scan.directory.packed) == list(there.packed)
    assert list(scan.directory.unpacked) == list(there.unpacked)
    assert list(scan.directory.header) == list(there.header)
    assert scan.cut is None


def test_that_the_record_in_which_the_file_breaks_off_is_known(tmp_path: Path) -> None:
    path = write(tmp_path / "cut.zip", {"a": b"1" * 100, "b": b"2" * 100, "c": b"3" * 100})
    start = ranges_of(path)[1].start[1]
    path.write_bytes(path.read_bytes()[: start + 40])
    scan = recovered(path)
    assert scan.directory.names == ["a", "b"]
    assert scan.cut == 1
    assert list(scan.directory.packed) == [100, 40]
    assert not scan.complete


def test_that_a_walk_that_comes_to_the_directory_is_complete(two: Path) -> None:
    two.write_bytes(two.read_bytes()[:-30])
    assert recovered(two).complete


def test_that_a_name_that_is_not_the_utf_8_it_should_be_is_still_the_same_name_in_both_places(tmp_path: Path) -> None:
    path = write(tmp_path / "names.zip", {"m/é": b"1", "m/b": b"2"})
    path.write_bytes(path.read_bytes().replace("é".encode(), b"\xc3\x28"))
    directory, ranges = ranges_of(path)
    assert directory.names == ["m/�(", "m/b"]
    assert ranges.problem == {}


def test_that_records_in_any_order_and_behind_the_directory_have_their_limits(tmp_path: Path) -> None:
    path = write(tmp_path / "order.zip", {"a": b"1" * 10, "b": b"2" * 20, "c": b"3" * 30})
    whole = path.read_bytes()
    start = whole.index(b"PK\1\2")
    entries = [whole[start + 47 * nth : start + 47 * (nth + 1)] for nth in range(3)]
    end = whole[start + 47 * 3 :]
    path.write_bytes(whole[:start] + entries[2] + entries[0] + entries[1] + end)
    directory, ranges = ranges_of(path)
    assert directory.names == ["c", "a", "b"]
    assert ranges.problem == {}
    # the directory now stands before the last record, where the end record says it does
    third = struct.unpack("<I", entries[2][42:46])[0]
    entries[2] = entries[2][:42] + struct.pack("<I", third + 47 * 3) + entries[2][46:]
    moved = whole[:third] + b"".join(entries) + whole[third:start] + end[:16] + struct.pack("<I", third) + end[20:]
    path.write_bytes(moved)
    directory, ranges = ranges_of(path)
    assert ranges.problem == {}
    assert [moved[at : at + 3] for _, at in sorted(ranges.start.items())] == [b"111", b"222", b"333"]
