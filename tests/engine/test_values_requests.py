"""Slices, maps, histograms and scans through a real engine: what arrives is what was found, and a scan gives way."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.engine.recorder import Recorder
from viewer.checkpoint.document import Checkpoint
from viewer.engine.client import EngineClient
from viewer.engine.in_process import run_request
from viewer.engine.protocol import OpenFile, ProgressEvent, Request, Restarted, Result, Summarise
from viewer.engine.values_requests import (
    ClearScanCache,
    ReadKernels,
    ReadLine,
    ReadMap,
    ReadSlice,
    RuleHistogram,
    ScanAll,
    SummariseMany,
)
from viewer.errors import Cancelled, LimitExceeded
from viewer.tensors import crew
from viewer.tensors.histogram_results import AUTO_BINS, BinRule
from viewer.tensors.results import TensorSummary
from viewer.tensors.scan_all import scan_all_task
from viewer.tensors.scan_results import ScanBatch, ScanRow, ScanTotals
from viewer.tensors.slice_results import SliceAxes, ValueBlock, default_axes
from viewer.tensors.summary import summarise_task

pytestmark = pytest.mark.usefixtures("no_descriptor_left")

_SAVE = """
import sys, torch
torch.manual_seed(0)
weight = torch.randn(100, 30)
weight[3] = 0.0
weight[5, 5] = float("nan")
torch.save({"weight": weight, "kernels": torch.randn(8, 4, 3, 3), "complex": torch.randn(5, dtype=torch.complex64),
            "count": torch.arange(7), "half": torch.randn(2000).bfloat16(), "step": torch.tensor(3.0)}, sys.argv[1])
"""

# A file of 256 MB that is one hole: its values are zeros and take no room on the disk.
_SAVE_LARGE = """
import sys, torch
with torch.serialization.skip_data():
    torch.save({"zeros": torch.empty(64 << 20), "few": torch.empty(4)}, sys.argv[1])
"""


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("values") / "model.pth"
    subprocess.run([sys.executable, "-c", _SAVE, str(path)], check=True)
    return path


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("large") / "large.pth"
    subprocess.run([sys.executable, "-c", _SAVE_LARGE, str(path)], check=True)
    return path


@pytest.fixture(scope="module")
def endless(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """64 GB that are one hole: minutes to read, and nothing on the disk."""
    path = tmp_path_factory.mktemp("endless") / "endless.safetensors"
    nbytes = 64 << 30
    entries = {"zeros": ([nbytes // 4], [0, nbytes]), "few": ([4], [nbytes, nbytes + 16])}
    header = {name: {"dtype": "F32", "shape": shape, "data_offsets": at} for name, (shape, at) in entries.items()}
    text = json.dumps(header).encode()
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        file.truncate(8 + len(text) + nbytes + 16)
    return path


@pytest.fixture
def client(recorder: Recorder) -> Iterator[EngineClient]:
    client = EngineClient(recorder)
    client.start()
    yield client
    client.close()


def opened(client: EngineClient, recorder: Recorder, path: Path) -> tuple[int, Checkpoint]:
    document = client.submit(OpenFile(path))
    checkpoint = recorder.result(document)
    assert isinstance(checkpoint, Checkpoint)
    return document, checkpoint


def number_of(checkpoint: Checkpoint, name: str) -> int:
    number = checkpoint.nodes.value[checkpoint.find(name)]
    assert isinstance(number, int)
    return number


def test_that_results_arrive_as_they_were_found(client: EngineClient, recorder: Recorder, model: Path) -> None:
    document, checkpoint = opened(client, recorder, model)
    weight, kernels, half = (number_of(checkpoint, name) for name in ("weight", "kernels", "half"))
    complexes, count, step = (number_of(checkpoint, name) for name in ("complex", "count", "step"))
    requests: list[Request] = [
        ReadSlice(document, weight, SliceAxes(0, 1), 2, 50, 3, 20),
        ReadSlice(document, kernels, SliceAxes(2, 0, (1, 2)), 0, 100, 0, 100),
        ReadSlice(document, complexes, default_axes((5,)), 0, 100, 0, 100),
        ReadSlice(document, step, default_axes(()), 0, 1, 0, 1),
        ReadMap(document, weight, SliceAxes(0, 1), 20, 10),
        ReadMap(document, half, SliceAxes(0, None), 20, 10, "mean", row_range=(5, 90)),
        ReadKernels(document, kernels, 40, 40, first_row=2),
        ReadLine(document, count, 0, 3),
        RuleHistogram(document, weight, BinRule(AUTO_BINS)),
        RuleHistogram(document, complexes, BinRule(64, "signed log")),
        SummariseMany(document, (weight, half, count), BinRule(64, percentiles=(0.01, 0.99))),
    ]
    for request in requests:
        found = recorder.result(client.submit(request))
        assert type(found).__module__.startswith("viewer.tensors.")
        assert repr(found) == repr(run_request(request, checkpoint))
    block = run_request(requests[1], checkpoint)
    assert isinstance(block, ValueBlock)
    assert block.axes.index(2, 7) == (7, 1, 2, 2)


def test_that_a_block_too_large_says_so(client: EngineClient, recorder: Recorder, large: Path) -> None:
    document, checkpoint = opened(client, recorder, large)
    request = ReadSlice(document, number_of(checkpoint, "zeros"), SliceAxes(0, None), 0, 1 << 21, 0, 1)
    assert isinstance(recorder.error(client.submit(request)), LimitExceeded)


def rows_of(recorder: Recorder, job: int) -> list[ScanRow]:
    rows: list[ScanRow] = []
    for event in recorder.progress_of(job):
        if event.progress.partial is not None:
            assert isinstance(event.progress.partial, ScanBatch)
            rows += event.progress.partial.rows
    return rows


def test_that_a_scan_brings_every_tensor_once(client: EngineClient, recorder: Recorder, model: Path) -> None:
    document, checkpoint = opened(client, recorder, model)
    job = client.submit(ScanAll(document, use_cache=False))
    totals = recorder.result(job)
    assert isinstance(totals, ScanTotals)
    rows = rows_of(recorder, job)
    assert sorted(row.number for row in rows) == list(range(len(checkpoint.tensors))) == list(range(totals.tensors))
    weight = next(row for row in rows if row.number == number_of(checkpoint, "weight"))
    assert (weight.nan, weight.constant_rows, weight.rows, weight.zeros) == (1, 1, 100, 30)
    assert type(recorder.result(client.submit(ClearScanCache()))) is int


def test_that_a_click_is_answered_while_a_scan_runs_and_a_scan_can_be_stopped(
    client: EngineClient, recorder: Recorder, large: Path
) -> None:
    document, checkpoint = opened(client, recorder, large)
    job = client.submit(ScanAll(document, use_cache=False))
    recorder.wait_until_running(job)
    request = ReadSlice(document, number_of(checkpoint, "few"), default_axes((4,)), 0, 4, 0, 1)
    block = recorder.result(client.submit(request))
    assert isinstance(block, ValueBlock)
    assert block.values() == [0.0] * 4
    client.cancel(job)
    end = recorder.end_of(job)
    assert isinstance(end, Result) or isinstance(end.error, Cancelled)


@pytest.mark.parametrize("request_type", [Summarise, RuleHistogram, SummariseMany, ScanAll])
def test_that_a_cancel_stops_what_reads_values_at_its_next_step(
    client: EngineClient, recorder: Recorder, endless: Path, request_type: type[Request]
) -> None:
    document, checkpoint = opened(client, recorder, endless)
    zeros, few = number_of(checkpoint, "zeros"), number_of(checkpoint, "few")
    of = {SummariseMany: [(zeros, few)], ScanAll: []}.get(request_type, [zeros])
    job = client.submit(request_type(document, *of))
    recorder.wait_until_running(job)
    client.cancel(job)
    assert isinstance(recorder.error(job), Cancelled)
    assert isinstance(recorder.result(client.submit(Summarise(document, few))), TensorSummary)
    # An engine that is ended and started again would answer, too: it must have stopped by itself.
    assert not any(isinstance(event, Restarted) for event in recorder.events)
    last = recorder.progress_of(job)[-1].progress
    assert last.done <= last.total // 2


def test_that_no_step_over_a_large_tensor_takes_many_bytes(endless: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crew, "can_start", lambda: False)  # no helpers here, which would stay for the next tests
    checkpoint = run_request(OpenFile(endless))
    assert isinstance(checkpoint, Checkpoint)
    zeros = number_of(checkpoint, "zeros")
    for task in (summarise_task(checkpoint, zeros), scan_all_task(checkpoint, [zeros], use_cache=False)):
        done = [step.done for step in itertools.islice(task, 40) if step.unit == "bytes"]
        task.close()
        assert len(done) > 20
        # Far less than what is read and computed in a fifth of a second.
        assert max(later - earlier for earlier, later in itertools.pairwise(done)) <= 8 << 20


def test_that_a_scan_stands_still_while_somebody_waits_for_something_else(
    client: EngineClient, recorder: Recorder, large: Path
) -> None:
    document, checkpoint = opened(client, recorder, large)
    scan = client.submit(ScanAll(document, use_cache=False))
    recorder.wait_until_running(scan)
    click = client.submit(RuleHistogram(document, number_of(checkpoint, "zeros")))
    recorder.result(click)
    events = list(recorder.events)
    first, *_, last = [at for at, event in enumerate(events) if getattr(event, "job", None) == click][1:]
    during = [event for event in events[first:last] if isinstance(event, ProgressEvent) and event.job == scan]
    assert len(during) <= 2  # the step that was under way, and what waited to be sent
    assert isinstance(recorder.result(scan), ScanTotals)


def test_that_a_newer_slice_takes_the_place_of_an_older(
    client: EngineClient, recorder: Recorder, large: Path
) -> None:
    document, checkpoint = opened(client, recorder, large)
    zeros, few = number_of(checkpoint, "zeros"), number_of(checkpoint, "few")
    older = client.submit(ReadMap(document, zeros, SliceAxes(0, None), 500, 500, "mean"), supersede="map")
    newer = client.submit(ReadMap(document, few, SliceAxes(0, None), 500, 500, "mean"), supersede="map")
    image = recorder.result(newer)
    assert (image.min, image.max, image.height) == (0.0, 0.0, 4)  # type: ignore[attr-defined]
    assert isinstance(recorder.error(older), Cancelled)
