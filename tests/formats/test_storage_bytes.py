"""Bytes of storages by position: stored, deflated and inline; from changed files not at all."""

from __future__ import annotations

import os
import random
import threading
import zipfile
from pathlib import Path

import pytest
import torch

from tests.formats.container_files import rezip, save_zip, torch_bytes
from viewer import open_checkpoint
from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.tensors import DEFLATED, StorageRef
from viewer.errors import FileChanged, MalformedFile, ViewerError
from viewer.formats.storage_bytes import StorageReader

MIB = 1 << 20


@pytest.fixture(scope="module")
def values() -> torch.Tensor:
    """41 MiB that deflate well, and differ everywhere."""
    return torch.arange(41 * MIB // 4 + 3, dtype=torch.int32) // 5


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory, values: torch.Tensor) -> Path:
    return save_zip(tmp_path_factory.mktemp("stored") / "model.pth", {"w": values, "v": torch.ones(3)})


@pytest.fixture(scope="module")
def deflated(stored: Path) -> Path:
    return rezip(stored, stored.with_name("deflated.pth"), compression=zipfile.ZIP_DEFLATED)


def first(checkpoint: Checkpoint) -> StorageRef:
    return checkpoint.storage(0)


@pytest.mark.parametrize("kind", ["stored", "deflated"])
def test_that_pieces_read_forwards_are_the_bytes_of_the_tensor(
    kind: str, values: torch.Tensor, request: pytest.FixtureRequest
) -> None:
    checkpoint = open_checkpoint(request.getfixturevalue(kind))
    storage, expected = first(checkpoint), torch_bytes(values)
    buffer = bytearray(MIB + 12_345)
    with StorageReader(checkpoint) as reader:
        for offset in range(0, storage.nbytes, len(buffer)):
            piece = memoryview(buffer)[: min(len(buffer), storage.nbytes - offset)]
            reader.read_into(storage, offset, piece)
            assert piece == expected[offset : offset + len(piece)]


def test_that_deflated_pieces_in_any_order_are_the_bytes_of_the_tensor(deflated: Path, values: torch.Tensor) -> None:
    checkpoint = open_checkpoint(deflated)
    storage, expected = first(checkpoint), torch_bytes(values)
    assert storage.encoding == DEFLATED
    chosen = random.Random(1)
    offsets = [
        0,
        storage.nbytes - 1,
        20 * MIB,
        storage.nbytes,
        *(chosen.randrange(storage.nbytes) for _ in range(25)),
    ]
    with StorageReader(checkpoint) as reader:
        for offset in offsets:
            buffer = bytearray(min(100_000, storage.nbytes - offset))
            reader.read_into(storage, offset, buffer)
            assert buffer == expected[offset : offset + len(buffer)]


@pytest.mark.parametrize("kind", ["stored", "deflated"])
def test_that_threads_may_read_one_storage_side_by_side(
    kind: str, values: torch.Tensor, request: pytest.FixtureRequest
) -> None:
    checkpoint = open_checkpoint(request.getfixturevalue(kind))
    storage, expected = first(checkpoint), torch_bytes(values)
    wrong: list[int] = []

    def read(start: int) -> None:
        buffer = bytearray(MIB)
        for offset in range(start * MIB, storage.nbytes - MIB, 3 * MIB):
            reader.read_into(storage, offset, buffer)
            if buffer != expected[offset : offset + MIB]:
                wrong.append(offset)

    with StorageReader(checkpoint) as reader:
        threads = [threading.Thread(target=read, args=(start,)) for start in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert wrong == []


@pytest.mark.parametrize(("offset", "nbytes"), [(-1, 4), (0, 41 * MIB + 13), (41 * MIB + 12, 1), (1 << 60, 1)])
def test_that_a_range_outside_the_storage_is_refused(stored: Path, offset: int, nbytes: int) -> None:
    checkpoint = open_checkpoint(stored)
    with StorageReader(checkpoint) as reader, pytest.raises(MalformedFile, match="of storage 0 are needed"):
        reader.read_into(first(checkpoint), offset, bytearray(nbytes))


def test_that_nothing_is_opened_before_it_is_read(tmp_path: Path) -> None:
    path = save_zip(tmp_path / "model.pth", {"w": torch.ones(3)})
    checkpoint = open_checkpoint(path)
    path.unlink()
    with StorageReader(checkpoint) as reader, pytest.raises(ViewerError, match="moved or deleted"):
        reader.read_into(first(checkpoint), 0, bytearray(4))


def test_that_a_file_that_changed_since_it_was_opened_is_not_read(tmp_path: Path) -> None:
    path = save_zip(tmp_path / "model.pth", {"w": torch.ones(3)})
    checkpoint = open_checkpoint(path)
    save_zip(tmp_path / "other.pth", {"w": torch.zeros(3)}).replace(path)
    with StorageReader(checkpoint) as reader, pytest.raises(FileChanged, match="another file"):
        reader.read_into(first(checkpoint), 0, bytearray(4))


@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_that_a_file_that_changes_between_two_reads_is_noticed(tmp_path: Path, compression: int) -> None:
    source = save_zip(tmp_path / "model.pth", {"w": torch.arange(3 * MIB)})
    path = rezip(source, tmp_path / "again.pth", compression=compression)
    checkpoint = open_checkpoint(path)
    with StorageReader(checkpoint) as reader:
        reader.read_into(first(checkpoint), 0, bytearray(4))
        os.truncate(path, 2000)
        with pytest.raises(FileChanged):
            reader.read_into(first(checkpoint), 9 * MIB, bytearray(MIB))


def test_that_a_damaged_deflate_stream_is_an_error(tmp_path: Path) -> None:
    source = save_zip(tmp_path / "model.pth", {"w": torch.arange(10_000)})
    path = rezip(source, tmp_path / "deflated.pth", compression=zipfile.ZIP_DEFLATED)
    offset = first(open_checkpoint(path)).offset
    whole = bytearray(path.read_bytes())
    whole[offset : offset + 8] = b"\xff" * 8
    path.write_bytes(whole)
    checkpoint = open_checkpoint(path)
    with StorageReader(checkpoint) as reader, pytest.raises(MalformedFile, match="damaged"):
        reader.read_into(first(checkpoint), 0, bytearray(80))
