"""Checkpoints of several files: written with what each file holds, not only with what the tree shows."""

from __future__ import annotations

import json
import random
from collections import Counter, OrderedDict, deque
from datetime import date
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from tests.export.contents import digest, exported, loaded


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """What a Trainer leaves: weights, optimizer, and random states with arrays of numpy."""
    folder = tmp_path / "checkpoint-500"
    folder.mkdir()
    model = torch.nn.Linear(3, 4)
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.ones(2, 3)).sum().backward()
    optimizer.step()
    save_file(dict(model.state_dict()), folder / "model.safetensors", metadata={"format": "pt"})
    torch.save(optimizer.state_dict(), folder / "optimizer.pt")
    states = {
        "python": random.getstate(),
        "numpy": np.random.get_state(),
        "cpu": torch.get_rng_state(),
        "size": torch.Size([2, 3]),
        "day": date(2024, 5, 6),
        "queue": deque([torch.ones(2)], maxlen=3),
        "words": Counter(["a", "a"]),
        "tensor": torch.arange(3.0),
    }
    torch.save(states, folder / "rng_state.pth")
    (folder / "trainer_state.json").write_text(json.dumps({"global_step": 500}), encoding="utf-8")
    return folder


def test_that_a_training_folder_is_written_whole(folder: Path, tmp_path: Path) -> None:
    found = loaded(exported(folder, tmp_path / "whole.pth", objects="keep").path, weights_only=False)
    (states,) = found["random states"].values()
    wanted = torch.load(folder / "rng_state.pth", weights_only=False)
    assert list(states) == list(wanted)
    assert states["numpy"][1].tolist() == wanted["numpy"][1].tolist()
    for name in ("python", "size", "day", "words"):
        assert states[name] == wanted[name]
        assert type(states[name]) is type(wanted[name])
    assert states["queue"].maxlen == 3
    assert states["queue"][0].tolist() == [1.0, 1.0]
    for name in ("cpu", "tensor"):
        assert torch.equal(states[name], wanted[name])
    (moments,) = found["optimizer"].values()
    known = torch.load(folder / "optimizer.pt", weights_only=True)
    assert torch.equal(moments["state"][0]["exp_avg"], known["state"][0]["exp_avg"])


def test_that_a_file_of_a_folder_has_the_name_of_the_file_alone(folder: Path, tmp_path: Path) -> None:
    part = exported(folder, tmp_path / "part.pth", objects="keep", select="random states/rng_state.pth")
    assert part.sha256 == digest(folder / "rng_state.pth")


def test_that_parameters_and_sharing_in_shards_are_kept(tmp_path: Path) -> None:
    weight = torch.nn.Parameter(torch.ones(2))
    torch.save(OrderedDict(a=torch.zeros(3), tied=weight, also=weight), tmp_path / "m-00001-of-00002.bin")
    torch.save(OrderedDict(b=torch.ones(1, requires_grad=True)), tmp_path / "m-00002-of-00002.bin")
    shards = {"a": 1, "tied": 1, "also": 1, "b": 2}
    index = {"weight_map": {name: f"m-0000{number}-of-00002.bin" for name, number in shards.items()}}
    path = tmp_path / "pytorch_model.bin.index.json"
    path.write_text(json.dumps(index), encoding="utf-8")
    found = loaded(exported(path, tmp_path / "out.pth").path)
    assert set(found) == {"a", "b", "tied", "also"}
    assert isinstance(found["tied"], torch.nn.Parameter)
    assert found["tied"].data_ptr() == found["also"].data_ptr()
    assert found["b"].requires_grad
    assert found["b"].tolist() == [1.0]
