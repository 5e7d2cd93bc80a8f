"""Mean, std and norms against exact arithmetic, where plain sums fail: cancellation, offsets, extremes."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.tensors.made import checkpoint_of
from tests.tensors.oracle import check_statistics, nearest_float
from viewer.task import run
from viewer.tensors.moments import Facts, FloatWork, float_facts, int_facts
from viewer.tensors.results import Statistics
from viewer.tensors.statistics import statistics_of
from viewer.tensors.summary import summarise_task

CPU = torch.device("cpu")
NORMAL = {torch.float32: 2.0**-126, torch.float64: 2.0**-1022}


def measured(values: torch.Tensor, chunk: int = 64, *, by_numpy: bool = True) -> Statistics:
    """Statistics of a float tensor, over chunks; the positions are the right ones."""

    def facts(careful: bool) -> Facts:
        total = Facts()
        for part in values.split(chunk):
            work = FloatWork(chunk, CPU)
            work.by_numpy = by_numpy
            total.merge(float_facts(part, NORMAL[values.dtype], work, careful=careful))
        return total

    found = facts(False)
    if found.moments.is_doubtful:
        found = facts(True)
    numbers = values.tolist()
    finite = [number for number in numbers if math.isfinite(number)]
    if finite:
        found.argmin, found.argmax = numbers.index(min(finite)), numbers.index(max(finite))
    found.first_nan = next((at for at, number in enumerate(numbers) if math.isnan(number)), None)
    return statistics_of(found, len(numbers), 1, is_integer=False)


def samples() -> dict[str, torch.Tensor]:
    rng = np.random.default_rng(7)
    normal = rng.standard_normal(999)
    wide = normal * 10.0 ** rng.integers(-30, 30, 999)
    return {
        "normal": torch.tensor(normal, dtype=torch.float32),
        "far from zero": torch.tensor(normal * 1e-3 + 1000, dtype=torch.float32),
        "all positive": torch.tensor(np.abs(normal), dtype=torch.float32),
        "all negative": torch.tensor(-np.abs(normal), dtype=torch.float32),
        "sparse": torch.tensor(np.where(rng.random(999) < 0.9, 0, normal), dtype=torch.float32),
        "wide": torch.tensor(wide, dtype=torch.float32),
        "wide float64": torch.tensor(wide * 1e100 ** rng.integers(-2, 2, 999)),
        "cancelling": torch.tensor(np.concatenate((wide, -wide[::-1], [1e-30])), dtype=torch.float32),
        "cancelling to nothing": torch.tensor(np.concatenate((normal, -normal)), dtype=torch.float32),
        "largest float32": torch.tensor([3.4e38, -3.4e38, 3.3e38] * 99, dtype=torch.float32),
        "largest float64": torch.tensor([1.7e308, -1.7e308, 1.6e308, 1.0] * 99, dtype=torch.float64),
        "largest float64, one sign": torch.tensor([1.7e308, 1.6e308, 1e300] * 99, dtype=torch.float64),
        "smallest float64": torch.tensor([5e-324, -1e-320, 2e-308, 0.0] * 99, dtype=torch.float64),
        "squares below float64": torch.tensor(normal * 1e-200, dtype=torch.float64),
        "squares above float64": torch.tensor(normal * 1e200, dtype=torch.float64),
        "1e17 and its neighbours": torch.tensor([1e17, 1e17 + 16, 1e17 - 16] * 99, dtype=torch.float64),
        "denormal float32": torch.tensor([1e-45, -3e-45, 1e-38, 2e-38, 0.0] * 99, dtype=torch.float32),
        "denormal float32, one sign": torch.tensor([1e-45, 3e-45, 1e-38, 2e-38] * 99, dtype=torch.float32),
        "with NaN and infinities": torch.tensor([1.5, math.nan, math.inf, -math.inf, -2.5] * 99, dtype=torch.float32),
        "one large": torch.tensor([1e30] + [1.0] * 998, dtype=torch.float32),
        "one large negative": torch.tensor([-1e30] + [1.0] * 998 + [1e30], dtype=torch.float64),
    }


@pytest.mark.parametrize("name", samples())
@pytest.mark.parametrize("chunk", [64, 100, 5000])
def test_that_sums_are_as_good_as_exact(name: str, chunk: int) -> None:
    values = samples()[name]
    check_statistics(measured(values, chunk), values.tolist(), smallest_normal=NORMAL[values.dtype], exact=False)


@pytest.mark.parametrize("name", samples())
def test_that_the_way_of_other_devices_gives_the_same(name: str) -> None:
    values = samples()[name]
    assert measured(values, 100, by_numpy=False) == measured(values, 100)


@settings(deadline=None, max_examples=300)
@given(st.lists(st.floats(), min_size=1, max_size=200), st.integers(1, 70))
def test_that_any_float64_values_are_summed_right(numbers: list[float], chunk: int) -> None:
    values = torch.tensor(numbers, dtype=torch.float64)
    check_statistics(measured(values, chunk), values.tolist(), smallest_normal=2.0**-1022, exact=False)


@settings(deadline=None, max_examples=300)
@given(st.lists(st.floats(width=32), min_size=1, max_size=200), st.integers(1, 150))
def test_that_any_float32_values_are_summed_right(numbers: list[float], chunk: int) -> None:
    values = torch.tensor(numbers, dtype=torch.float32)
    check_statistics(measured(values, chunk), values.tolist(), smallest_normal=2.0**-126, exact=False)


@settings(deadline=None, max_examples=300)
@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=100), st.sampled_from([0, 2**63]))
def test_that_any_integers_are_summed_right(numbers: list[int], offset: int) -> None:
    values = torch.tensor(numbers, dtype=torch.int64)
    facts = int_facts(values, offset, FloatWork(len(numbers), CPU))
    shown = [number + offset for number in numbers]
    facts.argmin, facts.argmax = shown.index(min(shown)), shown.index(max(shown))
    check_statistics(statistics_of(facts, len(shown), 1, is_integer=True), shown, exact=False)


@pytest.mark.parametrize("value", [1e17, 0.1, -3.4e38, 5e-324, 1.7e308, 0.0])
def test_that_a_constant_tensor_has_no_deviation(value: float, tmp_path: Path) -> None:
    tensor = torch.full((1000,), value, dtype=torch.float64)
    found = run(summarise_task(checkpoint_of(tmp_path, tensor), 0, chunk_nbytes=64))
    assert (found.statistics.mean, found.statistics.std, found.statistics.std_sample) == (value, 0.0, 0.0)
    assert found.histogram.total == 1000
    assert repr(value) in found.histogram.note


@pytest.mark.parametrize("name", ["int64", "uint64", "int32"])
def test_that_neighbouring_large_integers_keep_their_deviation(name: str, tmp_path: Path) -> None:
    top = np.iinfo(name).max
    numbers = np.array([top - number % 3 for number in range(999)], dtype=name)
    found = run(summarise_task(checkpoint_of(tmp_path, torch.from_numpy(numbers)), 0, chunk_nbytes=256)).statistics
    check_statistics(found, numbers.tolist(), exact=True)


def test_that_a_pass_over_cancelling_values_is_repeated_without_rounding(tmp_path: Path) -> None:
    # In chunks of 32 the large values do not meet their opposites.
    numbers = [1e300] * 32 + [0.1] * 31 + [0.3] + [-1e300] * 32
    tensor = torch.tensor(numbers, dtype=torch.float64)
    found = run(summarise_task(checkpoint_of(tmp_path, tensor), 0, chunk_nbytes=256)).statistics
    assert found.mean == nearest_float(sum(map(Fraction, numbers)) / len(numbers))
