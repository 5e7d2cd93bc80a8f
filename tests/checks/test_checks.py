"""Each check finds what it is for, and nothing in a sound checkpoint."""

from __future__ import annotations

import argparse
import math
import os
import pickle
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import _weights_only_unpickler as torch_unpickler
from torch import nn
from torch.optim.swa_utils import AveragedModel

from tests.checkpoint.meaning.training import OPTIMIZERS, Plain, train
from viewer import open_checkpoint
from viewer.checkpoint.document import Checkpoint
from viewer.checks.results import CheckReport, Finding
from viewer.checks.run import check_task
from viewer.checks.weights_only import ALLOWED
from viewer.task import run


def checked(content: object, folder: Path, **how: Any) -> tuple[Checkpoint, CheckReport]:
    path = folder / "checked.pth"
    torch.save(content, path)
    checkpoint = open_checkpoint(path)
    return checkpoint, run(check_task(checkpoint, **how))


def only_finding(content: object, folder: Path) -> Finding:
    _, report = checked(content, folder)
    (finding,) = report.findings
    return finding


@pytest.mark.parametrize("kind", OPTIMIZERS)
def test_that_a_sound_training_checkpoint_has_no_finding(kind: str, tmp_path: Path) -> None:
    _, report = checked(train(Plain(), kind).content, tmp_path)
    assert (report.findings, report.notes, report.with_values) == ([], [], True)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.complex64])
def test_that_non_finite_values_are_found(value: float, dtype: torch.dtype, tmp_path: Path) -> None:
    weight = torch.zeros(5, dtype=dtype)
    weight[3] = value
    checkpoint, report = checked({"w.weight": weight, "sound.weight": torch.zeros(5)}, tmp_path)
    (finding,) = report.findings
    assert (finding.check, finding.severity, finding.count) == ("non-finite values", "error", 1)
    assert [checkpoint.path_of(node) for node in finding.nodes] == ["w.weight"]
    assert f"w.weight (1 {'NaN' if math.isnan(value) else 'infinite'} of 5)" in finding.message


def test_that_values_are_left_alone_where_only_the_structure_is_checked(tmp_path: Path) -> None:
    _, report = checked({"w.weight": torch.full((3,), math.nan)}, tmp_path, with_values=False)
    assert (report.findings, report.with_values) == ([], False)
    assert "non-finite values" not in report.checks


def test_that_step_zero_with_moments_is_found(tmp_path: Path) -> None:
    content = train(Plain(), "Adam").content
    content["optimizer"]["state"][2]["step"] = torch.tensor(0.0)
    finding = only_finding(content, tmp_path)
    assert (finding.check, finding.count) == ("step 0 with non-zero moments", 1)
    assert "optimizer/state[2]" in finding.message
    for moment in content["optimizer"]["state"][2].values():
        moment.zero_()
    _, report = checked(content, tmp_path)
    assert report.findings == []


@pytest.mark.parametrize(("kind", "moment"), [("Adam", "exp_avg_sq"), ("RMSprop", "square_avg"), ("Adagrad", "sum")])
def test_that_negative_second_moments_are_found(kind: str, moment: str, tmp_path: Path) -> None:
    content = train(Plain(), kind).content
    content["optimizer"]["state"][0][moment][0, 0] = -1e-9
    finding = only_finding(content, tmp_path)
    assert finding.check == "negative second moments"
    assert f"optimizer/state[0]/{moment}" in finding.message


def test_that_moments_of_another_shape_are_found(tmp_path: Path) -> None:
    content = train(Plain(), "Adam", named=True).content
    state = content["optimizer"]["state"]
    state[0], state[1] = state[1], state[0]
    finding = only_finding(content, tmp_path)
    assert (finding.check, finding.severity, finding.count) == ("moments that do not fit", "error", 2)
    assert "inner.0.weight has moments of 8 and is 8×4" in finding.message


def test_that_an_optimizer_of_another_model_is_found(tmp_path: Path) -> None:
    content = train(Plain(), "Adam").content
    content["model"] = nn.Linear(7, 7).state_dict()
    _, report = checked(content, tmp_path)
    assert {finding.check for finding in report.findings} == {
        "moments that do not fit",
        "optimizer that does not fit the model",
    }


def test_that_state_of_no_group_is_found(tmp_path: Path) -> None:
    content = train(Plain(), "Adam").content
    left_out = content["optimizer"]["param_groups"][0]["params"].pop()
    checkpoint, report = checked(content, tmp_path)
    finding = next(finding for finding in report.findings if "in no group" in finding.message)
    assert finding.message == f"1 state of optimizer in no group, the first {left_out}"
    assert [checkpoint.path_of(node) for node in finding.nodes] == [f"optimizer/state[{left_out}]"]
    with pytest.raises(ValueError, match="doesn't match the size"):
        torch.optim.Adam(Plain().parameters()).load_state_dict(content["optimizer"])


def test_that_a_parameter_in_the_groups_twice_is_found(tmp_path: Path) -> None:
    content = train(Plain(), "Adam").content
    group = content["optimizer"]["param_groups"][0]
    group["params"][1] = group["params"][0]
    _, report = checked(content, tmp_path)
    assert any("list 1 parameter more than once, the first 0" in finding.message for finding in report.findings)


def test_that_state_for_strangers_is_found(tmp_path: Path) -> None:
    content = train(Plain(), "Adam", named=True).content
    content["model"] = {f"backbone.{name}": value for name, value in content["model"].items()}
    finding = only_finding(content, tmp_path)
    assert finding.check == "optimizer that does not fit the model"
    assert "state for 10 parameters that are not in model" in finding.message


@pytest.mark.parametrize("prefix", ["module.", "_orig_mod.", "_orig_mod.module."])
def test_that_prefixes_which_will_not_load_are_found(prefix: str, tmp_path: Path) -> None:
    state = {prefix + name: value for name, value in Plain().state_dict().items()}
    finding = only_finding(state, tmp_path)
    assert finding.check == "prefixes that will not load"
    model = Plain()
    with pytest.raises(RuntimeError, match="Missing key"):
        model.load_state_dict(state)
    model.load_state_dict(eval(finding.remedy, {"state_dict": state}))


def test_that_the_remedy_for_an_averaged_model_loads(tmp_path: Path) -> None:
    state = AveragedModel(Plain()).state_dict()
    finding = only_finding(state, tmp_path)
    assert "AveragedModel" in finding.message
    Plain().load_state_dict(eval(finding.remedy, {"state_dict": state}))


def test_that_a_submodule_called_module_is_no_finding(tmp_path: Path) -> None:
    state = {"w.weight": torch.zeros(2), "module.w.weight": torch.ones(2)}
    _, report = checked(state, tmp_path)
    assert report.findings == []


def test_that_views_which_waste_space_are_found(tmp_path: Path) -> None:
    base = torch.zeros(1000, 10)
    checkpoint, report = checked({"row.weight": base[3], "own.weight": torch.zeros(9)}, tmp_path)
    (finding,) = report.findings
    assert finding.check == "views that waste space"
    assert f"{40_000 - 40:,} bytes" in finding.message
    assert [checkpoint.path_of(node) for node in finding.nodes] == ["row.weight"]
    _, report = checked({"rows": list(base), "whole.weight": base}, tmp_path)
    assert report.findings == []
    _, report = checked({"expanded.weight": torch.zeros(1).expand(5, 5)}, tmp_path)
    assert report.findings == []


def test_that_device_tags_are_told(tmp_path: Path) -> None:
    path = tmp_path / "cuda.pth"
    torch.save({"w.weight": torch.zeros(3)}, path, _use_new_zipfile_serialization=False)
    data = path.read_bytes()
    assert data.count(b"X\x03\x00\x00\x00cpu") == 1
    path.write_bytes(data.replace(b"X\x03\x00\x00\x00cpu", b"X\x06\x00\x00\x00cuda:1"))
    report = run(check_task(open_checkpoint(path)))
    (finding,) = report.findings
    assert (finding.check, finding.severity) == ("device tags that need a map", "info")
    assert "cuda:1 (1 storages)" in finding.message


def test_that_steps_which_cannot_count_on_are_found(tmp_path: Path) -> None:
    content = train(Plain(), "Adam").content
    content["optimizer"]["state"][0]["step"] = torch.tensor(256.0, dtype=torch.bfloat16)
    content["optimizer"]["state"][1]["step"] = torch.tensor(255.0, dtype=torch.bfloat16)
    finding = only_finding(content, tmp_path)
    assert (finding.check, finding.count) == ("steps that cannot count on", 1)
    assert "above 256 in bfloat16" in finding.message


def test_that_a_cut_file_is_a_finding(tmp_path: Path) -> None:
    path = tmp_path / "cut.pth"
    torch.save(
        {"a.weight": torch.zeros(5), "b.weight": torch.zeros(50_000)}, path, _use_new_zipfile_serialization=False
    )
    path.write_bytes(path.read_bytes()[:-1000])
    report = run(check_task(open_checkpoint(path)))
    assert [finding.check for finding in report.findings] == ["entries that cannot be read", "warnings of the reader"]


def test_that_the_table_of_allowed_names_is_torch_s_own() -> None:
    assert set(torch_unpickler._get_allowed_globals()) == ALLOWED


@pytest.mark.parametrize(
    "content",
    [
        {"args": argparse.Namespace(lr=1)},
        {"path": Path("x")},
        nn.Linear(2, 2),
        {"size": torch.Size([2]), "dtype": torch.bfloat16, "device": torch.device("cpu"), "set": {1}},
        {"p": nn.Parameter(torch.zeros(2)), "s": torch.zeros(2, 2).to_sparse()},
    ],
    ids=["namespace", "path", "module", "plain", "tensors"],
)
@pytest.mark.filterwarnings("ignore")
def test_that_torch_refuses_what_the_check_says_it_refuses(content: object, tmp_path: Path) -> None:
    _, report = checked(content, tmp_path)
    findings = [finding for finding in report.findings if finding.check == "classes that need weights_only=False"]
    try:
        torch.load(tmp_path / "checked.pth", weights_only=True)
    except Exception as error:  # noqa: BLE001 - torch's own error, whichever it is
        said = str(error)
        (finding,) = findings
        assert "Unsupported global: GLOBAL" in said
        refused = said.split("Unsupported global: GLOBAL ")[1].split(" ")[0]
        assert refused in finding.message
    else:
        assert findings == []


class _Runs:
    """Asks for a program when it is unpickled."""

    def __init__(self, function: Any, *args: object) -> None:
        self.call = function, args

    def __reduce__(self) -> tuple[Any, tuple[object, ...]]:
        return self.call


@pytest.mark.parametrize(
    ("function", "severity"), [(os.system, "error"), (eval, "error"), (exec, "error"), (getattr, "warning")]
)
def test_that_names_which_can_run_programs_are_found_and_not_recommended(
    function: Any, severity: str, tmp_path: Path
) -> None:
    _, report = checked({"w.weight": torch.zeros(2), "x": _Runs(function, "1", "2")}, tmp_path)
    danger, refused = report.findings
    assert (danger.check, danger.severity) == ("names that can run programs", severity)
    assert function.__name__ in danger.message
    assert (refused.check, refused.remedy) == ("classes that need weights_only=False", "Do not load it")


def test_that_a_plain_pickle_is_told_apart(tmp_path: Path) -> None:
    path = tmp_path / "plain.pkl"
    path.write_bytes(pickle.dumps({"w": 1, "p": argparse.Namespace(a=1)}))
    (finding,) = run(check_task(open_checkpoint(path))).findings
    assert "torch.load does not read a plain pickle" in finding.message


def test_that_a_torchscript_archive_is_told(tmp_path: Path) -> None:
    checkpoint = open_checkpoint(save_of({"a": 1}, tmp_path))
    checkpoint.container = "TorchScript"
    (finding,) = run(check_task(checkpoint, with_values=False)).findings
    assert "TorchScript" in finding.message


def save_of(content: object, folder: Path) -> Path:
    torch.save(content, folder / "saved.pth")
    return folder / "saved.pth"


def test_that_the_severe_findings_come_first(tmp_path: Path) -> None:
    state = {"module.a.weight": torch.full((2,), math.nan), "module.b.weight": torch.zeros(100)[:2]}
    _, report = checked(state, tmp_path)
    assert [finding.severity for finding in report.findings] == ["error", "warning", "warning"]
    assert all(finding.remedy for finding in report.findings)
