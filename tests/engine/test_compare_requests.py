"""Comparisons through a real engine process: the structure, values as they come, one pair in detail."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from tests.engine.recorder import Recorder
from viewer.checkpoint.document import Checkpoint
from viewer.compare.comparison import Comparison
from viewer.compare.pair_details import PairDetails
from viewer.compare.results import CompareOptions, Overview, RenameRule, Status, Structure, ValueBatch
from viewer.engine.client import EngineClient
from viewer.engine.in_process import run_request
from viewer.engine.protocol import Compare, ComparePair, CompareStructure, OpenFile


@pytest.fixture
def client(recorder: Recorder) -> Iterator[EngineClient]:
    client = EngineClient(recorder)
    client.start()
    yield client
    client.close()


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    generator = torch.Generator().manual_seed(0)
    a = {f"layer.{at}.w": torch.randn(40, 30, generator=generator) for at in range(300)}
    b = {name: value + (at % 3 == 0) for at, (name, value) in enumerate(a.items())}
    torch.save({"model": a, "epoch": 1}, tmp_path / "a.pt")
    torch.save({"model": b, "epoch": 2}, tmp_path / "b.pt")
    return tmp_path / "a.pt", tmp_path / "b.pt"


def test_that_a_comparison_streams_and_adds_up(
    client: EngineClient, recorder: Recorder, files: tuple[Path, Path]
) -> None:
    one, other = (client.submit(OpenFile(path)) for path in files)
    early = client.submit(CompareStructure(one, other))
    job = client.submit(Compare(one, other))
    a, b = recorder.result(one), recorder.result(other)
    assert isinstance(a, Checkpoint)
    assert isinstance(b, Checkpoint)
    structure = recorder.result(early)
    overview = recorder.result(job)
    assert isinstance(structure, Structure)
    assert isinstance(overview, Overview)
    partials = [event.progress.partial for event in recorder.progress_of(job) if event.progress.partial is not None]
    assert partials[0] == structure
    comparison = Comparison(a, b, structure)
    for batch in partials[1:]:
        assert isinstance(batch, ValueBatch)
        comparison.add(batch)
    assert comparison.totals() == overview.totals
    assert overview.totals[Status.CHANGED] == 101
    assert overview.totals[Status.IDENTICAL] == 200
    assert (
        overview.sentence
        == "same 300 tensors, 100 changed, 200 bit-identical; 1 other entry differs; epoch from 1 to 2"
    )

    row = next(row for row, result in comparison.results.items() if result.status == Status.CHANGED)
    request = ComparePair(one, comparison.rows.node_a[row], other, comparison.rows.node_b[row], bins=16, largest=3)
    details = recorder.result(client.submit(request))
    assert isinstance(details, PairDetails)
    assert replace(details.measures, ulp_counts=()) == comparison.measures(row)
    assert sum(details.measures.ulp_counts) == 1200
    assert details.histogram_a.edges == details.histogram_b.edges
    assert details.histogram_a.total == details.histogram_b.total == details.difference.total == 1200
    assert details.difference_log.total == 1200
    assert [len(profile.mean_abs) for profile in details.profiles] == [40, 30]
    assert len(details.largest) == 3
    assert run_request(request, a, b) == details


def test_that_rules_and_parts_travel(client: EngineClient, recorder: Recorder, files: tuple[Path, Path]) -> None:
    document = client.submit(OpenFile(files[0]))
    options = CompareOptions("model", "model", rules=(RenameRule(r"^layer\.", "block.", "a"),), structure_only=True)
    overview = recorder.result(client.submit(Compare(document, document, options, with_structure=False)))
    assert isinstance(overview, Overview)
    assert overview.totals[Status.REMOVED] == overview.totals[Status.ADDED] == 300


def test_that_what_the_window_needs_of_a_comparison_imports_neither_torch_nor_numpy() -> None:
    code = """
import sys
import viewer.compare.comparison, viewer.compare.results, viewer.engine.protocol
print(*sorted({"torch", "numpy", "PySide6"} & set(sys.modules)))
"""
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=root)
    assert done.stdout.split() == []
