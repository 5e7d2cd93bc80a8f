"""Histograms by a rule, against numpy on the same edges; the rules against numpy's own and against their formulas."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.tensors.made import add_view, checkpoint_of
from tests.tensors.test_every_dtype import FLOAT8, FLOATS, INTS, STRIDES, numbers_of, sample
from viewer.checkpoint.tensors import NO_STORAGE
from viewer.errors import ViewerError
from viewer.task import Progress, run
from viewer.tensors.auto_bins import FEWEST, MOST, auto_bins
from viewer.tensors.histogram_results import AUTO_BINS, BinRule, RuledSummary
from viewer.tensors.many import MAX_TENSORS, many_task
from viewer.tensors.results import Histogram
from viewer.tensors.ruled import ruled_task
from viewer.tensors.signed_log import signed_log, signed_log_edges, threshold_of
from viewer.tensors.summary import summarise_task

RULES = {
    "fixed": BinRule(20),
    "automatic": BinRule(AUTO_BINS),
    "not aligned": BinRule(20, integer_bins=False),
    "signed log": BinRule(30, "signed log"),
    "automatic signed log": BinRule(AUTO_BINS, "signed log"),
    "own threshold": BinRule(30, "signed log", threshold=0.5),
    "percentiles": BinRule(20, percentiles=(0.01, 0.99)),
    "from the smallest": BinRule(20, percentiles=(0.0, 0.95)),
    "typed": BinRule(20, value_range=(-1.0, 2.0)),
    "typed signed log": BinRule(20, "signed log", value_range=(-100.0, 2.0)),
}


def ruled(folder: Path, tensor: torch.Tensor, rule: BinRule) -> RuledSummary:
    return run(ruled_task(checkpoint_of(folder, tensor), 0, rule))


def check_counts(histogram: Histogram, values: list[int | float]) -> None:
    """Compare with `numpy.histogram` over the finite values as float64."""
    floats = np.array(values, dtype=np.float64)
    floats = floats[np.isfinite(floats)]
    assert histogram.total == floats.size
    if len(histogram.edges) == 0:
        assert histogram.note
        return
    edges = np.array(histogram.edges)
    assert (edges[1:] > edges[:-1]).all()
    counts, _ = np.histogram(floats, edges)
    assert list(histogram.counts) == counts.tolist()
    assert histogram.underflow == (floats < edges[0]).sum()
    assert histogram.overflow == (floats > edges[-1]).sum()


@pytest.mark.parametrize("name", FLOATS + FLOAT8 + INTS)
@pytest.mark.parametrize("rule", RULES)
def test_that_counts_are_exact_whatever_the_rule(name: str, rule: str, tmp_path: Path) -> None:
    checkpoint = checkpoint_of(tmp_path, *(sample(name, count) for count in (0, 1, 2, 65, 3001)))
    for number, count in enumerate((0, 1, 2, 65, 3001)):
        if rule in ("percentiles", "from the smallest") and count < 65:
            continue  # two quantiles may be the same
        found = run(ruled_task(checkpoint, number, RULES[rule]))
        (histogram,) = found.histograms
        assert histogram.name == found.summary.of
        assert histogram.rule
        check_counts(histogram.histogram, numbers_of(sample(name, count)))
        assert (histogram.threshold is not None) <= ("log" in rule or rule == "own threshold")


@pytest.mark.parametrize("strides", STRIDES)
@pytest.mark.parametrize("name", ["float32", "bfloat16", "int32"])
def test_that_strides_change_nothing(strides: str, name: str, tmp_path: Path) -> None:
    tensor = STRIDES[strides](sample(name, 21 * 18).reshape(21, 18))
    (histogram,) = ruled(tmp_path, tensor, RULES["signed log"]).histograms
    check_counts(histogram.histogram, numbers_of(tensor))


def test_that_complex_parts_have_histograms_of_their_own(tmp_path: Path) -> None:
    tensor = torch.randn(500, dtype=torch.complex64)
    found = ruled(tmp_path, tensor, RULES["signed log"])
    assert [histogram.name for histogram in found.histograms] == ["magnitude", "real", "imaginary"]
    check_counts(found.histograms[1].histogram, tensor.real.tolist())
    check_counts(found.histograms[2].histogram, tensor.imag.tolist())


def test_that_integers_and_bools_have_a_bar_each(tmp_path: Path) -> None:
    tensor = torch.tensor([3, 3, 5, 9, -1])
    (histogram,) = ruled(tmp_path, tensor, BinRule(64)).histograms
    assert list(histogram.histogram.edges) == [number - 0.5 for number in range(-1, 11)]
    assert list(histogram.histogram.counts) == [1, 0, 0, 0, 2, 0, 1, 0, 0, 0, 1]
    (tmp_path / "bool").mkdir()
    (histogram,) = ruled(tmp_path / "bool", torch.tensor([True, False, True]), BinRule(64, "signed log")).histograms
    assert (list(histogram.histogram.counts), histogram.threshold) == ([1, 2], None)


@pytest.mark.parametrize("count", [3, 10, 100, 5000])
@pytest.mark.parametrize("spread", ["normal", "heavy", "few"])
@pytest.mark.parametrize("name", ["bfloat16", "int16"])
def test_that_the_automatic_rule_is_that_of_numpy(count: int, spread: str, name: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(count)
    numbers = {
        "normal": rng.standard_normal(count) * 100,
        "heavy": rng.standard_cauchy(count) * 10,
        "few": rng.integers(0, 3, count) * 50.0,
    }[spread]
    tensor = torch.from_numpy(np.clip(numbers, -3e4, 3e4)).to(getattr(torch, name))
    values = tensor.to(torch.float64).numpy() if name == "bfloat16" else tensor.numpy()
    statistics = run(summarise_task(checkpoint_of(tmp_path, tensor), 0)).statistics
    # The parts of the rule, since versions of numpy put them together in different ways.
    extent = float(values.max()) - float(values.min())
    quarter, three_quarters = np.quantile(values, (0.25, 0.75))
    freedman = 2 * (three_quarters - quarter) / count ** (1 / 3)
    width = min(max(freedman, extent / math.sqrt(count) / 2), extent / (math.log2(count) + 1))
    width = max(width, 1.0) if name == "int16" else width
    wanted = min(max(math.ceil(extent / width), FEWEST), MOST) if width else FEWEST
    assert auto_bins(statistics)[0] == wanted
    if np.lib.NumpyVersion(np.__version__) >= "2.4.0" and FEWEST < wanted < MOST:
        assert len(np.histogram_bin_edges(values, "auto")) - 1 == wanted


def test_that_the_automatic_rule_says_its_name(tmp_path: Path) -> None:
    tensor = torch.randn(4000)
    assert ruled(tmp_path, tensor, BinRule(AUTO_BINS)).histograms[0].rule.startswith("Freedman–Diaconis, about ")


@pytest.mark.parametrize("threshold", [2.0**-20, 0.1, 1.0, 3e5])
def test_that_the_signed_logarithm_is_straight_about_zero_and_logarithmic_far_from_it(threshold: float) -> None:
    places = [signed_log(value, threshold) for value in (-1e12, -5.5, -0.0, 0.0, 1e-300, 5.5, 1e300)]
    assert places == sorted(places)
    assert math.copysign(1, places[2]) == -1
    assert places[1] == -places[5]
    assert signed_log(threshold * 1e-9, threshold) == pytest.approx(1e-9)
    assert signed_log(1000 * threshold, threshold) == pytest.approx(math.log(1001))


def test_that_progress_goes_on_to_one_end_whatever_is_counted_again(tmp_path: Path) -> None:
    checkpoint = checkpoint_of(tmp_path, torch.randn(50, 3), torch.randn(9).bfloat16())
    for number in (0, 1):
        for rule in RULES.values():
            steps: list[Progress] = []
            run(ruled_task(checkpoint, number, rule), steps.append)
            shares = [step.done / step.total for step in steps if step.total]
            assert shares == sorted(shares)
            assert shares[-1] <= 1


@pytest.mark.parametrize(
    ("low", "high"), [(-1.0, 1.0), (0.0, 1e-30), (-3e38, 3e38), (5.0, 6.0), (-1.79e308, 1.7e308), (-1e-320, 1e-320)]
)
@pytest.mark.parametrize("bins", [1, 2, 255, 1000])
def test_that_edges_on_the_signed_logarithm_are_equal_there(low: float, high: float, bins: int) -> None:
    edges, _, threshold = signed_log_edges(low, high, bins)
    assert (edges[1:] > edges[:-1]).all()
    if threshold is None:
        assert low == -1e-320
        return
    assert (edges[0], edges[-1]) == (low, high)
    assert threshold == threshold_of(low, high)
    assert 1000 <= max(abs(low), abs(high)) / threshold * 2 <= 2001
    places = [signed_log(edge, threshold) for edge in edges.tolist()]
    steps = np.diff(places)
    np.testing.assert_allclose(steps, (places[-1] - places[0]) / bins, rtol=1e-6)


def test_that_rules_that_make_no_edges_are_refused(tmp_path: Path) -> None:
    checkpoint = checkpoint_of(tmp_path, torch.randn(100))
    for rule, fault in (
        (BinRule(-5), "1 to 30,000 bins"),
        (BinRule(10, value_range=(2.0, 1.0)), "no range"),
        (BinRule(10, "signed log", threshold=-1.0), "no threshold"),
        (BinRule(10, percentiles=(0.1, 0.9)), "no range is known from fraction 0.1 to 0.9"),
        (BinRule(10, percentiles=(0.99, 0.01)), "no range is known"),
    ):
        with pytest.raises(ViewerError, match=fault):
            run(ruled_task(checkpoint, 0, rule))


@pytest.mark.parametrize("rule", ["fixed", "automatic", "signed log", "typed", "percentiles"])
def test_that_several_tensors_share_their_edges(rule: str, tmp_path: Path) -> None:
    tensors = [torch.randn(300), torch.randn(50).bfloat16() * 5, torch.tensor([math.nan, 4.0]), torch.arange(7)]
    tensors += [torch.tensor([math.inf]), torch.zeros(0), torch.randn(9, dtype=torch.complex64)]
    checkpoint = checkpoint_of(tmp_path, *tensors)
    broken = add_view(checkpoint, NO_STORAGE, "float32", (3,), (), extra={"device": "meta"})
    shared = run(many_task(checkpoint, [*range(7), broken], RULES[rule]))
    assert [summary.number for summary in shared.summaries] == list(range(7))
    assert "meta" in shared.problems[broken]
    for summary, tensor in zip(shared.summaries, tensors, strict=True):
        assert summary.statistics == run(summarise_task(checkpoint, summary.number)).statistics
        check_counts(summary.histogram, (tensor.abs() if tensor.is_complex() else tensor).tolist())
        if summary.statistics.finite:
            assert summary.histogram.edges == shared.edges
    if rule in ("fixed", "signed log"):
        finite = [summary.statistics for summary in shared.summaries if summary.statistics.finite]
        lows, highs = [found.min for found in finite], [found.max for found in finite]
        assert (shared.edges[0], shared.edges[-1]) == (min(map(float, lows)), max(map(float, highs)))


def test_that_integers_side_by_side_have_bars_of_their_own(tmp_path: Path) -> None:
    checkpoint = checkpoint_of(tmp_path, torch.tensor([1, 2]), torch.tensor([5]).to(torch.uint8))
    shared = run(many_task(checkpoint, [0, 1], BinRule(100)))
    assert list(shared.edges) == [0.5, 1.5, 2.5, 3.5, 4.5, 5.5]
    assert [list(summary.histogram.counts) for summary in shared.summaries] == [[1, 1, 0, 0, 0], [0, 0, 0, 0, 1]]


def test_that_nothing_finite_has_no_edges_and_too_many_are_refused(tmp_path: Path) -> None:
    checkpoint = checkpoint_of(tmp_path, *itertools.repeat(torch.tensor([math.nan]), MAX_TENSORS + 1))
    shared = run(many_task(checkpoint, range(MAX_TENSORS), BinRule()))
    assert (len(shared.edges), len(shared.summaries)) == (0, MAX_TENSORS)
    with pytest.raises(ViewerError, match="13 tensors are too many"):
        run(many_task(checkpoint, range(MAX_TENSORS + 1), BinRule()))
