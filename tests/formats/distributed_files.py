"""Folders of torch.distributed.checkpoint, with tensors in pieces as several processes would write them."""

from __future__ import annotations

import io
import pickle
from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
from torch.distributed.checkpoint.filesystem import _StorageInfo
from torch.distributed.checkpoint.metadata import (
    BytesStorageMetadata,
    ChunkStorageMetadata,
    Metadata,
    MetadataIndex,
    TensorProperties,
    TensorStorageMetadata,
)

Piece = tuple[tuple[int, ...], torch.Tensor]
"""Where it begins in the whole, and its values."""


def save_pieces(
    folder: Path,
    tensors: Mapping[str, tuple[Sequence[int], Sequence[Piece]]],
    objects: Mapping[str, object] | None = None,
    paths: Mapping[str, tuple[str | int, ...]] | None = None,
) -> Path:
    """Write a folder: piece n of each tensor goes to the file of rank n, objects to that of rank 0."""
    folder.mkdir()
    files: dict[str, io.BytesIO] = {}
    entries: dict[str, object] = {}
    places: dict[MetadataIndex, _StorageInfo] = {}

    def place(index: MetadataIndex, name: str, value: object) -> None:
        stream = files.setdefault(name, io.BytesIO())
        item = io.BytesIO()
        torch.save(value, item)
        places[index] = _StorageInfo(name, stream.tell(), len(item.getvalue()))
        stream.write(item.getvalue())

    for name, (shape, pieces) in tensors.items():
        chunks = [ChunkStorageMetadata(torch.Size(start), piece.shape) for start, piece in pieces]
        properties = TensorProperties(dtype=pieces[0][1].dtype) if pieces else TensorProperties()
        entries[name] = TensorStorageMetadata(properties, torch.Size(shape), chunks)
        for rank, (start, piece) in enumerate(pieces):
            place(MetadataIndex(name, start, rank), f"__{rank}_0.distcp", piece)
    for name, value in (objects or {}).items():
        entries[name] = BytesStorageMetadata()
        place(MetadataIndex(name), "__0_0.distcp", value)
    for file_name, stream in files.items():
        (folder / file_name).write_bytes(stream.getvalue())
    metadata = Metadata(entries, dict(paths) if paths else None, places, version="1.0.0")  # type: ignore[arg-type]
    (folder / ".metadata").write_bytes(pickle.dumps(metadata))
    return folder


def cut(tensor: torch.Tensor, *counts: int) -> list[Piece]:
    """A tensor cut into a grid, `counts[d]` pieces along dimension d (as evenly as `torch.chunk` cuts)."""
    pieces: list[Piece] = [((0,) * tensor.dim(), tensor)]
    for dim, count in enumerate(counts):
        finer: list[Piece] = []
        for start, piece in pieces:
            at = start[dim]
            for part in piece.chunk(count, dim):
                finer.append(((*start[:dim], at, *start[dim + 1 :]), part.clone()))
                at += part.shape[dim]
        pieces = finer
    return pieces
