"""What is read, how much of the storage is touched for it, and what is said when it cannot be."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from tests.tensors.made import add_storage, add_tensor, add_view, checkpoint_of
from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.nodes import NodeTable
from viewer.checkpoint.tensors import NO_STORAGE, UNREADABLE, StorageRef
from viewer.errors import FileChanged, LimitExceeded, MalformedFile
from viewer.formats.storage_bytes import StorageReader
from viewer.task import run
from viewer.tensors.reading import iter_chunks, read_values
from viewer.tensors.source import ElementSource
from viewer.tensors.summary import summarise_task
from viewer.tensors.walk import Walk


class CountingReader(StorageReader):
    """Notes what is read of storages."""

    def __init__(self, checkpoint: Checkpoint) -> None:
        super().__init__(checkpoint)
        self.nbytes = 0
        self.calls = 0

    def read_into(self, storage: StorageRef, offset: int, buffer: bytearray | memoryview) -> None:
        self.nbytes += len(memoryview(buffer).cast("B"))
        self.calls += 1
        super().read_into(storage, offset, buffer)


def empty_checkpoint(folder: Path) -> Checkpoint:
    return Checkpoint(path=folder, container="made by hand", files=[], nodes=NodeTable())


@pytest.mark.parametrize("start", [0, 1, 63, 64, 65, 1000, 1199, 1200, 5000])
@pytest.mark.parametrize("count", [0, 1, 64, 100, 1200, None])
def test_that_a_range_is_read_in_logical_order(start: int, count: int | None, tmp_path: Path) -> None:
    tensor = torch.arange(30 * 40).reshape(30, 40).t()
    checkpoint = checkpoint_of(tmp_path, tensor)
    wanted = tensor.flatten()[start : None if count is None else start + count]
    assert torch.equal(read_values(checkpoint, 0, start=start, count=count), wanted)
    chunks = [chunk.clone() for chunk in iter_chunks(checkpoint, 0, start=start, count=count, chunk_nbytes=200)]
    assert torch.equal(torch.cat([torch.empty(0, dtype=torch.int64), *chunks]), wanted)
    assert all(chunk.numel() <= 25 for chunk in chunks)


def test_that_a_contiguous_range_costs_its_own_bytes(tmp_path: Path) -> None:
    checkpoint = checkpoint_of(tmp_path, torch.arange(10_000.0))
    with CountingReader(checkpoint) as reader:
        read_values(checkpoint, 0, start=777, count=1000, reader=reader)
        assert (reader.nbytes, reader.calls) == (4000, 1)


def test_that_a_small_part_of_a_large_storage_costs_little(tmp_path: Path) -> None:
    storage = torch.arange(4_000_000, dtype=torch.int32)
    column = storage.view(100, 40_000)[:, 7]
    corner = storage.view(2000, 2000)[5:8, 3:9]
    checkpoint = checkpoint_of(tmp_path, column, corner)
    with CountingReader(checkpoint) as reader:
        assert torch.equal(read_values(checkpoint, 0, reader=reader), column)
        assert (reader.nbytes, reader.calls) == (400, 100)
    with CountingReader(checkpoint) as reader:
        assert torch.equal(read_values(checkpoint, 1, reader=reader), corner.flatten())
        assert reader.nbytes < 20_000


def test_that_columns_close_together_are_read_in_long_pieces(tmp_path: Path) -> None:
    column = torch.arange(1_000_000, dtype=torch.int16).view(100_000, 10)[:, 3]
    checkpoint = checkpoint_of(tmp_path, column)
    with CountingReader(checkpoint) as reader:
        assert torch.equal(read_values(checkpoint, 0, reader=reader), column)
        assert reader.calls < 10


def test_that_an_expanded_view_is_never_written_out(tmp_path: Path) -> None:
    row = torch.tensor([1.0, -2.0, 4.0])
    checkpoint = empty_checkpoint(tmp_path)
    add_tensor(checkpoint, tmp_path, row.view(3, 1).expand(3, 2**40))
    summary = run(summarise_task(checkpoint, 0))
    assert summary.statistics.count == 3 * 2**40
    assert (summary.statistics.mean, summary.statistics.argmin, summary.statistics.argmax) == (1.0, 2**40, 2**41)
    assert summary.histogram.total == 3 * 2**40
    assert summary.nbytes_read == 24
    assert read_values(checkpoint, 0, start=2**40 - 2, count=4).tolist() == [1.0, 1.0, -2.0, -2.0]


def test_that_more_elements_than_torch_can_count_are_refused(tmp_path: Path) -> None:
    checkpoint = empty_checkpoint(tmp_path)
    storage = add_storage(checkpoint, tmp_path, bytes(4), "float32")
    number = add_view(checkpoint, storage, "float32", (2**40, 2**40), (0, 0))
    with pytest.raises(LimitExceeded, match="elements"):
        run(summarise_task(checkpoint, number))


@pytest.mark.parametrize(
    ("shape", "stride", "offset"),
    [((5,), (1,), 0), ((2,), (2**40,), 0), ((1,), (1,), 4), ((3,), (-1,), 3), ((1,), (1,), -1), ((2, 2), (1,), 0)],
)
def test_that_a_view_outside_its_storage_is_refused(
    shape: tuple[int, ...], stride: tuple[int, ...], offset: int, tmp_path: Path
) -> None:
    checkpoint = empty_checkpoint(tmp_path)
    storage = add_storage(checkpoint, tmp_path, bytes(16), "float32")
    number = add_view(checkpoint, storage, "float32", shape, stride, offset)
    with pytest.raises(MalformedFile, match=rf"tensor {number}|stride cannot be"):
        read_values(checkpoint, number)
    with pytest.raises(MalformedFile, match=rf"tensor {number}|stride cannot be"):
        run(summarise_task(checkpoint, number))


def test_that_a_tensor_without_values_says_why(tmp_path: Path) -> None:
    checkpoint = empty_checkpoint(tmp_path)
    add_view(checkpoint, NO_STORAGE, "float32", (3,), (), extra={"device": "meta"})
    with pytest.raises(MalformedFile, match="meta"):
        read_values(checkpoint, 0)
    storage = add_storage(checkpoint, tmp_path, bytes(16), "float32")
    checkpoint.storages.encoding[storage] = UNREADABLE
    checkpoint.storages.problem[storage] = "its record is missing"
    number = add_view(checkpoint, storage, "float32", (4,), (1,))
    with pytest.raises(MalformedFile, match="its record is missing"):
        read_values(checkpoint, number)
    checkpoint.tensors.problem[number] = "its stride reaches outside"
    with pytest.raises(MalformedFile, match="its stride reaches outside"):
        read_values(checkpoint, number)


def test_that_a_file_that_was_written_to_is_noticed(tmp_path: Path) -> None:
    checkpoint = checkpoint_of(tmp_path, torch.zeros(100))
    checkpoint.files[0].path.write_bytes(bytes(500))
    with pytest.raises(FileChanged):
        run(summarise_task(checkpoint, 0))


def test_that_conjugate_and_negative_bits_are_applied(tmp_path: Path) -> None:
    values = torch.randn(50, dtype=torch.complex64)
    conjugate = values.conj()
    negative = conjugate.imag
    assert conjugate.is_conj()
    assert negative.is_neg()
    checkpoint = checkpoint_of(tmp_path, conjugate, negative)
    assert torch.equal(read_values(checkpoint, 0), conjugate.resolve_conj())
    assert torch.equal(read_values(checkpoint, 1), negative.resolve_neg())
    summary = run(summarise_task(checkpoint, 1))
    assert summary.statistics.max == negative.max().item()
    parts = {part.name: part.statistics for part in run(summarise_task(checkpoint, 0)).parts}
    assert parts["imaginary"].min == conjugate.imag.min().item()
    assert parts["real"].min == conjugate.real.min().item()


def test_that_a_value_read_owns_its_memory(tmp_path: Path) -> None:
    checkpoint = checkpoint_of(tmp_path, torch.arange(10))
    first = read_values(checkpoint, 0)
    read_values(checkpoint, 0)
    first += 1
    assert first.tolist() == list(range(1, 11))


def test_that_a_thin_view_is_walked_in_small_steps(tmp_path: Path) -> None:
    checkpoint = empty_checkpoint(tmp_path)
    storage = add_storage(checkpoint, tmp_path, b"", "float32")
    checkpoint.storages.nbytes[storage] = 1 << 50
    number = add_view(checkpoint, storage, "float32", (1 << 20, 2), (1 << 20, 1))
    with ElementSource(checkpoint, checkpoint.tensor(number)) as source:
        jobs = list(Walk(source).jobs())
    assert max(sum(block.numel for block in job) for job in jobs) <= 25_000
    assert sum(block.numel for job in jobs for block in job) == 2 << 20


def test_that_a_dense_view_is_walked_in_long_steps(tmp_path: Path) -> None:
    checkpoint = empty_checkpoint(tmp_path)
    storage = add_storage(checkpoint, tmp_path, b"", "float32")
    checkpoint.storages.nbytes[storage] = 1 << 30
    number = add_view(checkpoint, storage, "float32", (1 << 14, 1 << 14), (1, 1 << 14))
    with ElementSource(checkpoint, checkpoint.tensor(number)) as source:
        jobs = list(Walk(source).jobs())
    assert len(jobs) == 128
