from __future__ import annotations

import warnings
from pathlib import Path

import pytest
import torch
from torch import package

from tests.formats.container_files import bytes_of, rezip, torch_bytes
from viewer import open_checkpoint
from viewer.checkpoint.nodes import Kind

W = torch.arange(12.0).reshape(3, 4)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    target = tmp_path / "model.pt"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of the exporter itself
        _write(target)
    return target


def _write(target: Path) -> None:
    with package.PackageExporter(str(target)) as exporter:
        exporter.save_pickle("model", "weights.pkl", {"w": W, "view": W[1:]})
        exporter.save_pickle("model", "again.pkl", [W])
        exporter.save_text("model", "notes.txt", "trained for 3 epochs")
        exporter.save_binary("model", "raw.bin", bytes(range(256)))
        exporter.save_source_string("helpers", "raise SystemExit('never run')\n")


def test_that_the_pickles_of_a_package_are_shown_with_their_tensors(path: Path) -> None:
    checkpoint = open_checkpoint(path)

    assert checkpoint.container == "torch.package archive"
    found = [
        checkpoint.tensor_of_node(checkpoint.find(where))
        for where in ('["model/weights.pkl"]/w', '["model/weights.pkl"]/view', '["model/again.pkl"][0]')
    ]
    for tensor in found:
        assert tensor is not None
        assert tensor.problem is None
        assert tensor.storage is not None
        assert bytes_of(checkpoint, tensor.storage) == torch_bytes(W)
    assert len({tensor.storage.number for tensor in found if tensor and tensor.storage}) == 1
    assert checkpoint.facts["pickles"] == "2"


def test_that_sources_and_texts_are_texts_and_other_files_a_row(path: Path) -> None:
    nodes = open_checkpoint(path).nodes
    by_key = {str(nodes.key[node]): node for node in nodes.children(0)}

    assert nodes.value[by_key["model/notes.txt"]] == "trained for 3 epochs"
    assert nodes.kind[by_key["helpers.py"]] == Kind.TEXT
    assert nodes.value[by_key["model/raw.bin"]] == "256 bytes"


def test_that_a_missing_storage_and_a_broken_pickle_are_rows_with_their_message(path: Path, tmp_path: Path) -> None:
    def edit(name: str, data: bytes) -> bytes | None:
        if name == ".data/0.storage":
            return None
        return b"\x80\x03garbage" if name == "model/again.pkl" else data

    checkpoint = open_checkpoint(rezip(path, tmp_path / "broken.pt", edit=edit))

    assert checkpoint.nodes.kind[checkpoint.find('["model/again.pkl"]')] == Kind.PROBLEM
    tensor = checkpoint.tensor_of_node(checkpoint.find('["model/weights.pkl"]/w'))
    assert tensor is not None
    assert ".data/0.storage is missing" in str(tensor.problem)
