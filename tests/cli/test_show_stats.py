"""`show --stats` gives numpy's numbers of the finite part, and counts the rest."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.cli.files import every_dtype, save, training_checkpoint
from tests.cli.running import run_main


def as_float64(tensor: torch.Tensor) -> np.ndarray[Any, np.dtype[np.float64]]:
    if tensor.is_complex():
        return tensor.to(torch.complex128).numpy().reshape(-1)
    return tensor.to(torch.float64).numpy().reshape(-1)


def check(stats: dict[str, Any], tensor: torch.Tensor) -> None:
    values = as_float64(tensor)
    if tensor.is_complex():
        values = np.hypot(values.real, values.imag)
    finite = values[np.isfinite(values)]
    assert stats["count"] == tensor.numel()
    assert stats["nan"] == np.isnan(values).sum()
    assert stats["posinf"] == np.isposinf(values).sum()
    assert stats["neginf"] == np.isneginf(values).sum()
    assert stats["zeros"] == (values == 0).sum()
    if len(finite) == 0:
        assert [stats[name] for name in ("min", "max", "mean", "std")] == [None] * 4
        return
    if tensor.dtype.is_floating_point or tensor.is_complex():
        assert stats["min"] == pytest.approx(finite.min(), rel=1e-15)
        assert stats["max"] == pytest.approx(finite.max(), rel=1e-15)
        scale = np.abs(finite).max()
        # Scaled, so that numpy's own squares of 3e238 do not overflow.
        unit = finite / scale if scale else finite
        assert stats["mean"] == pytest.approx(unit.mean() * (scale or 1), rel=1e-12, abs=1e-15 * scale)
        assert stats["std"] == pytest.approx(unit.std() * (scale or 1), rel=1e-12, abs=1e-12 * scale)
    else:
        exact = [int(value) for value in tensor.flatten().tolist()]
        assert (stats["min"], stats["max"]) == (min(exact), max(exact))
        assert stats["mean"] == sum(exact) / len(exact)
        assert stats["std"] == pytest.approx(finite.std(), rel=1e-9)


def test_that_statistics_are_those_of_numpy_for_every_dtype(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tensors = every_dtype() | training_checkpoint()["views"] | training_checkpoint()["odd"]
    path = save(tensors, tmp_path / "stats.pth")
    entries = run_main(capsys, "show", path, "--json", "--stats").entries
    for name, tensor in tensors.items():
        assert entries[name]["kind"] == "tensor"
        check(entries[name]["stats"], tensor)


def test_that_only_tensors_at_the_path_are_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = save({"a": torch.ones(3), "b": {"c": torch.tensor([1.0, math.nan])}}, tmp_path / "two.pth")
    entries = run_main(capsys, "show", path, "--json", "--stats", "--path", "b").entries
    assert list(entries) == ["b", "b/c"]
    assert (entries["b/c"]["stats"]["nan"], entries["b/c"]["stats"]["max"]) == (1, 1.0)
    assert "stats" not in entries["b"]


def test_that_the_text_has_the_statistics_in_columns(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = save({"a": torch.tensor([1.0, 2.0, math.nan, 0.0])}, tmp_path / "one.pth")
    ran = run_main(capsys, "show", path, "--stats", "--values", "2")
    lines = ran.out.splitlines()
    header, line, values = lines[-3], lines[-2], lines[-1]
    header = next(line for line in lines if line.startswith("name"))
    assert header.split()[-8:] == ["min", "max", "mean", "std", "zeros", "nan", "+inf", "-inf"]
    assert line.split()[-8:] == ["0", "2", "1", "0.816497", "1", "1", "0", "0"]
    assert values.strip() == "[1.0, 2.0, …]"


def test_that_an_unknown_device_is_an_error_and_not_the_cpu(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = save({"a": torch.ones(3)}, tmp_path / "one.pth")
    for extra in (["--stats"], ["--values", "1"]):
        ran = run_main(capsys, "show", path, *extra, "--device", "nonsense")
        assert (ran.code, ran.out) == (2, "")
        assert ran.err.count("\n") == 1
        assert "nonsense" in ran.err
