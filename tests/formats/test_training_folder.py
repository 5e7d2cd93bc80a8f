"""Folders of training runs as one document: model, optimizer, scheduler, random states, what is beside them."""

from __future__ import annotations

import json
import random
from collections import OrderedDict
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from tests.formats.container_files import bytes_of, save_zip, torch_bytes
from viewer import open_checkpoint
from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.nodes import Kind
from viewer.errors import MalformedFile


def values_at(checkpoint: Checkpoint, path: str) -> bytes:
    tensor = checkpoint.tensor_of_node(checkpoint.find(path))
    assert tensor is not None
    assert tensor.storage is not None
    return bytes_of(checkpoint, tensor.storage)


def top_names(checkpoint: Checkpoint) -> list[object]:
    return [checkpoint.nodes.key[node] for node in checkpoint.nodes.children(0)]


@pytest.fixture
def trainer(tmp_path: Path) -> Path:
    """As transformers' Trainer writes it, with a model in one file."""
    folder = tmp_path / "checkpoint-500"
    folder.mkdir()
    model = torch.nn.Linear(3, 2)
    optimizer = torch.optim.AdamW(model.parameters())
    model(torch.ones(1, 3)).sum().backward()
    optimizer.step()
    save_file(dict(model.state_dict()), folder / "model.safetensors")
    save_zip(folder / "optimizer.pt", optimizer.state_dict())
    save_zip(folder / "scheduler.pt", torch.optim.lr_scheduler.StepLR(optimizer, 10).state_dict())
    save_zip(folder / "rng_state.pth", {"python": random.Random(1).getstate(), "cpu": torch.get_rng_state()})
    save_zip(folder / "training_args.bin", {"learning_rate": 1e-4})
    (folder / "trainer_state.json").write_text(json.dumps({"global_step": 500, "log_history": [{"loss": 0.5}]}))
    (folder / "config.json").write_text(json.dumps({"hidden_size": 3}))
    (folder / "tokenizer.model").write_bytes(b"\0\1\2")
    return folder


def test_that_a_trainer_folder_is_one_document_of_its_parts(trainer: Path) -> None:
    checkpoint = open_checkpoint(trainer)
    assert checkpoint.container == "training folder"
    assert checkpoint.path == trainer
    assert checkpoint.warnings == []
    assert top_names(checkpoint) == ["model", "optimizer", "scheduler", "random states", "state", "other files"]
    weights = torch.load(trainer / "optimizer.pt")["state"][0]["exp_avg"]
    assert values_at(checkpoint, "optimizer/optimizer.pt/state[0]/exp_avg") == torch_bytes(weights)
    assert checkpoint.find("model/model.safetensors/weight")
    assert checkpoint.find("scheduler/scheduler.pt/last_epoch")
    assert checkpoint.find("random states/rng_state.pth/cpu")
    values = {
        "state/trainer_state.json/global_step": 500,
        "state/trainer_state.json/log_history[0]/loss": 0.5,
        "other files/training_args.bin/learning_rate": 1e-4,
        "other files/config.json/hidden_size": 3,
    }
    for path, value in values.items():
        assert checkpoint.nodes.value[checkpoint.find(path)] == value


def test_that_a_sharded_model_is_one_part(trainer: Path) -> None:
    (trainer / "model.safetensors").unlink()
    for nth in (1, 2):
        save_file({f"w{nth}": torch.full((2,), float(nth))}, trainer / f"model-{nth:05d}-of-00002.safetensors")
    weight_map = {f"w{nth}": f"model-{nth:05d}-of-00002.safetensors" for nth in (1, 2)}
    (trainer / "model.safetensors.index.json").write_text(
        json.dumps({"metadata": {"total_size": 16}, "weight_map": weight_map})
    )
    checkpoint = open_checkpoint(trainer)
    assert checkpoint.warnings == []
    model = checkpoint.find("model")
    assert checkpoint.nodes.n_children[model] == 1
    expected = torch_bytes(torch.full((2,), 2.0))
    assert values_at(checkpoint, "model/model.safetensors.index.json/w2") == expected


def test_that_a_broken_part_is_a_row_and_the_others_stand(trainer: Path) -> None:
    (trainer / "optimizer.pt").write_bytes(b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n")
    (trainer / "trainer_state.json").write_text("{")
    checkpoint = open_checkpoint(trainer)
    for path, said in {"optimizer/optimizer.pt": "Git LFS pointer", "state/trainer_state.json": "not JSON"}.items():
        node = checkpoint.find(path)
        assert checkpoint.nodes.kind[node] == Kind.PROBLEM
        assert said in str(checkpoint.nodes.value[node])
    assert checkpoint.find("model/model.safetensors/weight")


def test_that_rng_states_of_several_processes_stand_side_by_side(trainer: Path) -> None:
    (trainer / "rng_state.pth").unlink()
    for rank in range(2):
        save_zip(trainer / f"rng_state_{rank}.pth", {"cpu": torch.get_rng_state()})
    checkpoint = open_checkpoint(trainer)
    assert checkpoint.find("random states/rng_state_0.pth/cpu")
    assert checkpoint.find("random states/rng_state_1.pth/cpu")


@pytest.fixture
def deepspeed(tmp_path: Path) -> Path:
    """ZeRO-3 of two ranks: empty weights, their shapes beside them, flat partitions in the optimizer states."""
    root = tmp_path / "run"
    step = root / "global_step4"
    step.mkdir(parents=True)
    (root / "latest").write_text("global_step4")
    (root / "zero_to_fp32.py").write_text("raise SystemExit('never run this')\n")
    shapes = [OrderedDict(w=torch.Size([4, 3]), b=torch.Size([3]))]
    state = {"module": OrderedDict(w=torch.empty(0), b=torch.empty(0)), "param_shapes": shapes, "global_steps": 4}
    save_zip(step / "zero_pp_rank_0_mp_rank_00_model_states.pt", state)
    for rank in range(2):
        flat = torch.arange(8.0) + 8 * rank
        save_zip(
            step / f"bf16_zero_pp_rank_{rank}_mp_rank_00_optim_states.pt",
            {"optimizer_state_dict": {"fp32_flat_groups": [flat]}},
        )
    return root


def test_that_a_deepspeed_folder_shows_the_step_that_latest_names(deepspeed: Path) -> None:
    (deepspeed / "global_step2").mkdir()
    checkpoint = open_checkpoint(deepspeed)
    assert checkpoint.container == "DeepSpeed folder"
    assert checkpoint.facts["latest"] == "global_step4"
    assert "latest names global_step4; not shown: global_step2" in checkpoint.warnings
    name = "global_step4/bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt"
    path = f'optimizer["{name}"]/optimizer_state_dict/fp32_flat_groups[0]'
    assert values_at(checkpoint, path) == torch_bytes(torch.arange(8.0) + 8)


def test_that_weights_that_zero_3_keeps_elsewhere_say_where_and_how_large(deepspeed: Path) -> None:
    checkpoint = open_checkpoint(deepspeed)
    path = 'model["global_step4/zero_pp_rank_0_mp_rank_00_model_states.pt"]/module/w'
    tensor = checkpoint.tensor_of_node(checkpoint.find(path))
    assert tensor is not None
    assert tensor.shape == (0,)
    assert tensor.extra["real shape"] == "4×3, in param_shapes; ZeRO-3 keeps the values in the optimizer states"
    assert any("2 tensors are empty: ZeRO-3" in warning for warning in checkpoint.warnings)


def test_that_a_single_file_of_zero_3_says_the_real_shapes(tmp_path: Path) -> None:
    shapes = [OrderedDict(w=torch.Size([4, 3])), OrderedDict(s=torch.Size([]))]
    module = OrderedDict(w=torch.empty(0), s=torch.empty(0), full=torch.ones(2), other=torch.empty(0))
    torch.save({"module": module, "param_shapes": shapes}, tmp_path / "mp_rank_00_model_states.pt")
    checkpoint = open_checkpoint(tmp_path / "mp_rank_00_model_states.pt")
    found = {}
    for name in module:
        tensor = checkpoint.tensor_of_node(checkpoint.find(f"module/{name}"))
        assert tensor is not None
        found[name] = str(tensor.extra.get("real shape", "")).partition(",")[0]
    assert found == {"w": "4×3", "s": "scalar", "full": "", "other": ""}
    assert checkpoint.warnings == [
        "2 tensors are empty: ZeRO-3 keeps them in the optimizer states, and their real shapes in param_shapes"
    ]


def test_that_the_script_beside_is_text_and_is_not_run(deepspeed: Path) -> None:
    checkpoint = open_checkpoint(deepspeed)
    node = checkpoint.find("other files/zero_to_fp32.py")
    assert checkpoint.nodes.kind[node] == Kind.TEXT
    assert "never run this" in str(checkpoint.nodes.value[node])


def test_that_the_step_folder_opens_by_itself(deepspeed: Path) -> None:
    checkpoint = open_checkpoint(deepspeed / "global_step4")
    assert checkpoint.container == "DeepSpeed folder"
    assert top_names(checkpoint) == ["model", "optimizer"]


@pytest.mark.parametrize("named", ["../outside", "global_step9", "/etc", ""])
def test_that_latest_leads_nowhere_but_to_a_folder_beside_it(deepspeed: Path, named: str) -> None:
    (deepspeed / "latest").write_text(named)
    checkpoint = open_checkpoint(deepspeed)
    assert any("which is no folder here" in warning for warning in checkpoint.warnings) == bool(named)
    assert checkpoint.find('model["global_step4/zero_pp_rank_0_mp_rank_00_model_states.pt"]/global_steps')


def test_that_a_training_folder_without_checkpoints_says_so(tmp_path: Path) -> None:
    (tmp_path / "latest").write_text("global_step1")
    (tmp_path / "global_step1").mkdir()
    with pytest.raises(MalformedFile, match="no checkpoint file is in it"):
        open_checkpoint(tmp_path)


def test_that_long_texts_are_cut_and_say_so(deepspeed: Path) -> None:
    (deepspeed / "notes.txt").write_text("x" * 3_000_000)
    checkpoint = open_checkpoint(deepspeed)
    text = str(checkpoint.nodes.value[checkpoint.find("other files/notes.txt")])
    assert len(text) < 1_100_000
    assert text.endswith("(the first 1,048,576 of 3,000,000 bytes)")
