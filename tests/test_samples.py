"""The bundled checkpoints are what the script beside them makes."""

from __future__ import annotations

import runpy
from pathlib import Path

import torch

from viewer.resources import resource_path

SCRIPT = resource_path("samples/make_samples.py")


def test_that_torch_loads_both_samples_safely_and_they_fit_the_network(sample_paths: tuple[Path, Path]) -> None:
    script = runpy.run_path(str(SCRIPT))
    for path, step in zip(sample_paths, script["SAVED_STEPS"], strict=True):
        checkpoint = torch.load(path, weights_only=True)
        assert checkpoint["step"] == step
        model = script["ShapeNet"]()
        model.load_state_dict(checkpoint["model"], strict=True)
        optimizer = script["make_optimizer"](model)
        optimizer.load_state_dict(checkpoint["optimizer"])
        assert len(optimizer.param_groups) == 2


def test_that_the_second_sample_is_a_later_step_of_the_same_run(sample_paths: tuple[Path, Path]) -> None:
    early, late = (torch.load(path, weights_only=True) for path in sample_paths)
    assert early["config"] == late["config"]
    assert list(early["model"]) == list(late["model"])
    assert late["loss"] < early["loss"]
    assert late["scheduler"]["_last_lr"][0] < early["scheduler"]["_last_lr"][0]
    assert not torch.equal(early["model"]["head.weight"], late["model"]["head.weight"])


def test_that_the_samples_are_small(sample_paths: tuple[Path, Path]) -> None:
    assert all(100_000 < path.stat().st_size < 400_000 for path in sample_paths)


def test_that_the_script_writes_checkpoints_of_the_same_form(tmp_path: Path, sample_path: Path) -> None:
    script = runpy.run_path(str(SCRIPT))
    (made,) = script["train"](tmp_path, steps=2, saved_steps=(2,))
    new, bundled = torch.load(made, weights_only=True), torch.load(sample_path, weights_only=True)
    assert list(new) == list(bundled)
    assert {name: value.shape for name, value in new["model"].items()} == {
        name: value.shape for name, value in bundled["model"].items()
    }
    assert (
        new["optimizer"]["param_groups"][0]["param_names"] == bundled["optimizer"]["param_groups"][0]["param_names"]
    )
