"""Plain values: the same by bits, the same by number, how far apart; the presets of tolerance; how far a run went."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch

from tests.compare.measured import compare_objects, measures_of
from viewer.cli.main import main
from viewer.compare.scalars import distance, same_bits, same_number, short_text
from viewer.compare.steps import optimizer_steps
from viewer.compare.tolerance import EXACT, preset

NAN, INF = math.nan, math.inf


@pytest.mark.parametrize(
    ("a", "b", "bits", "number"),
    [
        (1, 1, True, True), (1, 2, False, False), (1, True, False, True), (1, 1.0, False, True),
        (0.0, -0.0, False, True), (NAN, NAN, True, True), (NAN, -NAN, False, True), (NAN, 1.0, False, False),
        (1.0, NAN, False, False), (INF, INF, True, True), (INF, -INF, False, False),
        (2**53 + 1, 2.0**53, False, False),
        (1 + 2j, 1 + 2j, True, True), (1 + 2j, 1 + 3j, False, False), (1 + 2j, 3 + 2j, False, False),
        (complex(1, 0.0), complex(1, -0.0), False, True), (complex(NAN, 1), complex(NAN, 1), True, True),
        (complex(0.0, 1), complex(-0.0, 1), False, True), (1j, 1, False, False),
        ("a", "a", True, True), ("a", "b", False, False), ("1", 1, False, False), (None, None, True, True),
        (None, 0, False, False), (b"a", b"a", True, True), (b"a", "a", False, False),
    ],
)  # fmt: skip
def test_that_plain_values_are_compared_by_bits_and_by_number(a: object, b: object, bits: bool, number: bool) -> None:
    for left, right in ((a, b), (b, a)):
        assert same_bits(left, right) is bits
        assert same_number(left, right) is number


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        (1, 3, 2), (3, 1, 2), (1, 1, 0), (1.5, 1, 0.5), (INF, INF, 0), (INF, 1.0, INF), (1.0, -INF, INF),
        (1, INF, INF),
        (INF, -INF, INF), (NAN, 1.0, None), (1.0, NAN, None), (NAN, NAN, None), ("a", 1, None), (1, "a", None),
        (None, None, None), (1j, 2j, None), (10**400, 1.0, INF), (10**400, 1, 10**400 - 1), (True, False, 1),
    ],
)  # fmt: skip
def test_that_the_distance_of_plain_values_is_exact_or_none(a: object, b: object, expected: object) -> None:
    assert distance(a, b) == expected
    assert distance(b, a) == expected


def test_that_plain_values_have_short_texts() -> None:
    assert short_text(1.5) == "1.5"
    assert short_text("x" * 58) == repr("x" * 58)
    assert short_text("x" * 59) == "'" + "x" * 58 + "…"
    assert short_text(b"y" * 10**7) == "b'" + "y" * 57 + "…"
    assert short_text(1 << 4095) == str(1 << 4095)[:59] + "…"
    assert short_text(1 << 4096) == "an int of 4,097 bits"


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex64])
def test_that_the_presets_are_those_of_torch_and_the_wider_of_two(dtype: torch.dtype) -> None:
    rtol, atol = torch.testing._comparison.default_tolerances(dtype)
    name = str(dtype).removeprefix("torch.")
    assert preset(name, name) == type(EXACT)(rtol, atol)
    for pair in ((name, "int64"), ("int64", name)):
        assert preset(*pair) == type(EXACT)(rtol, atol)
    assert preset("int64", "bool") == EXACT
    mixed = preset("float8_e8m0fnu", "float64")
    assert (mixed.rtol, mixed.atol) == (2.0**-1, 1e-7)
    assert preset("float64", "float8_e8m0fnu") == mixed


@pytest.mark.parametrize("form", ["--json", "--csv", "--html", "text"])
def test_that_integers_beyond_every_float_are_compared_and_reported(
    form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    compare_objects(tmp_path, {"n": 10**400, "m": 10**400, "k": -(10**300)}, {"n": 1.5, "m": 3, "k": INF})
    command = ["diff", str(tmp_path / "a.pt"), str(tmp_path / "b.pt")]
    options = {"--html": ["--html", str(tmp_path / "report.html")], "text": []}
    code = main([*command, *options.get(form, [form])])
    assert (code, capsys.readouterr().err) == (1, "")


def optimizer(step: object) -> dict[str, object]:
    return {"state": {0: {"step": step, "exp_avg": torch.ones(2)}}, "param_groups": [{"lr": 0.1, "params": [0]}]}


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ({"optimizer": optimizer(torch.tensor(3.0))}, {"optimizer": optimizer(torch.tensor(7.0))}, (3.0, 7.0)),
        ({"optimizer": optimizer(3)}, {"optimizer": optimizer(7)}, (3, 7)),
        (optimizer(torch.tensor([3])), optimizer(torch.tensor([7])), (3, 7)),
        (optimizer(3), optimizer(3), None),
        (optimizer(torch.tensor([3, 4])), optimizer(torch.tensor([7, 4])), None),
        ({"step": 3}, {"step": 7}, None),
        ({"model": {"state": {"step": 3}}}, {"model": {"state": {"step": 7}}}, None),
        ({"other": {0: {"step": 3}}}, {"other": {0: {"step": 7}}}, None),
        (optimizer("3"), optimizer("7"), None),
    ],
)
def test_that_the_steps_of_an_optimizer_are_those_of_its_entries(
    a: object, b: object, expected: object, tmp_path: Path
) -> None:
    assert optimizer_steps(compare_objects(tmp_path, a, b)) == expected


@pytest.mark.parametrize("order", [1, -1])
def test_that_int64_below_zero_meets_uint64_of_its_half(order: int, tmp_path: Path) -> None:
    sides = [torch.tensor([-1, 5, 0, -(2**63)]), torch.tensor([2**62, 7, 0, 2**63 - 1], dtype=torch.uint64)][::order]
    measures = measures_of(tmp_path, sides[0], sides[1])
    assert (measures.max_abs, measures.max_abs_index, measures.differ) == (2**64 - 1, 3, 3)
    assert measures.sign_flips == 2
    assert measures.mean_abs == (2**62 + 1 + 2 + 2**64 - 1) / 4


def test_that_counts_of_mixed_integers_add_up_over_chunks(tmp_path: Path) -> None:
    signed = torch.tensor([-1, 3, -(2**63), 0]).repeat(300_000)
    unsigned = torch.tensor([2**64 - 1, 3, 1, 2**63], dtype=torch.uint64).repeat(300_000)
    measures = measures_of(tmp_path, signed, unsigned)
    assert (measures.differ, measures.sign_flips) == (900_000, 600_000)
    assert measures.mean_abs == (2**64 + 2**63 + 1 + 2**63) / 4


@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128], ids=str)
def test_that_zeros_of_either_part_are_counted_by_their_sign(dtype: torch.dtype, tmp_path: Path) -> None:
    a = torch.tensor([complex(0.0, 0.0), complex(0.0, 0.0), complex(0.0, 1.0), complex(1.0, 0.0), 0j], dtype=dtype)
    b = torch.tensor(
        [complex(-0.0, 0.0), complex(-0.0, -0.0), complex(-0.0, 1.0), complex(1.0, -0.0), 0j], dtype=dtype
    )
    measures = measures_of(tmp_path, a, b)
    assert (measures.zero_signs, measures.differ, measures.differ_bits) == (4, 0, 4)


def test_that_complex_numbers_at_the_end_of_float64_are_measured(tmp_path: Path) -> None:
    large = 1.5e308
    for turn in (1, 1j):
        a = torch.tensor([complex(large * turn), 1 + 1j], dtype=torch.complex128)
        b = torch.tensor([complex(-large * turn), 1 + 2j], dtype=torch.complex128)
        for left, right in ((a, b), (b, a), (b, a * 0), (a * 0, b)):
            measures = measures_of(tmp_path, left, right)
            apart = abs((left[0] / 16 - right[0] / 16).item())
            assert measures.max_abs == int(apart) << 4
            assert measures.max_abs_index == 0
            norms = [abs((side[0] / 16).item()) for side in (left, right)]
            for got, want in ((measures.norm_a, norms[0]), (measures.norm_b, norms[1])):
                assert got is not None
                assert got / 16 == pytest.approx(want, rel=1e-14)
