"""`values` on the command line, against what torch prints."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from tests.cli.running import run_main
from viewer.tensors import slice_results

TENSORS = {
    "weight": torch.randn(3, 40, 50, generator=torch.Generator().manual_seed(0)),
    "half": torch.tensor([[1.5, float("nan")], [-0.0, float("inf")]]).bfloat16(),
    "count": torch.arange(12),
    "flags": torch.tensor([True, False]),
    "empty": torch.zeros(2, 0),
    "none": torch.zeros(0, dtype=torch.int64),
    "step": torch.tensor(3.0),
    "wide": torch.randn(30, dtype=torch.float64, generator=torch.Generator().manual_seed(1)),
}


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.pth"
    torch.save(TENSORS, path)
    return path


@pytest.mark.parametrize(
    ("name", "index"),
    [
        ("weight", None),
        ("weight", "1,3:20,:"),
        ("weight", "2,0,10:14"),
        ("weight", ":,-1,:5"),
        ("half", None),
        ("count", None),
        ("count", "-5:"),
        ("flags", None),
        ("empty", None),
        ("none", None),
        ("step", None),
        ("wide", None),
    ],
)
@pytest.mark.parametrize(
    ("options", "arguments"),
    [
        ({}, []),
        ({"precision": 2, "linewidth": 40}, ["--precision", "2", "--linewidth", "40"]),
        (
            {"sci_mode": True, "threshold": 3, "edgeitems": 1},
            ["--sci-mode", "on", "--threshold", "3", "--edgeitems", "1"],
        ),
    ],
)
def test_that_values_are_printed_as_torch_prints_them(
    name: str,
    index: str | None,
    options: dict[str, object],
    arguments: list[str],
    model: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    tensor = TENSORS[name]
    wanted = eval(f"tensor[{index}]", {"tensor": tensor}) if index else tensor[0] if tensor.dim() == 3 else tensor
    with torch._tensor_str.printoptions(**options):
        text = str(wanted)
    ran = run_main(capsys, "values", model, name, *([f"--index={index}"] if index else []), *arguments)
    assert (ran.code, ran.out, ran.err) == (0, f"{text}\n", "")


def test_that_values_are_written_to_take_elsewhere(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    expression = run_main(capsys, "values", model, "half", "--format", "expression").out
    found = eval(expression, {"torch": torch})
    assert torch.equal(found.view(torch.int16), TENSORS["half"].view(torch.int16))
    assert run_main(capsys, "values", model, "half", "--format", "tsv").out == "1.5\tnan\n-0.0\tinf\n"
    numpy = run_main(capsys, "values", model, "count", "--index", "2:4", "--format", "numpy")
    assert numpy.out == "numpy.array([2, 3], dtype=numpy.int64)\n"


def test_that_only_the_first_rows_of_a_long_slice_are_shown_and_that_is_said(
    model: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slice_results, "MAX_BLOCK", 100)
    ran = run_main(capsys, "values", model, "weight", "--format", "tsv")
    assert (ran.code, len(ran.out.splitlines())) == (0, 2)
    assert "rows 0 to 1 of 40 are shown" in ran.err


@pytest.mark.parametrize(
    ("path", "index", "fault"),
    [("", "0", "the root is no tensor"), ("nothing", "0", "nothing"), ("count", "99", "has 99 for an axis of 12")],
)
def test_that_what_cannot_be_shown_is_one_line(
    path: str, index: str, fault: str, model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ran = run_main(capsys, "values", model, path, "--index", index)
    assert (ran.code, ran.out) == (2, "")
    assert fault in ran.err
    assert len(ran.err.splitlines()) == 1
