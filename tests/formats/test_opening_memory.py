"""What opening leaves behind for the garbage collector, and how little of a file it reads."""

from __future__ import annotations

import gc
import os
from collections import OrderedDict
from pathlib import Path

import pytest
import torch

from viewer import open_checkpoint
from viewer.checkpoint.tensors import TensorTable

LARGE_NBYTES = 4_000_000_000
FEW_NBYTES = 1 << 20


def alive() -> int:
    """Tables of tensors in memory, of garbage too."""
    return sum(type(item) is TensorTable for item in gc.get_objects())


def model() -> dict[str, object]:
    parameter = torch.nn.Parameter(torch.ones(2, 3))
    return {"a": torch.zeros(3), "b": OrderedDict(c=parameter), "storage": torch.ones(2).untyped_storage()}


@pytest.mark.parametrize("zipped", [True, False])
def test_that_a_checkpoint_that_is_let_go_is_freed_without_the_collector(tmp_path: Path, zipped: bool) -> None:
    path = tmp_path / "model.pth"
    torch.save(model(), path, _use_new_zipfile_serialization=zipped)
    open_checkpoint(path)
    gc.collect()
    before = alive()
    gc.disable()
    try:
        checkpoint = open_checkpoint(path)
        assert len(checkpoint.tensors) == 2
        assert alive() == before + 1
        del checkpoint
        assert alive() == before
    finally:
        gc.enable()


def test_that_opening_leaves_nothing_frozen_and_the_collector_on(tmp_path: Path) -> None:
    path = tmp_path / "model.pth"
    torch.save(model(), path)
    open_checkpoint(path)
    assert gc.isenabled()
    assert gc.get_freeze_count() == 0


def test_that_what_others_froze_stays_frozen(tmp_path: Path) -> None:
    path = tmp_path / "model.pth"
    torch.save(model(), path)
    gc.freeze()
    try:
        open_checkpoint(path)
        assert gc.get_freeze_count() > 0
    finally:
        gc.unfreeze()


@pytest.mark.parametrize("suffix", [".pth", ".safetensors"])
def test_that_opening_four_gigabytes_reads_a_little(
    tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / f"large{suffix}"
    if suffix == ".pth":
        with torch.serialization.skip_data():
            torch.save({f"layers.{n}.weight": torch.empty(LARGE_NBYTES // 40) for n in range(10)}, path)
    else:
        header = b'{"weight":{"dtype":"F32","shape":[%d],"data_offsets":[0,%d]}}' % (LARGE_NBYTES // 4, LARGE_NBYTES)
        path.write_bytes(len(header).to_bytes(8, "little") + header)
        os.truncate(path, 8 + len(header) + LARGE_NBYTES)
    read: list[int] = []
    pread, preadv = os.pread, os.preadv

    def counted(descriptor: int, nbytes: int, offset: int) -> bytes:
        data = pread(descriptor, nbytes, offset)
        read.append(len(data))
        return data

    def counted_into(descriptor: int, views: list[memoryview], offset: int) -> int:
        read.append(preadv(descriptor, views, offset))
        return read[-1]

    monkeypatch.setattr(os, "pread", counted)
    monkeypatch.setattr(os, "preadv", counted_into)
    checkpoint = open_checkpoint(path)
    monkeypatch.undo()
    assert checkpoint.files[0].nbytes >= LARGE_NBYTES
    assert not checkpoint.storages.problem
    assert 0 < sum(read) <= FEW_NBYTES
