"""`checkpoint-viewer optimizer` and `check`: JSON of the agreed form, text, exit codes."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.checkpoint.meaning.training import FrozenTwin, Plain, by_decay, train
from tests.cli.running import run_main


def saved(content: object, folder: Path) -> Path:
    torch.save(content, folder / "run.pth")
    return folder / "run.pth"


def test_that_the_json_has_the_agreed_form(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    training = train(Plain(), "Adam", by_decay)
    report = run_main(capsys, "optimizer", saved(training.content, tmp_path), "--json").json
    assert set(report) == {"optimizers", "notes"}
    (optimizer,) = report["optimizers"]
    assert set(optimizer) == {"path", "kind", "named_by", "groups", "entries"}
    assert (optimizer["path"], optimizer["kind"], optimizer["named_by"]) == ("optimizer", "Adam", "state_dict")
    truth = training.content["optimizer"]
    for group, expected in zip(optimizer["groups"], truth["param_groups"], strict=True):
        assert group == json.loads(json.dumps(expected))
    assert len(optimizer["entries"]) == len(training.truth)
    for nth, (entry, name) in enumerate(zip(optimizer["entries"], training.truth, strict=True)):
        state = truth["state"][nth]
        assert set(entry) == {"id", "name", "candidates", "group", "state", "fits"}
        assert (entry["id"], entry["name"], entry["candidates"], entry["fits"]) == (nth, name, [], True)
        assert entry["group"] == (0 if nth < 3 else 1)
        assert entry["state"]["step"] == 2.0
        for moment in ("exp_avg", "exp_avg_sq"):
            value = state[moment]
            found = entry["state"][moment]
            assert (found["shape"], found["dtype"]) == (list(value.shape), "float32")
            assert found["norm"] == pytest.approx(float(value.double().norm()), rel=1e-12)


def test_that_an_uncertain_name_is_null_with_candidates(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    report = run_main(capsys, "optimizer", saved(train(FrozenTwin(), "Adam").content, tmp_path), "--json").json
    (optimizer,) = report["optimizers"]
    assert optimizer["entries"][0]["name"] is None
    assert optimizer["entries"][0]["candidates"] == ["first.weight", "second.weight"]
    assert any("more than one assignment fits" in note for note in report["notes"])


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_that_norms_of_non_finite_moments_are_said(
    value: float, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    content = train(Plain(), "SGD").content
    content["optimizer"]["state"][0]["momentum_buffer"][0, 0] = value
    content["optimizer"]["state"][1]["momentum_buffer"] = None
    entries = run_main(capsys, "optimizer", saved(content, tmp_path), "--json").json["optimizers"][0]["entries"]
    assert entries[0]["state"]["momentum_buffer"]["norm"] == str(value)
    assert entries[1]["state"] == {"momentum_buffer": None}


def test_that_lbfgs_lists_are_written(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    training = train(Plain(), "SGD")
    optimizer = torch.optim.LBFGS(training.model.parameters(), max_iter=3)

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        loss = training.model(torch.ones(3, 4)).square().mean()
        loss.backward()
        return loss

    optimizer.step(closure)
    content = {"model": training.model.state_dict(), "optimizer": optimizer.state_dict()}
    (found,) = run_main(capsys, "optimizer", saved(content, tmp_path), "--json").json["optimizers"]
    state = found["entries"][0]["state"]
    assert found["kind"] == "LBFGS"
    assert [item["shape"] for item in state["old_dirs"]] == [
        [len(direction)] for direction in content["optimizer"]["state"][0]["old_dirs"]
    ]
    assert state["func_evals"] == content["optimizer"]["state"][0]["func_evals"]


def test_that_a_file_without_optimizer_says_so(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    report = run_main(capsys, "optimizer", saved(Plain().state_dict(), tmp_path), "--json").json
    assert report == {"optimizers": [], "notes": ["the file holds no optimizer"]}


def test_that_names_come_from_another_file(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    training = train(Plain(), "Adam")
    torch.save(training.content["model"], tmp_path / "model.pth")
    path = saved(training.content["optimizer"], tmp_path)
    alone = run_main(capsys, "optimizer", path, "--json").json["optimizers"][0]
    assert alone["named_by"] == "none"
    named = run_main(capsys, "optimizer", path, "--model", tmp_path / "model.pth", "--json").json["optimizers"][0]
    assert [entry["name"] for entry in named["entries"]] == training.truth


def test_that_the_text_shows_groups_names_and_norms(capsys: pytest.CaptureFixture[str], sample_path: Path) -> None:
    ran = run_main(capsys, "optimizer", sample_path)
    assert (ran.code, ran.err) == (0, "")
    lines = ran.out.splitlines()
    assert any(line.split() == ["weight_decay", "≠", "0.0001", "0.0"] for line in lines)
    assert any(line.split()[:5] == ["0", "stem.conv.weight", "0", "16×1×3×3", "200"] for line in lines)


def test_that_names_which_control_a_terminal_are_escaped(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    content: dict[str, Any] = train(Plain(), "Adam", named=True).content
    content["optimizer"]["param_groups"][0]["param_names"][0] = "\x1b[31mred"
    content["optimizer"]["param_groups"][0]["\x1b[2J"] = 1
    for command in ("optimizer", "check"):
        assert "\x1b" not in run_main(capsys, command, saved(content, tmp_path)).out


def test_that_check_exits_with_0_where_nothing_is_found(
    capsys: pytest.CaptureFixture[str], sample_path: Path
) -> None:
    ran = run_main(capsys, "check", sample_path)
    assert (ran.code, ran.err) == (0, "")
    assert "nothing found" in ran.out


def test_that_check_exits_with_1_and_says_what_and_how_to_mend_it(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = saved({"module.w.weight": torch.tensor([math.nan])}, tmp_path)
    ran = run_main(capsys, "check", path)
    assert ran.code == 1
    assert "non-finite values" in ran.out
    assert "removeprefix('module.')" in ran.out
    ran = run_main(capsys, "check", path, "--json")
    assert ran.code == 1
    report = json.loads(ran.out)
    assert [finding["check"] for finding in report["findings"]] == [
        "non-finite values",
        "prefixes that will not load",
    ]
    assert report["findings"][0]["paths"] == ["module.w.weight"]
    assert report["found"] == 2
    assert run_main(capsys, "check", path, "--no-values", "--json").out.count('"severity"') == 1


def test_that_a_missing_file_is_one_line_and_exit_2(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for command in ("optimizer", "check"):
        ran = run_main(capsys, command, tmp_path / "gone.pth")
        assert (ran.code, ran.out, len(ran.err.splitlines())) == (2, "", 1)
