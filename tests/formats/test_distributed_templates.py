"""Items that are known by one before, against each read record by record."""

from __future__ import annotations

import shutil
import warnings
from pathlib import Path

import pytest
import torch
from torch.distributed.checkpoint.state_dict_loader import load
from torch.distributed.checkpoint.state_dict_saver import save

from viewer import open_checkpoint
from viewer.checkpoint.tensors import tensor_at
from viewer.formats.distributed_templates import Templates


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("saved") / "checkpoint"
    generator = torch.Generator().manual_seed(0)
    state = {f"layer{n}": torch.randn(n % 3 + 1, 4, generator=generator) for n in range(40)}
    state |= {f"large{n}": torch.randn(100, 100, generator=generator) for n in range(4)}
    state |= {f"half{n}": torch.randn(4, generator=generator).half() for n in range(6)}
    state |= {f"zero{n}": torch.zeros(4) for n in range(3)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        save({**state, "step": 3}, checkpoint_id=folder)
    return folder


@pytest.fixture
def folder(saved: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(saved, tmp_path / "checkpoint"))


def assert_same_one_by_one(folder: Path, monkeypatch: pytest.MonkeyPatch, repeats: int) -> None:
    made = []
    repeat = Templates.repeat

    def noting(*given: object) -> object:
        made.append(repeat(*given))  # type: ignore[arg-type]
        return made[-1]

    with monkeypatch.context() as patching:
        patching.setattr(Templates, "repeat", noting)
        quick = open_checkpoint(folder)
    with monkeypatch.context() as patching:
        patching.setattr(Templates, "repeat", lambda *_: None)
        one_by_one = open_checkpoint(folder)
    assert repr(quick) == repr(one_by_one)
    assert sum(tensor is not None for tensor in made) == repeats


def test_that_items_alike_give_what_each_gives_by_itself(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tensors, kinds = 40 + 4 + 6 + 3, 3 + 1 + 1 + 1
    assert_same_one_by_one(folder, monkeypatch, repeats=tensors - kinds)


def test_that_an_item_that_differs_in_one_byte_is_read_by_itself(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (file,) = folder.glob("*.distcp")
    before = open_checkpoint(folder)
    data = bytearray(file.read_bytes())
    for byte, nth in ((b"data/0", 11), (b"cpu", 17), (b"little", 23), (b"PK\1\2", 150), (b"_rebuild_tensor_v2", 31)):
        at = -1
        for _ in range(nth):
            at = data.index(byte, at + 1)
        data[at] ^= 1
    file.write_bytes(data)
    with monkeypatch.context() as patching:
        patching.setattr(Templates, "repeat", lambda *_: None)
        one_by_one = open_checkpoint(folder)
    damaged = open_checkpoint(folder)
    assert repr(damaged) == repr(one_by_one)
    assert repr(damaged.tensors) != repr(before.tensors) or damaged.warnings != before.warnings


def test_that_values_lie_where_the_file_has_them(folder: Path) -> None:
    checkpoint = open_checkpoint(folder)
    expected = {f"layer{n}": torch.empty(n % 3 + 1, 4) for n in range(40)} | {
        f"large{n}": torch.empty(100, 100) for n in range(4)
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        load(expected, checkpoint_id=folder, no_dist=True)
    nodes = checkpoint.nodes
    for node in nodes.children(0):
        tensor = expected.get(str(nodes.key[node]))
        if tensor is not None:
            number = nodes.value[node]
            assert isinstance(number, int)
            found = tensor_at(checkpoint.tensors, checkpoint.storages, number)
            assert found.storage is not None
            raw = checkpoint.files[found.storage.file].path.read_bytes()[found.storage.offset :][
                : found.storage.nbytes
            ]
            assert raw == tensor.numpy().tobytes()
