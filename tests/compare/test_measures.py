"""Every measure against exact fractions, dtype by dtype, with special values and strides."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch

from tests.compare.measured import (
    assert_measures,
    compare_objects,
    exact_values,
    measures_of,
    oracle,
)
from viewer.compare.results import CompareOptions, Status, Tolerance

FLOATS = [
    torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2,
    torch.float8_e4m3fnuz, torch.float8_e5m2fnuz,
]  # fmt: skip
INTS = [torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool, torch.uint16, torch.uint32]
INF, NAN = math.inf, math.nan


def numbers(dtype: torch.dtype, count: int, seed: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    if dtype.is_floating_point:
        return torch.randn(count, generator=generator, dtype=torch.float64).to(torch.float32).to(dtype)
    if dtype == torch.bool:
        return torch.randint(0, 2, (count,), generator=generator).to(dtype)
    info = torch.iinfo(dtype)
    low, high = max(info.min, -(2**62)), min(info.max, 2**62)
    return torch.randint(low, high, (count,), generator=generator).to(dtype)


@pytest.mark.parametrize("dtype", FLOATS + INTS, ids=str)
def test_that_measures_equal_the_exact_ones(dtype: torch.dtype, tmp_path: Path) -> None:
    a, b = numbers(dtype, 3001, 1), numbers(dtype, 3001, 2)
    keep = torch.arange(3001) % 3 == 0
    b = torch.where(
        keep,
        a.to(torch.float64) if dtype.is_floating_point else a.long(),
        (b.to(torch.float64) if dtype.is_floating_point else b.long()),
    ).to(dtype)
    assert_measures(measures_of(tmp_path, a, b), oracle(a, b))


@pytest.mark.parametrize("dtype", FLOATS[:5], ids=str)
def test_that_special_values_are_counted_apart(dtype: torch.dtype, tmp_path: Path) -> None:
    values = [0.0, -0.0, 1.0, -1.0, NAN, 2.0**-9]
    if dtype != torch.float8_e4m3fn:
        values += [INF, -INF]
    pairs = [(x, y) for x in values for y in values]
    a = torch.tensor([x for x, _ in pairs]).to(dtype)
    b = torch.tensor([y for _, y in pairs]).to(dtype)
    measures = measures_of(tmp_path, a, b)
    assert_measures(measures, oracle(a, b))
    assert measures.zero_signs == 2


def test_that_float64_extremes_neither_overflow_nor_vanish(tmp_path: Path) -> None:
    cases = {
        "far apart": ([1.7e308, 1.0, -1.7e308], [-1.7e308, 2.0, 1.7e308]),
        "huge": ([1e300, 2e300], [1.5e300, 2e300]),
        "tiny": ([1e-300, 5e-324], [2e-300, 0.0]),
        "long": ([1e308] * 9, [-1e307] * 9),
    }
    for a, b in cases.values():
        left, right = torch.tensor(a, dtype=torch.float64), torch.tensor(b, dtype=torch.float64)
        assert_measures(measures_of(tmp_path, left, right), oracle(left, right))


def test_that_float32_differences_are_computed_wider(tmp_path: Path) -> None:
    measures = measures_of(tmp_path, torch.tensor([3e38]), torch.tensor([-3e38]))
    assert measures.max_abs == 6.0000000109955115e38


def test_that_integers_do_not_go_through_floats(tmp_path: Path) -> None:
    low, high = -(2**63), 2**63 - 1
    measures = measures_of(tmp_path, torch.tensor([low, 2**53, 0]), torch.tensor([high, 2**53 + 1, 0]))
    assert (measures.max_abs, measures.max_abs_index, measures.differ) == (2**64 - 1, 0, 2)
    assert measures.mean_abs == float((2**64 - 1 + 1) / 3)
    measures = measures_of(tmp_path, torch.tensor([3], dtype=torch.uint8), torch.tensor([4], dtype=torch.uint8))
    assert measures.max_abs == 1
    ends = torch.tensor([0, 2**64 - 1], dtype=torch.uint64)
    assert measures_of(tmp_path, ends, torch.tensor([2**64 - 1, 0], dtype=torch.uint64)).max_abs == 2**64 - 1


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (torch.tensor([2**24 + 1, 1]), torch.tensor([2.0**24, 1.0])),
        (torch.tensor([2**53 + 1, 2**62 + 1, -(2**63), 5]),
         torch.tensor([2.0**53, 2.0**62, -(2.0**63), 5.5], dtype=torch.float64)),
        (torch.tensor([-1, 2**62, -(2**63)]), torch.tensor([2**64 - 1, 2**63, 2**63 + 5], dtype=torch.uint64)),
        (torch.tensor([7, 2**62]), torch.tensor([2**63, 2**62], dtype=torch.uint64)),
        (torch.tensor([True, False]), torch.tensor([1.0, 0.5])),
        (torch.tensor([1.5, NAN, INF], dtype=torch.float16), torch.tensor([1, 2, 3])),
        (torch.randn(5000, dtype=torch.float64), torch.randn(5000)),
    ],
)  # fmt: skip
def test_that_dtype_pairs_compare_values(a: torch.Tensor, b: torch.Tensor, tmp_path: Path) -> None:
    for left, right in ((a, b), (b, a)):
        measures = measures_of(tmp_path, left, right)
        assert_measures(measures, oracle(left, right))
        assert measures.differ_bits is None
        assert measures.max_ulp is None


def test_that_measures_are_symmetric(tmp_path: Path) -> None:
    a, b = numbers(torch.float32, 70_000, 3), numbers(torch.float32, 70_000, 4)
    one, other = measures_of(tmp_path, a, b), measures_of(tmp_path, b, a)
    for name in ("max_abs", "max_abs_index", "mean_abs", "rms", "max_rel", "cosine", "max_ulp", "ulp_counts",
                 "differ", "differ_bits", "sign_flips", "norm_diff"):  # fmt: skip
        assert getattr(one, name) == getattr(other, name), name
    assert (one.norm_a, one.norm_b) == (other.norm_b, other.norm_a)
    assert (one.max_rel_to_a, one.max_rel_to_b) == (other.max_rel_to_b, other.max_rel_to_a)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_that_steps_follow_the_order_of_the_dtype(dtype: torch.dtype, tmp_path: Path) -> None:
    size = dtype.itemsize
    codes = torch.arange(256) if size == 1 else torch.tensor([0, 1, 2, 5, 0x3F80, 0x4000, 0x7000])
    if size == 4:
        codes = torch.tensor([0, 1, 2, 0x3F800000, 0x3F800001, 0x7F7FFFFF])
    if size == 8:
        codes = torch.tensor([0, 1, 2, 0x3FF0000000000000, 0x7FEFFFFFFFFFFFFF])
    kind = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[size]
    tensor = codes.to(kind).view(dtype)
    tensor = torch.cat([tensor.to(torch.float64), -tensor.to(torch.float64)]).to(dtype)
    finite = sorted({x for x in exact_values(codes_of_all(dtype)) if math.isfinite(x)}) if size < 4 else []
    a, b = tensor, tensor.view(kind).flip(0).view(dtype)
    measures = measures_of(tmp_path, a, b)
    distances = []
    for x, y in zip(exact_values(a), exact_values(b), strict=True):
        if math.isfinite(x) and math.isfinite(y):
            distances.append(abs(finite.index(x) - finite.index(y)) if finite else steps_between(x, y, size))
    assert measures.max_ulp == max(distances)
    counts = [0] * 66
    for distance in distances:
        counts[distance.bit_length()] += 1
    while not counts[-1]:
        counts.pop()
    assert measures.ulp_counts == tuple(counts)


def codes_of_all(dtype: torch.dtype) -> torch.Tensor:
    if dtype.itemsize == 1:
        return torch.arange(256).to(torch.uint8).view(dtype)
    return torch.arange(-(2**15), 2**15).to(torch.int16).view(dtype)


def steps_between(x: float, y: float, size: int) -> int:
    import struct

    code = "<f" if size == 4 else "<d"
    places = []
    for value in (x, y):
        bits = int.from_bytes(struct.pack(code, abs(value)), "little")
        places.append(-bits if math.copysign(1, value) < 0 else bits)
    return abs(places[0] - places[1])


def test_that_complex_numbers_are_points_of_the_plane(tmp_path: Path) -> None:
    a = torch.tensor([1 + 2j, complex(NAN, 0), complex(INF, 1), 3 + 4j])
    b = torch.tensor([1 + 2j, complex(0, NAN), complex(INF, 1), 0 + 0j])
    for dtype in (torch.complex64, torch.complex128):
        measures = measures_of(tmp_path, a.to(dtype), b.to(dtype))
        assert (measures.max_abs, measures.max_abs_index, measures.differ) == (5.0, 3, 1)
        assert (measures.both_nan, measures.same_inf, measures.compared) == (1, 1, 2)
        assert measures.norm_diff == 5.0
        assert measures.sign_flips is None
    against_real = measures_of(tmp_path, torch.tensor([3.0]), torch.tensor([4j]))
    assert against_real.max_abs == 5.0


def test_that_large_tensors_are_measured_as_small_ones_are(tmp_path: Path) -> None:
    # More than one block and one piece each, spread over threads, with equal stretches between.
    a = torch.randn(3_000_000, generator=torch.Generator().manual_seed(5))
    b = a.clone()
    b[1_000_000:1_000_200] += 0.5
    b[2_999_999] = 77.0
    measures = measures_of(tmp_path, a, b)
    difference = (b.double() - a.double()).abs()
    assert measures.differ == int((a != b).sum())
    assert measures.max_abs == difference.max().item()
    assert measures.max_abs_index == 2_999_999
    assert measures.norm_a == pytest.approx(a.double().norm().item(), rel=1e-12)
    assert measures.norm_b == pytest.approx(b.double().norm().item(), rel=1e-12)
    assert measures.rms == pytest.approx(difference.square().mean().sqrt().item(), rel=1e-12)
    cosine = torch.dot(a.double(), b.double()) / (a.double().norm() * b.double().norm())
    assert measures.cosine == pytest.approx(cosine.item(), abs=1e-12)
    assert sum(measures.ulp_counts) == 3_000_000


@pytest.mark.parametrize("kind", ["transposed", "channels last", "expanded", "sliding", "offset"])
def test_that_strides_change_no_measure(kind: str, tmp_path: Path) -> None:
    a, b = numbers(torch.float32, 720, 6).view(2, 3, 10, 12), numbers(torch.float32, 720, 7).view(2, 3, 10, 12)
    views = {
        "transposed": lambda t: t.reshape(24, 30).t(),
        "channels last": lambda t: t.to(memory_format=torch.channels_last),
        "expanded": lambda t: t.reshape(720)[:60].view(5, 1, 12).expand(5, 7, 12),
        "sliding": lambda t: t.reshape(720).as_strided((50, 8), (2, 1)),
        "offset": lambda t: t.reshape(720)[100:400],
    }
    left, right = views[kind](a), views[kind](b)
    expected = oracle(left, right)
    for x, y in ((left, right), (left.contiguous(), right), (left, right.contiguous())):
        assert_measures(measures_of(tmp_path, x, y), expected)


def test_that_lazy_bits_are_resolved(tmp_path: Path) -> None:
    complex_ = torch.tensor([1 + 2j, 3 - 4j])
    real = torch.tensor([1.0, -3.0])
    lazy = {"conj": complex_.conj(), "neg": torch._neg_view(real)}
    resolved = {"conj": complex_.conj().resolve_conj().clone(), "neg": (-real).clone()}
    comparison = compare_objects(tmp_path, lazy, resolved)
    assert comparison.verdict() == (True, True, True)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float8_e4m3fn, torch.float8_e5m2], ids=str)
def test_that_a_rounded_copy_is_recognised(dtype: torch.dtype, tmp_path: Path) -> None:
    a = torch.randn(20_000, generator=torch.Generator().manual_seed(8))
    a[:3] = torch.tensor([NAN, 0.0, -0.0])
    b = a.to(dtype)
    assert measures_of(tmp_path, a, b).rounded_to_b is True
    assert measures_of(tmp_path, b, a).rounded_to_a is True
    patterns = b.view(torch.uint8 if dtype.itemsize == 1 else torch.int16)
    patterns[100] ^= 1
    measures = measures_of(tmp_path, a, b)
    assert measures.rounded_to_b is False


def test_that_the_float64_to_bfloat16_cast_of_torch_is_recognised(tmp_path: Path) -> None:
    a = torch.randn(20_000, dtype=torch.float64, generator=torch.Generator().manual_seed(9))
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        assert measures_of(tmp_path, a, a.to(dtype)).rounded_to_b is True


def test_that_the_tolerance_does_not_depend_on_the_order(tmp_path: Path) -> None:
    a, b = torch.tensor([1.0]), torch.tensor([1.1])
    for rtol, close in ((0.0909, False), (0.091, True)):
        options = CompareOptions(tolerance=Tolerance(rtol, 0.0))
        for left, right in ((a, b), (b, a)):
            measures = measures_of(tmp_path, left, right, options)
            assert measures.within is close


def test_that_identical_tensors_are_at_distance_0(tmp_path: Path) -> None:
    for tensor in (torch.zeros(5), torch.ones(5), torch.tensor([NAN, INF]), torch.empty(0)):
        comparison = compare_objects(tmp_path, {"x": tensor}, {"x": tensor.clone()})
        (row,) = comparison.counted_rows()
        measures = comparison.measures(row)
        assert measures is not None
        assert comparison.status(row) == Status.IDENTICAL
        assert (measures.rel_norm, measures.cosine, measures.max_abs) == (0.0, 1.0, 0)


def test_that_nothing_is_broadcast(tmp_path: Path) -> None:
    comparison = compare_objects(tmp_path, {"x": torch.ones(3)}, {"x": torch.ones(1, 3)})
    (row,) = comparison.counted_rows()
    assert comparison.status(row) == Status.SHAPE
    assert comparison.measures(row) is None


@pytest.mark.filterwarnings("ignore:.*quantize.*:UserWarning")
def test_that_quantized_tensors_compare_real_numbers(tmp_path: Path) -> None:
    values = torch.tensor([0.5, 1.0, -1.0])
    a = torch.quantize_per_tensor(values, 0.5, 2, torch.quint8)
    b = torch.quantize_per_tensor(values, 0.25, 10, torch.quint8)
    comparison = compare_objects(tmp_path, {"x": a, "y": a}, {"x": b, "y": a.clone()})
    found = {comparison.path_a(row): comparison.verdicts(row) for row in comparison.counted_rows()}
    assert found["x"] == (False, True)
    assert found["y"] == (True, True)


def test_that_infinities_on_both_sides_warn_of_nothing(tmp_path: Path) -> None:
    a = torch.randn(2000, generator=torch.Generator().manual_seed(3))
    a[7], a[8] = math.inf, -math.inf
    b = a.clone()
    b[100] += 1.0
    found = measures_of(tmp_path, a, b)
    assert (found.differ, found.same_inf, found.max_abs_index) == (1, 2, 100)
    assert found.max_abs == abs(b[100].double() - a[100].double()).item()
