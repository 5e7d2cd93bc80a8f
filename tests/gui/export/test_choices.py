"""What can be chosen for an export, and where it goes by default."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.gui.checkpoints import Tensor, make_checkpoint
from viewer.checkpoint.document import FileFacts
from viewer.checkpoint.meaning.recognise import recognise_task
from viewer.export.options import ExportOptions
from viewer.gui.export.choices import (
    PartChoice,
    given_target,
    part_choices,
    proposed_target,
    target_state,
    with_flavour,
)
from viewer.task import run

WEIGHTS = {"conv.weight": Tensor((4, 3, 3, 3)), "conv.bias": Tensor((4,))}
MOMENTS = {"step": Tensor(()), "exp_avg": Tensor((4, 3, 3, 3)), "exp_avg_sq": Tensor((4, 3, 3, 3))}
OPTIMIZER = {"state": {0: MOMENTS}, "param_groups": [{"lr": 0.1, "betas": (0.9, 0.999), "eps": 1e-8, "params": [0]}]}


def labels(root: object, node: int | None = None) -> list[str]:
    checkpoint = make_checkpoint(root)
    return [choice.label for choice in part_choices(checkpoint, run(recognise_task(checkpoint)), node)]


def test_that_only_what_was_recognised_is_offered() -> None:
    assert labels({"state_dict": WEIGHTS, "optimizer": OPTIMIZER, "epoch": 3}) == [
        "Everything",
        "Model weights only (state_dict)",
        "Without the optimizer",
    ]
    assert labels({"numbers": [1, 2]}) == ["Everything"]


def test_that_averaged_weights_are_offered_as_the_model_where_they_are_recognised() -> None:
    offered = labels({"state_dict": WEIGHTS, "ema_state_dict": WEIGHTS})
    assert "EMA weights as the model (ema_state_dict)" in offered
    assert not any("EMA" in label for label in labels({"state_dict": WEIGHTS}))


def test_that_the_row_in_front_is_offered_unless_it_is_the_root() -> None:
    checkpoint = make_checkpoint({"state_dict": WEIGHTS})
    node = checkpoint.find("state_dict/conv.bias")
    choice = part_choices(checkpoint, None, node)[1]
    assert choice.label == "Only state_dict/conv.bias"
    assert choice.of(ExportOptions(cast="float16")) == ExportOptions(select="state_dict/conv.bias", cast="float16")
    assert len(part_choices(checkpoint, None, 0)) == 1


@pytest.mark.parametrize(
    ("source", "flavour", "proposed"),
    [
        ("last.ckpt", "pth", "last-canonical.pth"),
        ("model.pth.tar", "pth", "model-canonical.pth"),
        ("model.safetensors.index.json", "safetensors", "model-canonical.safetensors"),
        ("checkpoint-500", "pth", "checkpoint-500-canonical.pth"),
        (".pth", "pth", ".pth-canonical.pth"),
    ],
)
def test_that_a_name_beside_the_source_is_proposed(source: str, flavour: str, proposed: str) -> None:
    choice = PartChoice("Everything", "canonical")
    assert proposed_target(Path("/x") / source, choice, flavour) == Path("/x") / proposed  # type: ignore[arg-type]


def test_that_a_part_gives_its_name_to_the_file_without_characters_that_no_name_may_have() -> None:
    checkpoint = make_checkpoint({'a/b: "c"': {"w": Tensor()}})
    choice = part_choices(checkpoint, None, 1)[1]
    name = proposed_target(Path("/x/m.pt"), choice, "pth").name
    assert name.startswith("m-")
    assert not set(name) & set('/:"\\')


def test_that_a_given_name_keeps_what_is_no_suffix_of_a_checkpoint() -> None:
    assert with_flavour("/x/model.v2.pt", "safetensors") == "/x/model.v2.safetensors"
    assert with_flavour("/x/model.v2", "safetensors") == "/x/model.v2"


def test_that_the_source_is_known_by_any_of_its_names(tmp_path: Path) -> None:
    source = tmp_path / "m.pth"
    source.write_bytes(b"x")
    status = source.stat()
    files = [FileFacts(source, 1, status.st_mtime_ns, status.st_ino, status.st_dev)]
    (tmp_path / "link.pth").symlink_to(source)
    os.link(source, tmp_path / "hard.pth")
    (tmp_path / "other.pth").write_bytes(b"x")
    states = {name: target_state(tmp_path / name, files) for name in ("m.pth", "link.pth", "hard.pth", "other.pth")}
    assert states == {"m.pth": "source", "link.pth": "source", "hard.pth": "source", "other.pth": "there"}
    assert target_state(tmp_path / "none.pth", files) == "new"


def test_that_a_folder_whose_name_is_no_text_is_kept_behind_the_text_that_is_shown() -> None:
    proposed, shown = "/runs/caf\udce9/a-canonical.pth", "/runs/caf\ufffd/a-canonical.pth"
    assert given_target(shown, proposed, shown) == Path(proposed)
    assert given_target(" /runs/caf\ufffd/b.pth ", proposed, shown) == Path("/runs/caf\udce9/b.pth")
    assert given_target("/elsewhere/b.pth", proposed, shown) == Path("/elsewhere/b.pth")
    assert given_target("/runs/./more/../b.pth", proposed, shown) == Path("/runs/b.pth")
