"""Records of bzip2 and LZMA data, which Python's zipfile writes and torch does not read."""

from __future__ import annotations

import bz2
import zipfile
from pathlib import Path

import pytest
import torch

from tests.formats.container_files import rezip, save_zip
from viewer import open_checkpoint
from viewer.checkpoint.document import Checkpoint
from viewer.errors import MalformedFile
from viewer.formats.byte_source import MemorySource
from viewer.formats.checksums import MISMATCH, check_task
from viewer.formats.decompress import decompress_task
from viewer.formats.zip_format import BZIP2_METHOD, LZMA_METHOD
from viewer.task import run
from viewer.tensors.reading import read_values

METHODS = [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA]
WHOLE = torch.arange(3_000.0)
CONTENT = {"w": WHOLE, "v": WHOLE[10:20], "n": 3}


def packed(folder: Path, method: int) -> Path:
    return rezip(save_zip(folder / "plain.pth", CONTENT), folder / "packed.pth", compression=method)


def values_of(checkpoint: Checkpoint, path: str) -> torch.Tensor:
    tensor = checkpoint.tensor_of_node(checkpoint.find(path))
    assert tensor is not None
    return read_values(checkpoint, tensor)


@pytest.mark.parametrize("method", METHODS)
def test_that_values_are_read_and_the_compression_is_said_once(tmp_path: Path, method: int) -> None:
    checkpoint = open_checkpoint(packed(tmp_path, method))
    assert torch.equal(values_of(checkpoint, "w"), WHOLE)
    assert torch.equal(values_of(checkpoint, "v"), torch.arange(10.0, 20.0))
    name = "bzip2" if method == zipfile.ZIP_BZIP2 else "lzma"
    assert checkpoint.warnings == [f"records are compressed with {name}, which torch does not read"]
    assert run(check_task(checkpoint)) == []


@pytest.mark.parametrize("method", METHODS)
def test_that_damage_is_a_problem_of_its_row_or_a_wrong_checksum(tmp_path: Path, method: int) -> None:
    path = packed(tmp_path, method)
    with zipfile.ZipFile(path) as archive:
        (record,) = [info for info in archive.infolist() if info.filename.endswith("data/0")]
    data = bytearray(path.read_bytes())
    data[record.header_offset + 30 + len(record.filename) + record.compress_size // 2] ^= 0xFF
    path.write_bytes(data)
    checkpoint = open_checkpoint(path)
    ((_, problem),) = run(check_task(checkpoint))
    assert "compressed record" in problem or problem == MISMATCH
    assert checkpoint.nodes.value[checkpoint.find("n")] == 3


def test_that_storages_too_large_for_memory_say_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("viewer.formats.zip_storages._UNPACKED_NBYTES", 10_000)
    checkpoint = open_checkpoint(packed(tmp_path, zipfile.ZIP_BZIP2))
    (problem,) = checkpoint.storages.problem.values()
    assert "too large to be unpacked into memory" in problem


ODD_HEADS = [b"", b"\x09\x14\x05\x00\x5d", b"\x09\x14\x04\x00" + bytes(9), b"\x09\x14\x05\x00\xff" + bytes(8)]


@pytest.mark.parametrize("head", ODD_HEADS)
def test_that_odd_properties_of_lzma_are_refused(head: bytes) -> None:
    with pytest.raises(MalformedFile):
        run(decompress_task(MemorySource(head, Path("m")), 0, len(head), 10, LZMA_METHOD))


def test_that_no_record_grows_beyond_its_size() -> None:
    data = bz2.compress(bytes(50_000_000))
    with pytest.raises(MalformedFile, match="does not hold the 10 bytes"):
        run(decompress_task(MemorySource(data, Path("m")), 0, len(data), 10, BZIP2_METHOD))
