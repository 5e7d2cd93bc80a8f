"""What a storage that cannot be read means for the tensors in it."""

from __future__ import annotations

from viewer.checkpoint.tensors import StorageTable, TensorTable


def mark_tensors(tensors: TensorTable, storages: StorageTable) -> None:
    """Carry the problems of storages over to their tensors; a problem that a tensor has already stays."""
    if not storages.problem:
        return
    for number, storage in enumerate(tensors.storage):
        problem = storages.problem.get(storage)
        if problem is not None:
            tensors.problem.setdefault(number, problem)
