"""Whether a tensor is another one rounded: the ties decide, so all of them are tried, against torch's own casts."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pytest
import torch

from viewer.compare.rounding import can_round, unlike_rounded

KINDS = {
    "bfloat16": torch.bfloat16, "float16": torch.float16, "float8_e4m3fn": torch.float8_e4m3fn,
    "float8_e5m2": torch.float8_e5m2, "float8_e4m3fnuz": torch.float8_e4m3fnuz,
    "float8_e5m2fnuz": torch.float8_e5m2fnuz,
}  # fmt: skip


def all_finite(dtype: torch.dtype) -> npt.NDArray[np.float64]:
    """The finite numbers of a dtype in their order."""
    size = 8 * dtype.itemsize
    codes = torch.arange(2**size, dtype=torch.int32).to(torch.uint8 if size == 8 else torch.uint16)
    values = codes.view(dtype).to(torch.float64).numpy()
    return np.unique(values[np.isfinite(values)])


@pytest.mark.parametrize("name", KINDS)
def test_that_all_numbers_and_all_middles_are_rounded_as_torch_rounds_them(name: str) -> None:
    dtype = KINDS[name]
    numbers = all_finite(dtype)
    middles = (numbers[:-1] + numbers[1:]) / 2
    below, above = np.nextafter(middles, -np.inf), np.nextafter(middles, np.inf)
    for values in (numbers, middles, *(side for side in (below, above) if name != "bfloat16")):
        single = values.astype(np.float32)
        found = torch.from_numpy(single.copy()).to(dtype).to(torch.float32).numpy()
        assert unlike_rounded(single, name, found) == 0
        assert unlike_rounded(values, name, found) == 0  # float64 may have gone through float32


@pytest.mark.parametrize("name", KINDS)
def test_that_the_other_neighbour_of_a_middle_is_never_taken_for_it(name: str) -> None:
    dtype = KINDS[name]
    numbers = all_finite(dtype)
    middles = ((numbers[:-1] + numbers[1:]) / 2).astype(np.float32)
    exact = middles.astype(np.float64) == (numbers[:-1] + numbers[1:]) / 2
    right = torch.from_numpy(middles.copy()).to(dtype).to(torch.float64).numpy()
    wrong = np.where(right == numbers[1:], numbers[:-1], numbers[1:])[exact].astype(np.float32)
    assert unlike_rounded(middles[exact], name, wrong) == np.count_nonzero(exact)


def test_that_a_float64_is_rounded_to_float32_and_back() -> None:
    values = np.array([1 + 2.0**-24, 1 + 3 * 2.0**-24, 0.1, 1e300, -0.0])
    with np.errstate(over="ignore"):
        found = values.astype(np.float32)
    assert unlike_rounded(values, "float32", found) == 0
    found[2] = np.nextafter(found[2], np.float32(1))
    assert unlike_rounded(values, "float32", found) == 1
    assert unlike_rounded(found, "float64", found.astype(np.float64)) == 0


def test_that_beyond_the_largest_number_any_of_the_ends_will_do_and_no_other() -> None:
    values = np.full(6, 1e6, np.float32)
    found = np.array([448.0, math.nan, math.inf, 416.0, -448.0, 0.0], np.float32)
    assert unlike_rounded(values, "float8_e4m3fn", found) == 2
    assert (
        unlike_rounded(np.full(2, 300.0, np.float32), "float8_e4m3fn", np.array([math.nan, 448.0], np.float32)) == 2
    )


@pytest.mark.parametrize(
    ("source", "target", "can"),
    [
        ("float32", "bfloat16", True), ("float32", "float32", False), ("float64", "float32", True),
        ("float32", "int8", False), ("float32", "float8_e5m2", True), ("bfloat16", "float4_e2m1fn_x2", True),
        ("float32", "complex64", False),
    ],
)  # fmt: skip
def test_that_only_floats_are_rounded_to(source: str, target: str, can: bool) -> None:
    assert can_round(source, target) is can
