from __future__ import annotations

import warnings
import zipfile
from pathlib import Path

import pytest
import torch

from tests.formats.container_files import bytes_of, rezip, torch_bytes
from viewer import open_checkpoint
from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.nodes import Kind
from viewer.checkpoint.tensors import TensorRef
from viewer.errors import NotACheckpoint


class Model(torch.nn.Module):
    """Submodules, attributes of several kinds, a buffer of its own and a constant of the code."""

    def __init__(self) -> None:
        super().__init__()
        self.features = torch.nn.Sequential(torch.nn.Conv2d(1, 2, 3), torch.nn.BatchNorm2d(2))
        self.register_buffer("table", torch.arange(6.0))
        self.names = ["cat", "dog"]
        self.threshold = 0.25

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.features(x) * self.threshold + self.table[0]


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, torch.nn.Module]:
    folder = tmp_path_factory.mktemp("script")
    module = Model().eval()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # the product only reads these formats
        script = torch.jit.script(module)
        script.save(str(folder / "model.pt"))
        script._save_for_lite_interpreter(str(folder / "model.ptl"))
        script._save_for_lite_interpreter(str(folder / "model.ff"), _use_flatbuffer=True)
    return folder, module


def tensor(checkpoint: Checkpoint, path: str) -> TensorRef:
    found = checkpoint.tensor_of_node(checkpoint.find(path))
    assert found is not None
    return found


@pytest.mark.parametrize("name", ["model.pt", "model.ptl"])
def test_that_parameters_and_buffers_stand_at_their_module_paths(
    saved: tuple[Path, torch.nn.Module], name: str
) -> None:
    folder, module = saved
    checkpoint = open_checkpoint(folder / name)

    parameters = dict(module.named_parameters())
    for key, expected in module.state_dict().items():
        found = tensor(checkpoint, "data/" + key.replace(".", "/"))
        assert found.is_parameter == (key in parameters)
        assert found.shape == tuple(expected.shape)
        assert found.storage is not None
        assert bytes_of(checkpoint, found.storage) == torch_bytes(expected)


def test_that_attributes_and_sources_are_shown(saved: tuple[Path, torch.nn.Module]) -> None:
    checkpoint = open_checkpoint(saved[0] / "model.pt")
    nodes = checkpoint.nodes

    assert checkpoint.container == "TorchScript zip"
    assert nodes.value[checkpoint.find("data/threshold")] == 0.25
    assert nodes.value[checkpoint.find("data/names[1]")] == "dog"
    sources = [node for node in range(len(nodes)) if nodes.kind[node] == Kind.TEXT]
    assert any("def forward(self" in str(nodes.value[node]) for node in sources)
    assert not any(str(nodes.key[node]).endswith(".debug_pkl") for node in range(len(nodes)))
    assert "other records" not in checkpoint.facts


def test_that_a_file_for_mobile_is_called_one_and_shows_its_bytecode(saved: tuple[Path, torch.nn.Module]) -> None:
    checkpoint = open_checkpoint(saved[0] / "model.ptl")

    assert checkpoint.container == "TorchScript zip for mobile (lite interpreter)"
    assert checkpoint.nodes.kind[checkpoint.find("bytecode")] == Kind.SEQUENCE


def test_that_a_flatbuffer_is_recognised_and_named(saved: tuple[Path, torch.nn.Module]) -> None:
    with pytest.raises(NotACheckpoint, match=r"TorchScript flatbuffer.*torch\.jit\.save"):
        open_checkpoint(saved[0] / "model.ff")


def test_that_constants_of_the_code_are_tensors(tmp_path: Path) -> None:
    table = torch.arange(5.0)

    def scale(x: torch.Tensor) -> torch.Tensor:
        return x * table

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        torch.jit.trace(scale, torch.ones(5)).save(str(tmp_path / "traced.pt"))
    checkpoint = open_checkpoint(tmp_path / "traced.pt")

    found = tensor(checkpoint, "constants[0]")
    assert found.storage is not None
    assert bytes_of(checkpoint, found.storage) == torch_bytes(table)


def test_that_a_broken_source_or_constant_is_a_row_and_the_module_is_shown(
    saved: tuple[Path, torch.nn.Module], tmp_path: Path
) -> None:
    def edit(name: str, data: bytes) -> bytes:
        return b"\xff" * 8 if name == "constants.pkl" else data

    path = rezip(saved[0] / "model.pt", tmp_path / "broken.pt", edit=edit)
    checkpoint = open_checkpoint(path)

    assert checkpoint.nodes.kind[checkpoint.find("constants")] == Kind.PROBLEM
    assert tensor(checkpoint, "data/table").problem is None


def test_that_deflated_sources_are_read(saved: tuple[Path, torch.nn.Module]) -> None:
    with zipfile.ZipFile(saved[0] / "model.pt") as archive:
        assert any(info.compress_type == zipfile.ZIP_DEFLATED for info in archive.infolist())
    checkpoint = open_checkpoint(saved[0] / "model.pt")

    assert "compressed records" in checkpoint.facts
