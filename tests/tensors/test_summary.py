"""The task around the numbers: ranges, notes, progress, partial results, stopping, devices."""

from __future__ import annotations

import math
import pickle
import threading
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.tensors.made import checkpoint_of
from tests.tensors.oracle import check_histogram
from viewer.errors import DeviceProblem, ViewerError
from viewer.task import Progress, run
from viewer.tensors.bins import Binner, make_edges
from viewer.tensors.results import TensorSummary
from viewer.tensors.scratch import Scratch
from viewer.tensors.summary import summarise_task

DTYPES = ["float64", "float32", "float16", "bfloat16", "int64", "int32", "uint8", "bool"]


def worker_threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("values")]


@pytest.mark.parametrize("name", [*DTYPES, "complex64"])
def test_that_an_empty_tensor_has_no_bins_and_a_sentence(name: str, tmp_path: Path) -> None:
    tensor = torch.empty(3, 0, 2, dtype=getattr(torch, name))
    summary = run(summarise_task(checkpoint_of(tmp_path, tensor), 0))
    assert summary.statistics.count == 0
    assert summary.statistics.mean is None
    assert len(summary.histogram.counts) == 0
    assert summary.histogram.note == "The tensor has no elements"


@pytest.mark.parametrize("name", ["float64", "float32", "float16", "bfloat16", "float8_e4m3fn"])
def test_that_a_tensor_without_finite_values_has_no_bins_and_a_sentence(name: str, tmp_path: Path) -> None:
    tensor = torch.full((50,), float("nan")).to(getattr(torch, name))
    summary = run(summarise_task(checkpoint_of(tmp_path, tensor), 0))
    assert (summary.statistics.count, summary.statistics.finite, summary.statistics.nan) == (50, 0, 50)
    assert summary.statistics.first_nan == 0
    assert len(summary.histogram.edges) == 0
    assert summary.histogram.note == "No value is finite"
    ranged = run(summarise_task(checkpoint_of(tmp_path, tensor), 0, value_range=(0.0, 1.0)))
    assert ranged.histogram.note == "No value is finite"


@pytest.mark.parametrize("name", DTYPES)
def test_that_a_chosen_range_counts_what_lies_outside(name: str, tmp_path: Path) -> None:
    tensor = (torch.randn(999) * 3).to(getattr(torch, name))
    summary = run(
        summarise_task(checkpoint_of(tmp_path, tensor), 0, bins=7, value_range=(-1.0, 2.5), chunk_nbytes=256)
    )
    values = tensor.to(torch.float64).numpy()
    counts, edges = np.histogram(values, 7, range=(-1.0, 2.5))
    assert list(summary.histogram.edges) == edges.tolist()
    assert list(summary.histogram.counts) == counts.tolist()
    assert summary.histogram.underflow == (values < -1.0).sum()
    assert summary.histogram.overflow == (values > 2.5).sum()
    assert summary.histogram.total == summary.statistics.finite == 999
    whole = run(summarise_task(checkpoint_of(tmp_path, tensor), 0, bins=7, chunk_nbytes=256))
    assert (whole.statistics.mean, whole.statistics.std) == (summary.statistics.mean, summary.statistics.std)


def test_that_a_range_in_the_wrong_order_is_refused(tmp_path: Path) -> None:
    for dtype in (torch.float32, torch.float16):
        with pytest.raises(ViewerError, match="no range"):
            run(summarise_task(checkpoint_of(tmp_path, torch.ones(3, dtype=dtype)), 0, value_range=(1.0, 0.0)))


def test_that_non_finite_values_stand_beside_the_histogram(tmp_path: Path) -> None:
    tensor = torch.randn(10_000)
    tensor[::7] = torch.nan
    tensor[1::70] = torch.inf
    for value_range in (None, (-1.0, 1.0)):
        summary = run(summarise_task(checkpoint_of(tmp_path, tensor), 0, value_range=value_range, chunk_nbytes=4096))
        assert summary.statistics.nan == torch.isnan(tensor).sum()
        assert summary.statistics.posinf == torch.isposinf(tensor).sum()
        assert summary.histogram.total == torch.isfinite(tensor).sum()


@pytest.mark.parametrize("name", ["float32", "bfloat16", "int64", "complex64"])
def test_that_progress_is_in_bytes_and_ends_at_the_total(name: str, tmp_path: Path) -> None:
    tensor = torch.arange(20_000).to(getattr(torch, name))
    steps: list[Progress] = []
    summary = run(summarise_task(checkpoint_of(tmp_path, tensor), 0), steps.append)
    assert [step.done for step in steps] == sorted(step.done for step in steps)
    assert all(step.done <= step.total for step in steps)
    assert {step.unit for step in steps} == {"bytes"}
    assert steps[-1].done == steps[-1].total == summary.nbytes_read
    passes = 1 if name == "bfloat16" else 2
    assert summary.nbytes_read == passes * 20_000 * tensor.itemsize


def test_that_a_constant_tensor_is_read_once(tmp_path: Path) -> None:
    steps: list[Progress] = []
    tensor = torch.full((5000,), 0.1)
    tensor[77] = torch.nan
    summary = run(summarise_task(checkpoint_of(tmp_path, tensor), 0, bins=3), steps.append)
    assert summary.nbytes_read == 20_000
    assert steps[-1].done == steps[-1].total
    assert list(summary.histogram.counts) == [0, 4999, 0]


def test_that_the_statistics_come_before_the_histogram(tmp_path: Path) -> None:
    steps: list[Progress] = []
    tensor = torch.randn(5000)
    summary = run(summarise_task(checkpoint_of(tmp_path, tensor), 0), steps.append)
    (early,) = [step.partial for step in steps if step.partial is not None]
    assert isinstance(early, TensorSummary)
    assert not early.complete
    assert early.statistics.mean == summary.statistics.mean
    assert len(early.histogram.counts) == 0
    assert summary.complete


@pytest.mark.parametrize("name", ["float32", "bfloat16"])
def test_that_a_task_stops_and_leaves_no_thread(name: str, tmp_path: Path) -> None:
    checkpoint = checkpoint_of(tmp_path, torch.zeros(16 << 20, dtype=getattr(torch, name)))
    before = torch.get_num_threads()
    task = summarise_task(checkpoint, 0)
    for _ in range(3):
        next(task)
    task.close()
    assert worker_threads() == []
    assert torch.get_num_threads() == before


def test_that_an_error_in_a_worker_reaches_the_caller_and_leaves_no_thread(tmp_path: Path) -> None:
    checkpoint = checkpoint_of(tmp_path, torch.zeros(8 << 20))
    task = summarise_task(checkpoint, 0)
    next(task)
    checkpoint.files[0].path.write_bytes(b"shorter")
    with pytest.raises(ViewerError):
        run(task)
    assert worker_threads() == []


@pytest.mark.parametrize("name", ["float32", "bfloat16", "float64", "int32"])
def test_that_threads_do_not_change_the_numbers(name: str, tmp_path: Path) -> None:
    generator = torch.Generator().manual_seed(0)
    tensor = (torch.randn(3 << 20, generator=generator) * 100).to(getattr(torch, name))
    tensor[12345] = tensor[2_000_000] = 1000
    checkpoint = checkpoint_of(tmp_path, tensor)
    first = run(summarise_task(checkpoint, 0))
    assert first.statistics.argmax == 12345
    assert first == run(summarise_task(checkpoint, 0))
    assert first.statistics.argmin == int(tensor.to(torch.float64).argmin())
    check_histogram(first.histogram, tensor.to(torch.float64).numpy(), 256)
    values = tensor.to(torch.float64).numpy()
    assert first.statistics.mean == pytest.approx(math.fsum(values.tolist()) / values.size, rel=3e-16)
    # torch.std is off in the twelfth digit here.
    assert first.statistics.std == pytest.approx(values.std(), rel=1e-15)


def test_that_the_search_of_a_device_counts_as_the_processor_does() -> None:
    values = torch.randn(5000, dtype=torch.float64).numpy()
    edges, _ = make_edges(-1.0, 1.5, 40)
    binner = Binner(edges, "float64")
    assert binner.count_on(values, torch.device("cpu")).tolist() == binner.count(values, Scratch()).tolist()


@pytest.mark.parametrize("device", ["cuda:7", "nonsense", "meta"])
def test_that_a_missing_device_is_said_and_never_replaced(device: str, tmp_path: Path) -> None:
    with pytest.raises(DeviceProblem):
        run(summarise_task(checkpoint_of(tmp_path, torch.ones(3)), 0, device=device))


def test_that_a_summary_travels_between_processes(tmp_path: Path) -> None:
    summary = run(summarise_task(checkpoint_of(tmp_path, torch.randn(100, dtype=torch.complex64)), 0))
    assert pickle.loads(pickle.dumps(summary)) == summary
