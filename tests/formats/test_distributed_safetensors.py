"""Distributed checkpoints in safetensors files, as torch's HuggingFaceStorageWriter writes them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from viewer import open_checkpoint
from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.tensors import TensorRef
from viewer.errors import MalformedFile
from viewer.tensors.reading import read_values

Pieces = Mapping[str, tuple[tuple[int, ...], torch.Tensor]]

GRID = torch.arange(24.0).reshape(4, 6)


def shard(folder: Path, rank: int, pieces: Pieces, model: int = 1, models: int = 1) -> Path:
    info = {name: {"saved_offsets": list(start)} for name, (start, _) in pieces.items()}
    path = folder / f"shard-{rank:05}-model-{model:05}-of-{models:05}.safetensors"
    tensors = {name: piece.contiguous() for name, (_, piece) in pieces.items()}
    save_file(tensors, path, metadata={"format": "pt", "DCP_VERSION": "1.0", "DCP_SHARDING_INFO": json.dumps(info)})
    return path


def grid(folder: Path) -> Path:
    """A matrix in four boxes of different sizes, a vector in one piece, another that both ranks hold."""
    same = ((0,), torch.ones(2))
    shard(folder, 1, {"g": ((0, 0), GRID[:1, :2]), "same": same, "one": ((0,), torch.arange(3))})
    shard(folder, 2, {"g": ((0, 2), GRID[:1, 2:]), "same": same})
    shard(folder, 3, {"g": ((1, 0), GRID[1:, :2])})
    shard(folder, 4, {"g": ((1, 2), GRID[1:, 2:])})
    return folder


def tensor(checkpoint: Checkpoint, path: str) -> TensorRef:
    found = checkpoint.tensor_of_node(checkpoint.find(path))
    assert found is not None
    return found


def test_that_pieces_read_as_the_whole(tmp_path: Path) -> None:
    checkpoint = open_checkpoint(grid(tmp_path))
    assert checkpoint.container == "torch distributed (safetensors)"
    assert checkpoint.warnings == []
    assert tensor(checkpoint, "g").shape == (4, 6)
    assert torch.equal(read_values(checkpoint, tensor(checkpoint, "g")).reshape(4, 6), GRID)
    assert torch.equal(read_values(checkpoint, tensor(checkpoint, "g"), start=5, count=9), GRID.reshape(-1)[5:14])
    assert read_values(checkpoint, tensor(checkpoint, "same")).tolist() == [1, 1]
    assert read_values(checkpoint, tensor(checkpoint, "one")).tolist() == [0, 1, 2]
    assert len(checkpoint.tensors) == 3  # pieces are none of their own
    assert tensor(checkpoint, "g").extra["pieces"].startswith("4 in shard-00001")  # type: ignore[attr-defined]


def test_that_a_gap_is_a_problem_of_its_row(tmp_path: Path) -> None:
    grid(tmp_path)
    (tmp_path / "shard-00002-model-00001-of-00001.safetensors").unlink()
    checkpoint = open_checkpoint(tmp_path)
    assert tensor(checkpoint, "g").problem
    with pytest.raises(MalformedFile):
        read_values(checkpoint, tensor(checkpoint, "g"))
    assert read_values(checkpoint, tensor(checkpoint, "same")).tolist() == [1, 1]


def test_that_missing_and_broken_files_are_said(tmp_path: Path) -> None:
    shard(tmp_path, 1, {"a": ((0,), torch.ones(2))}, model=1, models=3)
    shard(tmp_path, 1, {"b": ((0,), torch.ones(2))}, model=2, models=3).write_bytes(b"\xff" * 40)
    checkpoint = open_checkpoint(tmp_path)
    assert "files are missing: model 3 of 3" in checkpoint.warnings
    assert any("1 of 2 files cannot be read" in warning for warning in checkpoint.warnings)
    assert read_values(checkpoint, tensor(checkpoint, "a")).tolist() == [1, 1]


@pytest.mark.parametrize("start", [(0, 0), (1 << 59,), (0,)])
def test_that_places_that_cannot_be_are_problems(tmp_path: Path, start: tuple[int, ...]) -> None:
    shard(tmp_path, 1, {"a": ((0,), torch.ones(4))})
    shard(tmp_path, 2, {"a": (start, torch.ones(3))})
    checkpoint = open_checkpoint(tmp_path)
    number = checkpoint.find("a")
    found = checkpoint.tensor_of_node(number)
    assert (
        found.problem
        if found is not None
        else "shape" in str(checkpoint.nodes.value[number]) or "differ" in str(checkpoint.nodes.value[number])
    )


def test_that_what_torch_consolidates_is_read_by_its_index(tmp_path: Path) -> None:
    save_file({"a": torch.ones(2)}, tmp_path / "model-00001-of-00001.safetensors")
    index = {"weight_map": {"a": "model-00001-of-00001.safetensors"}}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    (tmp_path / "sharded").mkdir()
    shard(tmp_path / "sharded", 1, {"a": ((0,), torch.ones(2))})
    assert open_checkpoint(tmp_path).container == "sharded safetensors"
    assert open_checkpoint(tmp_path / "sharded").container == "torch distributed (safetensors)"
