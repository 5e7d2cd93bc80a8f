"""safetensors files made to lie: each ends in a tree or in one clear sentence, in bounded time and memory."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import pytest

from tests.attacks.file_attack import FileReport, open_hostile_file

W = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}


def attack(folder: Path, header: object, data: bytes = bytes(8), *, claimed: int | None = None) -> FileReport:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path = folder / "hostile.safetensors"
    path.write_bytes(struct.pack("<Q", len(text) if claimed is None else claimed) + text + data)
    return open_hostile_file(path)


def refused(report: FileReport, words: str) -> None:
    assert report.outcome.startswith(("MalformedFile: ", "LimitExceeded: ")), report.outcome
    assert words in report.outcome
    assert "hostile.safetensors" in report.outcome


@pytest.mark.parametrize("claimed", [1 << 10, 1 << 32, 2**62, 2**63 - 1])
def test_that_a_header_longer_than_the_file_is_refused(tmp_path: Path, claimed: int) -> None:
    refused(attack(tmp_path, {"w": W}, claimed=claimed), "longer than the file")


def test_that_a_header_of_gigabytes_in_a_sparse_file_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "hostile.safetensors"
    with path.open("wb") as file:
        file.write(struct.pack("<Q", 1 << 32) + b'{"w":')
        file.truncate(1 << 33)
    refused(open_hostile_file(path), "the format allows 100,000,000")


def test_that_a_header_that_ends_too_early_is_refused(tmp_path: Path) -> None:
    refused(attack(tmp_path, {"w": W}, claimed=20), "the safetensors header")


@pytest.mark.parametrize("claimed", [2, 9])
def test_that_a_header_too_short_to_be_one_is_no_tree_of_nonsense(tmp_path: Path, claimed: int) -> None:
    report = attack(tmp_path, {"w": W}, claimed=claimed)
    assert report.outcome != "opened"
    assert "hostile.safetensors" in report.outcome


@pytest.mark.parametrize(
    ("offsets", "words"),
    [
        ([4, 12], "incomplete"),
        ([8, 0], "not the 8 bytes of its shape"),
        ([2**62, 2**62 + 8], "bytes"),
        ([2**63 - 9, 2**63 - 1], "bytes"),
        ([0, 2**62], "not the 8 bytes of its shape"),
        ([-8, 0], "not {dtype, shape, data_offsets}"),
        ([2**64, 2**64 + 8], "not {dtype, shape, data_offsets}"),
    ],
)
def test_that_offsets_out_of_range_are_told_at_the_tensor(tmp_path: Path, offsets: list[int], words: str) -> None:
    report = attack(tmp_path, {"w": {**W, "data_offsets": offsets}})
    assert report.outcome == "opened"
    assert any(words in problem for problem in report.problems), report.problems


@pytest.mark.parametrize("shape", [[2**32, 2**32], [2**62, 2, 2], [2**62] * 64, [0, 2**62, 2**62]])
def test_that_shapes_whose_product_overflows_are_told(tmp_path: Path, shape: list[int]) -> None:
    report = attack(tmp_path, {"w": {**W, "shape": shape}})
    assert report.outcome == "opened"
    assert report.problems


def test_that_overlapping_tensors_are_shown_and_told(tmp_path: Path) -> None:
    report = attack(tmp_path, {"a": W, "b": {**W, "data_offsets": [4, 12]}}, bytes(12))
    assert report.tensors == 2
    assert any("overlap" in warning for warning in report.warnings)


def test_that_many_tensors_over_the_same_bytes_cost_no_more_than_their_rows(tmp_path: Path) -> None:
    report = attack(tmp_path, {f"w{n}": W for n in range(100_000)})
    assert report.tensors == 100_000
    assert any("overlap" in warning for warning in report.warnings)
    assert len(report.warnings) < 20


def test_that_a_name_given_twice_is_shown_once_and_told(tmp_path: Path) -> None:
    entry = json.dumps(W).encode()
    report = attack(tmp_path, b'{"w":' + entry + b',"w":' + entry + b"}")
    assert report.tensors == 1
    assert any("twice" in problem for problem in report.problems)


def test_that_one_name_given_a_hundred_thousand_times_is_refused(tmp_path: Path) -> None:
    entry = b'"w":' + json.dumps(W).encode()
    refused(attack(tmp_path, b"{" + b",".join([entry] * 100_000) + b"}"), "describe no tensor")


@pytest.mark.parametrize(
    "header",
    [
        b'{"w":' + b"[" * 10_000_000,
        b'{"w":' + b'{"a":' * 5_000_000,
        b'{"w":{"dtype":"F32","shape":' + b"[" * 60_000 + b"]" * 60_000 + b',"data_offsets":[0,8]}}',
        b'{"__metadata__":{"a":' + b"[" * 60_000 + b"]" * 60_000 + b"}}",
        b'{"__metadata__":' + b'{"a":' * 5_000_000,
    ],
    ids=["lists", "maps", "in a shape", "in metadata", "metadata in metadata"],
)
def test_that_deep_json_is_refused(tmp_path: Path, header: bytes) -> None:
    refused(attack(tmp_path, header), "header")


@pytest.mark.parametrize(
    "header",
    [
        b'{"' + b"a" * 90_000_000,
        b'{"' + b"\\\\" * 45_000_000,
        b'{"a":' + b"1" * 90_000_000,
        b"{" + b'"a":0,' * 15_000_000,
        b'{"w":{"dtype":"F32","shape":[' + b"1," * 45_000_000,
    ],
    ids=[
        "an endless name",
        "endless escapes",
        "an endless number",
        "15 million entries",
        "an endless shape",
    ],
)
def test_that_a_header_of_90_mb_of_nothing_is_refused(tmp_path: Path, header: bytes) -> None:
    refused(attack(tmp_path, header), "header")


def test_that_a_header_of_blanks_alone_is_no_checkpoint(tmp_path: Path) -> None:
    report = attack(tmp_path, b"{" + b" " * 90_000_000)
    assert report.outcome.startswith("NotACheckpoint: hostile.safetensors: ")


def test_that_metadata_of_many_megabytes_is_bounded(tmp_path: Path) -> None:
    report = attack(tmp_path, {"__metadata__": {"text": "x" * 50_000_000}, "w": W})
    assert report.outcome == "opened"
    assert report.tensors == 1


def test_that_the_harness_hears_what_is_set_off(tmp_path: Path) -> None:
    """Were the hook deaf, every attack would pass."""
    import subprocess
    import sys

    from tests.attacks.file_attack import ROOT

    path = tmp_path / "model.safetensors"
    path.write_bytes(struct.pack("<Q", 2) + b"{}")
    code = (
        "import sys, pathlib; sys.path.insert(0, 'tests/attacks'); import file_child\n"
        "real = file_child.run\n"
        "def hostile(task):\n    exec('pass')\n    open('/dev/null', 'w').close()\n    return real(task)\n"
        f"file_child.run = hostile\nfile_child.main(pathlib.Path({str(path)!r}))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    events = json.loads(done.stdout)["events"]
    assert any(event.startswith("exec") for event in events)
    assert any(event.startswith("open") for event in events)
