"""Entries of an optimizer that stands without its model, and how far an optimizer went."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from viewer.compare import compare_checkpoints


def trained(steps: int) -> tuple[torch.nn.Module, torch.optim.Optimizer]:
    """A model of two layers of different shapes, trained for some steps."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(3, 5), torch.nn.Linear(5, 2))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(steps):
        optimizer.zero_grad()
        model(torch.ones(4, 3)).sum().backward()
        optimizer.step()
    return model, optimizer


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """A checkpoint, and a later one with the optimizer alone, as without names."""
    model, optimizer = trained(3)
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, tmp_path / "all.pth")
    _, optimizer = trained(5)
    torch.save({"optimizer": optimizer.state_dict()}, tmp_path / "optimizer.pth")
    return tmp_path / "all.pth", tmp_path / "optimizer.pth"


@pytest.mark.parametrize("swapped", [False, True])
def test_that_an_optimizer_alone_is_named_by_the_model_of_the_other_side(
    files: tuple[Path, Path], swapped: bool
) -> None:
    a, b = files[::-1] if swapped else files
    comparison = compare_checkpoints(a, b)
    structure = comparison.structure
    names = {structure.rows.key[row]: name for row, name in structure.parameter_names.items()}
    assert names == {0: "0.weight", 1: "0.bias", 2: "1.weight", 3: "1.bias"}
    bare, other = ("a", "b") if swapped else ("b", "a")
    assert f"{bare} has an optimizer and not its model; its entries are named by the model of {other}" in (
        structure.warnings
    )


def test_that_an_optimizer_without_any_fitting_model_is_matched_by_position_and_says_so(
    files: tuple[Path, Path], tmp_path: Path
) -> None:
    other = torch.nn.Linear(7, 7)
    _, optimizer = trained(5)
    torch.save({"model": trained(1)[0].state_dict(), "optimizer": optimizer.state_dict()}, tmp_path / "named.pth")
    torch.save(
        {"optimizer": torch.optim.Adam([torch.nn.Parameter(torch.ones(9))], lr=0.1).state_dict(), "m": other.bias},
        tmp_path / "bare.pth",
    )
    comparison = compare_checkpoints(tmp_path / "named.pth", tmp_path / "bare.pth")
    assert any("b has an optimizer and not its model" in warning for warning in comparison.structure.warnings)


def test_that_the_sentence_tells_how_far_the_optimizer_went(files: tuple[Path, Path]) -> None:
    forward = compare_checkpoints(*files, select="optimizer").overview
    assert forward is not None
    assert "optimizer advanced from step 3 to 5" in forward.sentence
    back = compare_checkpoints(*files[::-1], select="optimizer").overview
    assert back is not None
    assert "optimizer went back from step 5 to 3" in back.sentence


def test_that_notes_on_module_versions_are_told_apart(tmp_path: Path) -> None:
    state = trained(0)[0].state_dict()
    torch.save(state, tmp_path / "a.pth")
    torch.save(dict(state), tmp_path / "b.pth")
    overview = compare_checkpoints(tmp_path / "a.pth", tmp_path / "b.pth").overview
    assert overview is not None
    assert overview.sentence == (
        "4 tensors, all bit-identical; 3 notes on module versions (._metadata) differ; 1 other entry differs"
    )
