from __future__ import annotations

import json
import warnings
import zipfile
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.formats.container_files import bytes_of, rezip, torch_bytes, zip_of
from viewer import open_checkpoint
from viewer.checkpoint.nodes import Kind


class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(3, 2)
        self.register_buffer("table", torch.arange(6, dtype=torch.int64).reshape(2, 3).t())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x) + self.table.sum() + torch.tensor([1.0, 2.0])


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Model]:
    path = tmp_path_factory.mktemp("pt2") / "model.pt2"
    module = Model().eval()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of the exporter itself, about the transposed buffer
        torch.export.save(torch.export.export(module, (torch.ones(1, 3),)), path)
    return path, module


def test_that_the_weights_of_an_exported_program_are_read_in_place(saved: tuple[Path, Model]) -> None:
    path, module = saved
    checkpoint = open_checkpoint(path)

    assert checkpoint.container == "exported program (.pt2)"
    parameters = dict(module.named_parameters())
    for name, expected in module.state_dict().items():
        found = checkpoint.tensor_of_node(checkpoint.find(f"weights/{name}"))
        assert found is not None
        assert found.problem is None
        assert found.dtype.name == str(expected.dtype).removeprefix("torch.")
        assert (found.shape, found.stride) == (tuple(expected.shape), expected.stride())
        assert found.is_parameter == (name in parameters)
        assert found.storage is not None
        assert bytes_of(checkpoint, found.storage) == torch_bytes(expected)


def test_that_the_weights_of_a_program_that_is_cut_short_are_shown(saved: tuple[Path, Model], tmp_path: Path) -> None:
    path, module = saved
    with zipfile.ZipFile(path) as archive:
        graph = next(info for info in archive.infolist() if info.filename.endswith("models/model.json"))
    cut = tmp_path / "cut.pt2"
    cut.write_bytes(path.read_bytes()[: graph.header_offset + 500])
    checkpoint = open_checkpoint(cut)

    assert checkpoint.container == "exported program (.pt2)"
    assert any("incomplete" in warning for warning in checkpoint.warnings)
    for name, expected in module.state_dict().items():
        found = checkpoint.tensor_of_node(checkpoint.find(f"weights/{name}"))
        assert found is not None
        assert found.storage is not None
        assert bytes_of(checkpoint, found.storage) == torch_bytes(expected)


def test_that_graph_and_sample_inputs_are_shown(saved: tuple[Path, Model]) -> None:
    checkpoint = open_checkpoint(saved[0])
    nodes = checkpoint.nodes
    by_key = {str(nodes.key[node]): node for node in nodes.children(0)}

    assert nodes.kind[by_key["models/model.json"]] == Kind.TEXT
    sample = checkpoint.tensor_of_node(checkpoint.find('["data/sample_inputs/model.pt"][0][0]'))
    assert sample is not None
    assert sample.storage is not None
    assert bytes_of(checkpoint, sample.storage) == torch_bytes(torch.ones(1, 3))


CONFIG = "data/weights/model_weights_config.json"


def edited(saved: tuple[Path, Model], tmp_path: Path, change: Any) -> Path:
    def edit(name: str, data: bytes) -> bytes | None:
        if name != CONFIG:
            return data
        config = json.loads(data)
        change(config["config"])
        return json.dumps(config).encode()

    return rezip(saved[0], tmp_path / "edited.pt2", edit=edit)


def rename(config: Any) -> None:
    config["layer.weight"]["path_name"] = "../../elsewhere"


def grow(config: Any) -> None:
    config["layer.weight"]["tensor_meta"]["sizes"][0]["as_int"] = 1 << 40


def unknown(config: Any) -> None:
    config["layer.weight"]["tensor_meta"]["dtype"] = 99


def negative(config: Any) -> None:
    config["layer.weight"]["tensor_meta"]["strides"][0]["as_int"] = -3


def nothing(config: Any) -> None:
    config["layer.weight"] = 7


@pytest.mark.parametrize("change", [rename, grow, unknown, negative, nothing])
def test_that_an_entry_that_cannot_be_is_a_row_or_a_problem_and_the_others_are_read(
    saved: tuple[Path, Model], tmp_path: Path, change: Any
) -> None:
    checkpoint = open_checkpoint(edited(saved, tmp_path, change))

    node = checkpoint.find("weights/layer.weight")
    tensor = checkpoint.tensor_of_node(node)
    assert checkpoint.nodes.kind[node] == Kind.PROBLEM or (tensor is not None and tensor.problem)
    bias = checkpoint.tensor_of_node(checkpoint.find("weights/layer.bias"))
    assert bias is not None
    assert bias.problem is None


def test_that_a_config_that_is_no_json_is_a_row_with_its_message(saved: tuple[Path, Model], tmp_path: Path) -> None:
    def edit(name: str, data: bytes) -> bytes:
        return b"[" * 100_000 if name == CONFIG else data

    checkpoint = open_checkpoint(rezip(saved[0], tmp_path / "broken.pt2", edit=edit))

    assert checkpoint.nodes.kind[checkpoint.find("weights")] == Kind.PROBLEM


def test_that_the_older_layout_is_opened_member_by_member(tmp_path: Path) -> None:
    path = tmp_path / "old.pt2"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("serialized_exported_program.json", "{}")
        archive.writestr("serialized_state_dict.pt", zip_of({"w": torch.ones(2)}))
        archive.writestr("version", "5.1")

    checkpoint = open_checkpoint(path)

    assert checkpoint.container == "exported program (.pt2)"
    assert checkpoint.tensor_of_node(checkpoint.find("serialized_state_dict.pt/w")) is not None
