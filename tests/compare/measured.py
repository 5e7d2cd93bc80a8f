"""Comparing tensors in tests: saved, compared through the whole path, and measured by an exact oracle."""

from __future__ import annotations

import math
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import torch

from viewer import open_checkpoint
from viewer.compare.comparison import Comparison
from viewer.compare.results import CompareOptions, Measures
from viewer.compare.task import run_compare
from viewer.task import run


def compare_objects(folder: Path, a: object, b: object, options: CompareOptions | None = None) -> Comparison:
    """Save two objects and compare the files."""
    for name, value in (("a.pt", a), ("b.pt", b)):
        torch.save(value, folder / name)
    return compare_files(folder / "a.pt", folder / "b.pt", options)


def compare_files(a: Path, b: Path, options: CompareOptions | None = None) -> Comparison:
    return run(run_compare(open_checkpoint(a), open_checkpoint(b), options))


def rows_by_path(comparison: Comparison) -> dict[str, int]:
    """The counted rows by a's path, or b's where a has none."""
    found: dict[str, int] = {}
    for row in comparison.counted_rows():
        path = comparison.path_a(row)
        found[comparison.path_b(row) or "" if path is None else path] = row
    return found


def statuses(comparison: Comparison) -> dict[str, str]:
    return {path: comparison.status(row).name.lower() for path, row in rows_by_path(comparison).items()}


def measures_of(folder: Path, a: torch.Tensor, b: torch.Tensor, options: CompareOptions | None = None) -> Measures:
    comparison = compare_objects(folder, {"x": a}, {"x": b}, replace(options or CompareOptions(), count_steps=True))
    (row,) = comparison.counted_rows()
    measures = comparison.measures(row)
    assert measures is not None
    return measures


def exact_values(tensor: torch.Tensor) -> list[Any]:
    """Python numbers that hold the values without loss."""
    tensor = tensor.detach().resolve_conj().resolve_neg()
    if tensor.is_quantized:
        tensor = tensor.dequantize()
    if tensor.is_complex():
        return tensor.to(torch.complex128).reshape(-1).tolist()
    if tensor.dtype.is_floating_point:
        tensor = tensor.to(torch.float32).to(torch.float64) if tensor.element_size() < 4 else tensor.to(torch.float64)
    return [int(x) if isinstance(x, bool) else x for x in tensor.reshape(-1).tolist()]


def bit_patterns(tensor: torch.Tensor) -> list[bytes]:
    tensor = tensor.detach().resolve_conj().resolve_neg().contiguous()
    data = tensor.view(torch.uint8).reshape(-1).numpy().tobytes() if tensor.numel() else b""
    size = tensor.element_size()
    return [data[at : at + size] for at in range(0, len(data), size)]


def oracle(a: torch.Tensor, b: torch.Tensor) -> dict[str, Any]:
    """Every measure of a pair of real tensors, from exact fractions."""
    values = list(zip(exact_values(a), exact_values(b), strict=True))
    nan = [(x != x, y != y) for x, y in values]
    found: dict[str, Any] = {
        "count": len(values),
        "both_nan": sum(x and y for x, y in nan),
        "new_nan": sum(y and not x for x, y in nan),
        "lost_nan": sum(x and not y for x, y in nan),
    }
    ordinary = [(at, x, y) for at, ((x, y), (p, q)) in enumerate(zip(values, nan, strict=True)) if not (p or q)]
    infinite = [(at, x, y) for at, x, y in ordinary if math.isinf(x) or math.isinf(y)]
    finite = [(at, Fraction(x), Fraction(y)) for at, x, y in ordinary if not (math.isinf(x) or math.isinf(y))]
    found["same_inf"] = sum(x == y for _, x, y in infinite)
    found["new_inf"] = sum(not math.isinf(x) for _, x, y in infinite)
    found["lost_inf"] = sum(not math.isinf(y) for _, x, y in infinite)
    found["changed_inf"] = sum(math.isinf(x) and math.isinf(y) and x != y for _, x, y in infinite)
    found["compared"] = len(finite)
    found["differ"] = sum(x != y for _, x, y in ordinary) + found["new_nan"] + found["lost_nan"]
    distances = [(abs(x - y), at) for at, x, y in finite]
    largest = max((d for d, _ in distances), default=Fraction(0))
    first = min((at for d, at in distances if d == largest), default=None) if largest else None
    found["max_abs_finite"], found["max_abs_finite_index"] = largest, first
    unequal_inf = [at for at, x, y in infinite if x != y]
    found["max_abs"] = math.inf if unequal_inf else largest
    found["max_abs_index"] = min(unequal_inf) if unequal_inf else first
    squares = [
        sum((v * v for v in column), Fraction(0))
        for column in zip(*((x, y, x - y) for _, x, y in finite), strict=True)
    ]
    squares = squares or [Fraction(0)] * 3
    products = sum((x * y for _, x, y in finite), Fraction(0))
    count = len(finite)
    found["mean_abs"] = sum((d for d, _ in distances), Fraction(0)) / count if count else None
    found["rms"] = _root(squares[2] / count) if count else None
    found["norm_diff"] = _root(squares[2])
    if found["differ"]:
        found["norm_a"], found["norm_b"] = _root(squares[0]), _root(squares[1])
        found["rel_norm"] = (
            _root(squares[2] / squares[0]) if squares[0] else (0.0 if count and not squares[2] else None)
        )
        both = squares[0] * squares[1]
        found["cosine"] = _root(products * products / both) * (-1 if products < 0 else 1) if both else None
    else:
        found["rel_norm"], found["cosine"] = 0.0, 1.0
    found["sign_flips"] = sum(x * y < 0 for _, x, y in finite)
    if count:
        found["max_rel"] = max(
            (d / max(abs(x), abs(y)) for (d, _), (_, x, y) in zip(distances, finite, strict=True) if d), default=0
        )
        found["max_rel_to_a"] = max(
            (d / abs(x) for (d, _), (_, x, y) in zip(distances, finite, strict=True) if x), default=0
        )
        found["max_rel_to_b"] = max(
            (d / abs(y) for (d, _), (_, x, y) in zip(distances, finite, strict=True) if y), default=0
        )
    if a.dtype == b.dtype:
        found["differ_bits"] = sum(p != q for p, q in zip(bit_patterns(a), bit_patterns(b), strict=True))
    return found


def _root(value: Fraction) -> float:
    """The square root, whatever the size of the fraction; inf beyond float64."""
    shift = 2 * max(0, 600 + value.denominator.bit_length() - value.numerator.bit_length())
    root = math.isqrt((value.numerator << shift) // value.denominator)
    try:
        return root / (1 << (shift // 2))
    except OverflowError:
        return math.inf


def assert_measures(measures: Measures, expected: dict[str, Any]) -> None:
    """Counts, positions and maxima exactly; sums and quotients to 14 digits (cosine: absolutely)."""
    for name, want in expected.items():
        got = getattr(measures, name)
        if want is None or isinstance(want, int) or name.endswith("index"):
            assert got == want, f"{name}: {got!r}, expected {want!r}"
        elif name.startswith("max_abs"):
            exact = want if isinstance(got, int) or want == math.inf else float(want)
            assert got == exact, f"{name}: {got!r}, expected {want!r}"
        elif name == "cosine":
            assert got is None or abs(got - want) < 1e-14, f"{name}: {got!r}, expected {want!r}"
        else:
            try:
                number = float(want)
            except OverflowError:
                number = sys.float_info.max if name.startswith("max_rel") else math.inf
            assert got == want or math.isclose(got, number, rel_tol=1e-14), f"{name}: {got!r}, expected {number!r}"
