"""What the parts of a checkpoint are recognised as, wherever they stand."""

from __future__ import annotations

import argparse
import random
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.optim import lr_scheduler
from torch.optim.swa_utils import AveragedModel

from tests.checkpoint.meaning.training import OPTIMIZERS, Plain, Tied, recognised, train
from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.meaning.results import ROLES, Label, Recognition


def label_at(found: tuple[Checkpoint, Recognition], path: str) -> Label | None:
    checkpoint, recognition = found
    return recognition.labels.get(checkpoint.find(path))


def halving(epoch: int) -> float:
    return 0.5**epoch


def _schedulers() -> list[Any]:
    def made() -> torch.optim.Optimizer:
        return torch.optim.SGD([nn.Parameter(torch.zeros(2))], lr=0.1, momentum=0.9)

    one = made()
    return [
        lr_scheduler.StepLR(made(), 3),
        lr_scheduler.MultiStepLR(made(), [1, 2]),
        lr_scheduler.ExponentialLR(made(), 0.9),
        lr_scheduler.CosineAnnealingLR(made(), 5),
        lr_scheduler.CosineAnnealingWarmRestarts(made(), 5),
        lr_scheduler.OneCycleLR(made(), 0.1, total_steps=9),
        lr_scheduler.ReduceLROnPlateau(made()),
        lr_scheduler.LambdaLR(made(), halving),
        lr_scheduler.LinearLR(made()),
        lr_scheduler.ConstantLR(made()),
        lr_scheduler.PolynomialLR(made()),
        lr_scheduler.CyclicLR(made(), 0.01, 0.1),
        lr_scheduler.SequentialLR(one, [lr_scheduler.ConstantLR(one), lr_scheduler.StepLR(one, 3)], [2]),
    ]


@pytest.mark.parametrize("scheduler", _schedulers(), ids=lambda scheduler: type(scheduler).__name__)
def test_that_each_scheduler_is_recognised_with_its_values(scheduler: Any, tmp_path: Path) -> None:
    found = recognised({"deep": [{"s": scheduler.state_dict()}]}, tmp_path)
    label = label_at(found, "deep[0]/s")
    assert label is not None
    assert (label.text, label.known) == (f"scheduler ({type(scheduler).__name__})", False)
    (part,) = [part for part in found[1].parts if part.kind == "scheduler"]
    assert dict(part.values)["last_epoch"] == "0"
    assert dict(part.values)["_last_lr"] == str(scheduler.state_dict()["_last_lr"])


@pytest.mark.parametrize("kind", OPTIMIZERS)
def test_that_an_optimizer_that_made_no_step_is_not_taken_for_another(kind: str, tmp_path: Path) -> None:
    parameter = torch.nn.Parameter(torch.zeros(2, 2))
    optimizer = getattr(torch.optim, kind)([parameter])
    _, recognition = recognised({"optimizer": optimizer.state_dict()}, tmp_path)
    (facts,) = recognition.optimizers
    assert facts.kind == kind


def test_that_random_states_and_scalers_are_recognised(tmp_path: Path) -> None:
    content = {
        "rng": {
            "cpu": torch.get_rng_state(),
            "cuda": [torch.zeros(16, dtype=torch.uint8)] * 2,
            "python": random.getstate(),
        },
        "numpy": np.random.get_state(),
        "scaler": torch.amp.GradScaler("cpu").state_dict(),
        "mask": torch.zeros(16, dtype=torch.uint8),
    }
    found = recognised(content, tmp_path)
    texts = {path: label.text for path in content if (label := label_at(found, path)) is not None}
    assert texts == {"numpy": "random state (numpy)", "scaler": "gradient scaler"}
    cpu, cuda, python = (label_at(found, f"rng/{name}") for name in ("cpu", "cuda", "python"))
    assert cpu == Label(
        "random state (CPU)", False, "it is as long as the state of torch's CPU generator, 5,056 bytes"
    )
    assert cuda is not None
    assert cuda.text == "random states of 2 devices"
    assert python is not None
    assert python.text == "random state (Python)"
    scaler = next(part for part in found[1].parts if part.kind == "scaler")
    assert dict(scaler.values)["scale"] == "65536.0"


def test_that_a_training_script_s_checkpoint_is_labelled_by_content(tmp_path: Path) -> None:
    training = train(Plain(), "AdamW")
    content = {
        "net": training.content["model"],
        "teacher_ema": AveragedModel(training.model).state_dict(),
        "things": [training.content["optimizer"]],
        "args": argparse.Namespace(lr=0.1),
        "epoch": 3,
        "best_acc": 0.5,
        "name": "a run",
    }
    found = recognised(content, tmp_path)
    texts = {path: label.text for path in [*content, "things[0]"] if (label := label_at(found, path)) is not None}
    assert texts == {
        "net": "model state_dict",
        "teacher_ema": "averaged model state_dict",
        "things[0]": "optimizer (AdamW)",
        "args": "hyperparameters",
        "epoch": "epoch",
        "best_acc": "best metric",
    }
    net = label_at(found, "net")
    assert net == Label("model state_dict", True, "it carries the `_metadata` that `Module.state_dict()` writes")
    assert found[1].what == "training checkpoint with AdamW"


def test_that_a_lightning_checkpoint_is_labelled(tmp_path: Path) -> None:
    training = train(Plain(), "Adam")
    scheduler = lr_scheduler.StepLR(training.optimizer, 3)
    content = {
        "epoch": 1,
        "global_step": 10,
        "pytorch-lightning_version": "2.4.0",
        "state_dict": training.content["model"],
        "loops": {"fit_loop": {"state_dict": {}}},
        "callbacks": {"ModelCheckpoint{'monitor': None}": {"best_model_score": None}},
        "optimizer_states": [training.content["optimizer"]],
        "lr_schedulers": [scheduler.state_dict()],
        "hparams_name": "kwargs",
        "hyper_parameters": {"lr": 0.1},
    }
    found = recognised(content, tmp_path)
    assert found[1].what == "training checkpoint with Adam (PyTorch Lightning 2.4.0)"
    for path, text in {
        "loops": "progress of the loops",
        "callbacks": "states of callbacks",
        "optimizer_states": "optimizers",
        "lr_schedulers[0]": "scheduler (StepLR)",
        "hyper_parameters": "hyperparameters",
    }.items():
        label = label_at(found, path)
        assert label is not None
        assert label.text == text
    assert found[1].optimizers[0].entries.name == training.truth


def test_that_a_deepspeed_partition_says_where_its_parameters_are(tmp_path: Path) -> None:
    content = {
        "module": {"w": torch.empty(0), "b": torch.empty(0)},
        "param_shapes": [{"w": torch.Size([4, 3]), "b": torch.Size([3])}],
        "ds_config": {"zero_optimization": {"stage": 3}},
        "ds_version": "0.14.0",
    }
    _, recognition = recognised(content, tmp_path)
    assert "DeepSpeed" in recognition.what
    assert recognition.notes[0].startswith("2 parameters are empty here: ZeRO stage 3")


def test_that_tied_weights_buffers_and_roles_are_told_apart(tmp_path: Path) -> None:
    model = nn.ModuleDict({"plain": Plain(), "tied": Tied()})
    model["lora_A"] = nn.Linear(8, 2, bias=False)
    checkpoint, recognition = recognised(model.state_dict(), tmp_path)
    (facts,) = recognition.state_dicts
    roles = {name: ROLES[role] for name, role in zip(facts.name, facts.role, strict=True)}
    assert roles["plain.inner.0.weight"] == "weight"
    assert roles["plain.inner.1.weight"] == "norm weight"
    assert roles["plain.inner.1.running_mean"] == "running mean"
    assert roles["plain.inner.1.num_batches_tracked"] == "batch count"
    assert roles["tied.embedding.weight"] == "embedding"
    assert roles["lora_A.weight"] == "LoRA A"
    names = [[checkpoint.nodes.key[node] for node in group.nodes] for group in facts.tied]
    assert names == [["tied.embedding.weight", "tied.out.weight"]]
    parameters = {name for name, is_one in zip(facts.name, facts.is_parameter, strict=True) if is_one}
    assert parameters == {name for name, _ in model.named_parameters()}
    assert facts.n_parameters == sum(value.numel() for value in model.parameters())
    assert facts.versions["plain.inner.1"] == 2


def test_that_a_pickled_module_tells_parameters_from_buffers(tmp_path: Path) -> None:
    model = Tied()
    model.register_buffer("table", torch.zeros(3, 3))
    _, recognition = recognised({"m": model}, tmp_path)
    (facts,) = recognition.state_dicts
    assert facts.name == list(model.state_dict())
    assert facts.parameters_known
    known = [name for name, is_one in zip(facts.name, facts.is_parameter, strict=True) if is_one]
    assert known == [name for name, _ in model.named_parameters()]


def test_that_eight_bit_states_are_recognised(tmp_path: Path) -> None:
    """The keys that bitsandbytes writes (bitsandbytes/optim/optimizer.py, Optimizer2State.init_state)."""
    content = train(Plain(), "Adam").content
    for state in content["optimizer"]["state"].values():
        shape = state["exp_avg"].shape
        state.clear()
        state |= {
            "step": 2,
            "state1": torch.zeros(shape, dtype=torch.uint8),
            "qmap1": torch.zeros(256),
            "absmax1": torch.zeros(1),
            "state2": torch.zeros(shape, dtype=torch.uint8),
            "qmap2": torch.zeros(256),
            "absmax2": torch.zeros(1),
        }
    _, recognition = recognised(content, tmp_path)
    (facts,) = recognition.optimizers
    assert facts.kind == "8-bit Adam (bitsandbytes)"
    assert facts.entries.name[0] == "inner.0.weight"


@dataclass
class TrainingArguments:
    """What transformers pickles as training_args.bin, in small."""

    output_dir: str = "out"
    learning_rate: float = 5e-5
    per_device_train_batch_size: int = 8
    num_train_epochs: float = 3.0
    seed: int = 42


TrainingArguments.__module__ = "transformers.training_args"


@pytest.mark.parametrize("class_name", ["TrainingArguments", "Seq2SeqTrainingArguments"])
@pytest.mark.parametrize("inside", [False, True], ids=["the file itself", "an entry"])
def test_that_training_arguments_are_recognised_with_their_values(
    class_name: str, inside: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = type(class_name, (TrainingArguments,), {"__module__": "transformers.training_args"})
    module = ModuleType("transformers.training_args")
    setattr(module, class_name, made)
    monkeypatch.setitem(sys.modules, "transformers", ModuleType("transformers"))
    monkeypatch.setitem(sys.modules, "transformers.training_args", module)
    arguments = made()
    checkpoint, recognition = recognised({"args": arguments} if inside else arguments, tmp_path)
    node = checkpoint.find("args") if inside else 0
    label = recognition.labels[node]
    assert (label.text, label.known) == ("training arguments", True)
    assert f"transformers.training_args.{class_name}" in label.why
    part = next(part for part in recognition.parts if part.node == node)
    assert part.kind == "hyperparameters"
    assert ("learning_rate", "5e-05") in part.values
    if not inside:
        assert recognition.what == "training arguments"
