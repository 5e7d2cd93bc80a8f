"""One door for every file: told by content, cancelled anywhere, and kind words for what is something else."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import pickle
import struct
import zlib
from pathlib import Path

import pytest
import torch

from tests.formats.container_files import save_legacy, save_zip
from viewer import open_checkpoint
from viewer.errors import MalformedFile, NotACheckpoint, ViewerError
from viewer.formats.opening import READERS, open_task
from viewer.task import Progress, run

LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"4d" * 32 + b"\nsize 123456789\n"

STRANGERS = {
    "empty": (b"", "empty"),
    "lfs": (LFS, r"Git LFS pointer.*123456789.*git lfs pull"),
    "lfs with CRLF": (LFS.replace(b"\n", b"\r\n"), "Git LFS pointer.*123456789"),
    "html": (b"<!DOCTYPE html><html><head><title>Quota exceeded</title></head></html>\n", "HTML page"),
    "html behind a BOM": (b"\xef\xbb\xbf \r\n <HTML>\n<body>Sign in</body></HTML>", "HTML page"),
    "xml": (b'<?xml version="1.0"?><Error><Code>AccessDenied</Code></Error>', "XML page"),
    "json": (b'{"error":"Repository not found"}', r"JSON.*Repository not found"),
    "text": (b"Entry not found", r"text.*Entry not found"),
    "path file": (b"import distutils_hack\n/usr/lib/python3/extra\n", "Python path configuration"),
    "zeros": (bytes(40_000), "nothing but zero bytes"),
    "zeros first": (bytes(9_000) + b"data", "first 9,000 bytes are zero"),
    "zlib": (zlib.compress(pickle.dumps({"a": 1})), "zlib"),
    "gzip": (gzip.compress(b"x"), "gzip-compressed data, and in it a text file"),
    "xz": (lzma.compress(b"<html>"), "xz-compressed data, and in it an HTML page"),
    "bzip2": (bz2.compress(b"{}"), "bzip2-compressed data, and in it JSON"),
    "7z": (b"7z\xbc\xaf\x27\x1c\x00\x04", "7z"),
    "hdf5": (b"\x89HDF\r\n\x1a\n" + bytes(16), "HDF5"),
    "gguf": (b"GGUF\x03\0\0\0" + bytes(16), "GGUF"),
    "onnx": (b"\x08\x07\x12\x07pytorch\x1a\x03", "ONNX"),
    "ggml": (b"lmgg" + bytes(16), "GGML"),
    "mindspore": (b"\x0a\x20\x0a\x07conv1.w\x12\x15\x08\x01\x08\x01\x12\x07Float32\x1a\x04" + bytes(4), "MindSpore"),
    "mindspore scalar": (b"\x0a\x18\x0a\x05epoch\x12\x0f\x12\x05Int32\x1a\x04" + bytes(4), "MindSpore"),
    "mindspore packed": (b"\x0a\x2b\x0a\x0aconv.weigh\x12\x1d\x0a\x01\x01", "MindSpore"),
    "png": (b"\x89PNG\r\n\x1a\n" + bytes(20), "PNG"),
    "jpeg": (b"\xff\xd8\xff\xe0" + bytes(20), "JPEG"),
    "elf": (b"\x7fELF\x02\x01\x01" + bytes(20), "ELF"),
    "flatbuffer": (b"\x20\0\0\0PTMF" + bytes(20), "flatbuffer"),
    "lua": (struct.pack("<ii", 4, 1) + b"\x03\x00\x00\x00V 1", "Lua"),
    "tensorflow": (bytes(range(1, 42)) + bytes.fromhex("57fb808b247547db"), "TensorFlow"),
    "one byte": (b"P", "not a checkpoint"),
    "noise": (bytes([200, 3, 77, 250, 9]) * 50, "no format that is known"),
}


@pytest.mark.parametrize("name", STRANGERS)
@pytest.mark.parametrize("suffix", [".pth", ".safetensors"])
def test_that_a_stranger_is_called_by_its_name_whatever_the_file_is_called(
    tmp_path: Path, name: str, suffix: str
) -> None:
    content, words = STRANGERS[name]
    path = tmp_path / f"model{suffix}"
    path.write_bytes(content)
    with pytest.raises(NotACheckpoint, match=words) as caught:
        open_checkpoint(path)
    assert caught.value.path == path
    assert caught.value.advice
    assert "\n" not in str(caught.value)


INCOMPLETE = {
    "zip": (b"PK\x03\x04", "beginning of a zip archive"),
    "npy": (b"\x93NUMPY\x01\x00", r"beginning of a NumPy array \(\.npy\)"),
    "npy header": (b"\x93NUMPY\x01\x00\x76\x00{'descr'", r"NumPy array \(\.npy\) is incomplete"),
    "gzip": (gzip.compress(bytes(9))[:10], "gzip-compressed data break off at the start"),
    "bzip2": (b"BZh91AY&SY", "bzip2-compressed data break off at the start"),
}


@pytest.mark.parametrize("name", INCOMPLETE)
def test_that_the_beginning_of_a_known_format_is_said_to_be_incomplete(tmp_path: Path, name: str) -> None:
    content, words = INCOMPLETE[name]
    path = tmp_path / "model.pth"
    path.write_bytes(content)
    with pytest.raises(MalformedFile, match=words) as caught:
        open_checkpoint(path)
    assert caught.value.path == path


@pytest.mark.parametrize("name", ["model.pth.tar", "model.safetensors", "model.txt", "model"])
def test_that_the_name_decides_nothing(tmp_path: Path, name: str) -> None:
    assert open_checkpoint(save_zip(tmp_path / name, {"w": torch.ones(2)})).container == "torch zip"
    assert open_checkpoint(save_legacy(tmp_path / name, {"w": torch.ones(2)})).container == "torch legacy"


@pytest.mark.parametrize("protocol", range(6))
def test_that_a_raw_pickle_of_every_protocol_opens(tmp_path: Path, protocol: int) -> None:
    path = tmp_path / "plain.pkl"
    path.write_bytes(pickle.dumps({"a": 1, "b": [1, 2.5], "c": None}, protocol))
    checkpoint = open_checkpoint(path)
    assert checkpoint.container == "pickle"
    assert checkpoint.nodes.value[checkpoint.find("a")] == 1
    assert checkpoint.nodes.value[checkpoint.find("b[1]")] == 2.5


@pytest.mark.parametrize("protocol", range(6))
def test_that_pickles_of_every_protocol_may_stand_in_a_row(tmp_path: Path, protocol: int) -> None:
    path = tmp_path / "row.pkl"
    path.write_bytes(b"".join(pickle.dumps(value, protocol) for value in ({"a": 1}, [5], None, "end")))
    checkpoint = open_checkpoint(path)
    assert checkpoint.nodes.value[checkpoint.find("pickle 2[0]")] == 5
    assert checkpoint.nodes.value[checkpoint.find("pickle 4")] == "end"
    assert checkpoint.warnings == []


def test_that_text_behind_an_old_pickle_is_no_pickle(tmp_path: Path) -> None:
    path = tmp_path / "old.pkl"
    path.write_bytes(pickle.dumps({"a": 1}, 0) + b"Notes: not a pickle.\n")
    checkpoint = open_checkpoint(path)
    assert checkpoint.nodes.value[checkpoint.find("a")] == 1
    assert checkpoint.warnings == ["21 bytes follow the pickle; they are not shown"]


def test_that_pickles_in_a_row_stand_side_by_side(tmp_path: Path) -> None:
    path = tmp_path / "row.pkl"
    path.write_bytes(pickle.dumps({"a": 1}) + pickle.dumps([5, 6]) + pickle.dumps("end"))
    checkpoint = open_checkpoint(path)
    assert checkpoint.nodes.value[checkpoint.find("pickle 1/a")] == 1
    assert checkpoint.nodes.value[checkpoint.find("pickle 2[1]")] == 6
    assert checkpoint.nodes.value[checkpoint.find("pickle 3")] == "end"


def test_that_bytes_behind_a_pickle_are_a_warning(tmp_path: Path) -> None:
    path = tmp_path / "more.pkl"
    path.write_bytes(pickle.dumps({"a": 1}) + b"tail of something")
    checkpoint = open_checkpoint(path)
    assert checkpoint.nodes.value[checkpoint.find("a")] == 1
    assert any("17 bytes follow" in warning for warning in checkpoint.warnings)


def test_that_a_broken_pickle_behind_a_whole_one_is_a_row(tmp_path: Path) -> None:
    path = tmp_path / "more.pkl"
    path.write_bytes(pickle.dumps({"a": 1}) + pickle.dumps([1, 2, 3])[:-2])
    checkpoint = open_checkpoint(path)
    assert checkpoint.nodes.value[checkpoint.find("pickle 1/a")] == 1


def test_that_of_a_pickle_cut_short_the_part_before_is_shown(tmp_path: Path) -> None:
    path = tmp_path / "cut.pkl"
    path.write_bytes(pickle.dumps({"first": 1, "second": [2, 3], "third": "x" * 1000})[:-100])
    checkpoint = open_checkpoint(path)
    assert checkpoint.warnings
    assert checkpoint.nodes.value[checkpoint.find("first")] == 1


def test_that_a_pickle_of_which_nothing_is_left_is_an_error_that_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "cut.pkl"
    path.write_bytes(pickle.dumps({"a": "x" * 1000})[:10])
    with pytest.raises(MalformedFile, match=r"cut\.pkl"):
        open_checkpoint(path)


def test_that_text_that_begins_like_an_old_pickle_is_text(tmp_path: Path) -> None:
    for text in ("Internal server error", "{not json", "(see the README)", json.dumps([1, 2])):
        path = tmp_path / "note.pth"
        path.write_text(text)
        with pytest.raises(NotACheckpoint, match=r"text|JSON"):
            open_checkpoint(path)


def test_that_opening_reports_progress_and_can_stop_at_each_report(tmp_path: Path) -> None:
    path = save_zip(tmp_path / "model.pth", {f"w{number}": torch.ones(2) for number in range(50)})
    reports: list[Progress] = []
    run(open_task(path), reports.append)
    assert len(reports) >= 3
    for stop in range(1, len(reports) + 1):
        task = open_task(path)
        for _ in range(stop):
            next(task)
        task.close()


def test_that_a_file_that_changes_while_it_is_opened_is_noticed(tmp_path: Path) -> None:
    path = save_zip(tmp_path / "model.pth", {"w": torch.ones(2)})
    task = open_task(path)
    next(task)
    with path.open("ab") as appended:
        appended.write(b"x")
    with pytest.raises(ViewerError, match="opened"):
        run(task)


def test_that_readers_have_names_of_their_own() -> None:
    names = [reader.name for reader in READERS]
    assert len(set(names)) == len(names)
