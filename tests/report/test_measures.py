"""Statistics of many tensors as one task."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from viewer import open_checkpoint
from viewer.checkpoint.document import Checkpoint
from viewer.errors import DeviceProblem, FileChanged
from viewer.report.extract import Extract
from viewer.report.measures import ElementReader, check_device, measure_task
from viewer.report.text_report import iter_text
from viewer.task import Progress, run


@pytest.fixture
def checkpoint(tmp_path: Path) -> Checkpoint:
    tied = torch.arange(6.0)
    tensors = {"a": tied, "b": [torch.ones(700_000)], "tied": tied, "wide": torch.ones(1).expand(10**6, 10**6)}
    torch.save(tensors, tmp_path / "model.pth")
    return open_checkpoint(tmp_path / "model.pth")


def test_that_each_distinct_tensor_is_measured_once_without_keeping_its_histogram(checkpoint: Checkpoint) -> None:
    measures = run(measure_task(checkpoint))
    assert sorted(measures.summaries) == list(range(len(checkpoint.tensors)))
    assert len(measures.summaries) == 3
    assert measures.problems == {}
    counts = sorted(summary.statistics.count for summary in measures.summaries.values())
    assert counts == [6, 700_000, 10**12]
    assert all(len(summary.histogram.counts) == 0 for summary in measures.summaries.values())


def test_that_progress_rises_to_the_bytes_of_all_tensors_and_no_further(checkpoint: Checkpoint) -> None:
    seen: list[Progress] = []
    run(measure_task(checkpoint), seen.append)
    done = [progress.done for progress in seen]
    assert done == sorted(done)
    assert {progress.total for progress in seen} == {6 * 4 + 700_000 * 4 + 4}
    assert (done[0], done[-1]) == (0, seen[-1].total)
    halfway = [progress.done for progress in seen if 24 < progress.done < 24 + 2_800_000]
    assert halfway  # also within one tensor, which is read in several passes


def test_that_only_the_part_below_the_root_is_measured(checkpoint: Checkpoint) -> None:
    measures = run(measure_task(checkpoint, checkpoint.find("b")))
    assert [summary.statistics.count for summary in measures.summaries.values()] == [700_000]


def test_that_a_file_that_changed_meanwhile_ends_the_task(checkpoint: Checkpoint) -> None:
    with checkpoint.path.open("ab") as file:
        file.write(b"x")
    with pytest.raises(FileChanged):
        run(measure_task(checkpoint))


def test_that_a_device_is_checked_before_anything_is_read() -> None:
    check_device("cpu")
    with pytest.raises(DeviceProblem):
        check_device("nonsense")


@pytest.mark.parametrize("count", [0, 1, 65_536, 65_537, 131_072, 10**9])
def test_that_leading_elements_come_in_parts_and_end_with_the_tensor(checkpoint: Checkpoint, count: int) -> None:
    number = checkpoint.nodes.value[checkpoint.find("b[0]")]
    assert isinstance(number, int)
    with ElementReader(checkpoint) as reader:
        parts = list(reader.iter_first(number, count))
    assert sum(parts, []) == [1.0] * min(count, 700_000)  # noqa: RUF017 - a dozen parts
    assert all(len(part) <= 65_536 for part in parts)


def flipped(path: Path, tensor: torch.Tensor) -> Path:
    """A bit of a tensor's values in the file changed."""
    data = bytearray(path.read_bytes())
    data[data.index(tensor.numpy().tobytes()) + 37] ^= 0x40
    path.write_bytes(data)
    return path


def test_that_a_wrong_checksum_of_a_tensor_that_was_read_whole_is_found(tmp_path: Path) -> None:
    tensors = {"a": torch.arange(4.0), "b": torch.arange(1000.0), "part": torch.arange(5000.0)[10:20]}
    torch.save(tensors, tmp_path / "model.pth")
    checkpoint = open_checkpoint(flipped(tmp_path / "model.pth", tensors["b"]))
    measures = run(measure_task(checkpoint))
    number = checkpoint.nodes.value[checkpoint.find("b")]
    assert measures.damaged == {number: "checksum mismatch: its bytes are not those that were written"}
    assert len(measures.summaries) == 3
    report = "".join(iter_text(Extract(checkpoint, measures=measures)))
    assert "checksum mismatch: the bytes of b are not those that were written" in report
    assert "cannot be read" not in report


def test_that_a_file_without_checksums_has_no_wrong_ones(tmp_path: Path) -> None:
    tensors = {"b": torch.arange(1000.0)}
    before = torch.serialization.get_crc32_options()
    torch.serialization.set_crc32_options(False)
    try:
        torch.save(tensors, tmp_path / "model.pth")
    finally:
        torch.serialization.set_crc32_options(before)
    checkpoint = open_checkpoint(flipped(tmp_path / "model.pth", tensors["b"]))
    assert run(measure_task(checkpoint)).damaged == {}
