"""Integer bins, and finer edges than those shown."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from tests.tensors.made import checkpoint_of
from viewer.task import run
from viewer.tensors.bins import make_edges
from viewer.tensors.histogram import FINE_BINS, finer, histogram_of, joined
from viewer.tensors.results import Histogram, Statistics
from viewer.tensors.summary import summarise_task


def integer_histogram(tensor: torch.Tensor, folder: Path, bins: int) -> Histogram:
    return run(summarise_task(checkpoint_of(folder, tensor), 0, bins=bins, integer_bins=True)).histogram


@pytest.mark.parametrize("name", ["int8", "uint8", "int16", "int32", "int64"])
def test_that_few_integers_have_a_bar_each(name: str, tmp_path: Path) -> None:
    tensor = torch.tensor([3, 5, 5, 9, 3, 3], dtype=getattr(torch, name))
    histogram = integer_histogram(tensor, tmp_path, 256)
    assert list(histogram.edges) == [2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5, 9.5]
    assert list(histogram.counts) == [3, 0, 2, 0, 0, 0, 1]
    assert histogram.note == "One bar for each integer"


@pytest.mark.parametrize("name", ["int16", "int32", "int64", "uint32", "uint64"])
def test_that_many_integers_share_bars_equally(name: str, tmp_path: Path) -> None:
    values = np.arange(1000).astype(name)
    histogram = integer_histogram(torch.from_numpy(values), tmp_path, 300)
    assert set(histogram.counts) == {4}
    assert len(histogram.counts) == 250
    assert histogram.note == "One bar for every 4 integers"


@pytest.mark.parametrize("name", ["int64", "uint64"])
def test_that_integers_too_large_for_halves_have_the_usual_bins(name: str, tmp_path: Path) -> None:
    values = np.array([0, np.iinfo(name).max], dtype=name)
    histogram = integer_histogram(torch.from_numpy(values), tmp_path, 4)
    counts, edges = np.histogram(values, 4)
    assert (list(histogram.counts), list(histogram.edges)) == (counts.tolist(), edges.tolist())


def test_that_floats_have_the_usual_bins(tmp_path: Path) -> None:
    tensor = torch.tensor([0.0, 1.0, 7.0])
    assert list(integer_histogram(tensor, tmp_path, 2).edges) == [0.0, 3.5, 7.0]


@pytest.mark.parametrize(("low", "high"), [(-1.0, 1.0), (0.1, 0.7), (-0.0123, 4.56), (1e-300, 1e300), (5.0, 5.1)])
@pytest.mark.parametrize("bins", [1, 3, 100, 256, 1000])
def test_that_finer_edges_hold_the_edges_to_the_last_bit(low: float, high: float, bins: int) -> None:
    edges, _ = make_edges(low, high, bins)
    fine = finer(edges)
    parts = (len(fine) - 1) // bins
    assert FINE_BINS // 2 < len(fine) - 1 <= FINE_BINS
    assert fine[::parts].tolist() == edges.tolist()
    counts = np.arange(len(fine) + 1)
    together = joined(counts, edges)
    assert together.tolist()[1:-1] == [
        int(counts[1:-1][at : at + parts].sum()) for at in range(0, len(fine) - 1, parts)
    ]
    assert (together[0], together[-1]) == (counts[0], counts[-1])


@pytest.mark.parametrize("edges", [[1e17, 1e17 + 16, 1e17 + 32], [-1.7e308, 0.0, 1.7e308], [0.0, 1.0, 3.0]])
def test_that_edges_without_room_between_them_stay(edges: list[float]) -> None:
    assert finer(np.array(edges)).tolist() == edges


def test_that_a_count_that_is_not_the_number_of_values_is_noticed() -> None:
    statistics = Statistics(count=5, finite=5, min=0.0, max=1.0)
    with pytest.raises(AssertionError, match="counts 4 values where 5 are finite"):
        histogram_of(np.array([0.0, 1.0]), np.array([0, 4, 0]), 1, statistics, "")
