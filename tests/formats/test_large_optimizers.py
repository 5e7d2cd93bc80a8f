"""Checkpoints of many thousand parameters open whole, whatever they share and whatever their keys are."""

from __future__ import annotations

import pickle
from collections import OrderedDict
from pathlib import Path
from typing import Any

import pytest
import torch

from viewer import open_checkpoint
from viewer.checkpoint.nodes import Kind

COUNT = 30_000


@pytest.fixture(scope="module")
def training() -> dict[str, Any]:
    names = [f"layers.{n // 4}.{'qkvo'[n % 4]}.weight" for n in range(COUNT)]
    model = OrderedDict((name, torch.nn.Parameter(torch.zeros(2))) for name in names)
    optimizer = torch.optim.Adam(list(model.items()))
    for parameter in model.values():
        parameter.grad = torch.ones(2)
    optimizer.step()
    weights = OrderedDict((name, parameter.detach()) for name, parameter in model.items())
    return {"model": weights, "optimizer": optimizer.state_dict()}


@pytest.mark.parametrize("new_format", [True, False], ids=["zip", "legacy"])
def test_that_thirty_thousand_named_parameters_open_whole(
    training: dict[str, Any], new_format: bool, tmp_path: Path
) -> None:
    # The names in `param_names` are the very objects that are the keys of the model.
    saved = training | {"names": list(training["model"])}
    torch.save(saved, tmp_path / "file.pth", _use_new_zipfile_serialization=new_format)
    checkpoint = open_checkpoint(tmp_path / "file.pth")
    assert checkpoint.warnings == []
    assert len(checkpoint.tensors) == 4 * COUNT
    kinds = checkpoint.nodes.kind
    assert Kind.PROBLEM not in kinds


@pytest.mark.parametrize("protocol", [2, 4])
def test_that_a_dict_with_many_tuples_as_keys_opens_whole(protocol: int, tmp_path: Path) -> None:
    item = {(n % 1_000, n // 1_000): n for n in range(400_000)}
    (tmp_path / "file.pkl").write_bytes(pickle.dumps(item, protocol))
    checkpoint = open_checkpoint(tmp_path / "file.pkl")
    assert checkpoint.warnings == []
    assert sum(kind == Kind.SCALAR for kind in checkpoint.nodes.kind) == len(item)
