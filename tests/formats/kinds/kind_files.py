"""Files of one kind of value each, saved by torch and opened as a person opens them."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

import torch

from viewer import open_checkpoint
from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.nodes import Kind
from viewer.checkpoint.paths import format_key
from viewer.tensors.reading import read_values

Row = tuple[str, str, object]
"""Kind, type name and value."""


def opened(folder: Path, item: object, **options: Any) -> Checkpoint:
    """What the viewer says of what torch saves. Nothing may be a problem or a warning."""
    path = folder / "kinds.pth"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.save(item, path, **options)
    checkpoint = open_checkpoint(path)
    assert checkpoint.warnings == []
    assert Kind.PROBLEM not in checkpoint.nodes.kind
    assert checkpoint.tensors.problem == {}
    return checkpoint


def rows(checkpoint: Checkpoint) -> dict[str, Row]:
    """Every row by its path, in tree order; names of this test's own classes without their module."""
    nodes = checkpoint.nodes
    return {
        checkpoint.path_of(at): (Kind(nodes.kind[at]).name, without_module(nodes.type_name(at)), nodes.value[at])
        for at in nodes.tree_order()
    }


def without_module(name: str) -> str:
    return re.sub(r"^[\w.]*\btest_\w+\.", "", name)


def number_at(checkpoint: Checkpoint, path: str) -> int:
    """The number of the tensor at a path."""
    number = checkpoint.nodes.value[checkpoint.find(path)]
    assert checkpoint.nodes.kind[checkpoint.find(path)] == Kind.TENSOR, path
    assert isinstance(number, int)
    return number


def bits(tensor: torch.Tensor) -> bytes:
    """The elements in logical order, as they are."""
    flat = tensor.detach().resolve_conj().resolve_neg().contiguous().reshape(-1)
    return bytes(flat.view(torch.uint8).tolist()) if flat.numel() else b""


def assert_reads_as(checkpoint: Checkpoint, path: str, tensor: torch.Tensor) -> None:
    """A row says of a strided tensor what torch says of it, and its values are torch's, bit by bit."""
    reference = checkpoint.tensor(number_at(checkpoint, path))
    assert f"torch.{reference.dtype.name}" == str(tensor.dtype)
    assert reference.shape == tuple(tensor.shape)
    values = read_values(checkpoint, reference)
    assert values.dtype == tensor.dtype
    assert bits(values) == bits(tensor)


def keyed(parent: str, key: str | int) -> str:
    """The path of a child."""
    text = format_key(key)
    return f"{parent}/{text}" if parent and not text.startswith("[") else parent + text
