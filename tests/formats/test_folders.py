"""Folders: what is opened of them, by which rule, and words for those that hold nothing or too much."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from tests.formats.container_files import save_zip, tensors_at_root
from viewer import open_checkpoint
from viewer.errors import LimitExceeded, MalformedFile, NotACheckpoint, ViewerError
from viewer.formats import folders
from viewer.formats.folders import folder_of, leaves_folder


def write_sharded(folder: Path, name: str = "model.safetensors", key: str = "w") -> Path:
    folder.mkdir(exist_ok=True)
    shard = name.replace(".", "-00001-of-00001.", 1)
    (save_file if name.endswith(".safetensors") else save_zip_of)({key: torch.ones(2)}, folder / shard)
    index = folder / f"{name}.index.json"
    index.write_text(json.dumps({"metadata": {"total_size": 8}, "weight_map": {key: shard}}))
    return index


def save_zip_of(content: object, path: Path) -> None:
    save_zip(path, content)


def test_that_a_folder_opens_by_its_index(tmp_path: Path) -> None:
    index = write_sharded(tmp_path)
    checkpoint = open_checkpoint(tmp_path)
    assert checkpoint.path == index
    assert set(tensors_at_root(checkpoint)) == {"w"}


def test_that_of_several_indexes_the_plain_safetensors_one_is_shown_and_the_rest_named(tmp_path: Path) -> None:
    write_sharded(tmp_path, "pytorch_model.bin", "bin")
    write_sharded(tmp_path, "model.fp16.safetensors", "half")
    write_sharded(tmp_path, "model.safetensors", "full")
    checkpoint = open_checkpoint(tmp_path)
    assert set(tensors_at_root(checkpoint)) == {"full"}
    assert any(
        "several indexes: model.safetensors.index.json is shown, not model.fp16.safetensors.index.json, "
        "pytorch_model.bin.index.json" in warning
        for warning in checkpoint.warnings
    )


def test_that_an_index_that_cannot_be_read_gives_way_to_the_next(tmp_path: Path) -> None:
    write_sharded(tmp_path, "pytorch_model.bin", "bin")
    (tmp_path / "model.safetensors.index.json").write_text("{")
    assert set(tensors_at_root(open_checkpoint(tmp_path))) == {"bin"}


def test_that_the_errors_of_all_indexes_are_told(tmp_path: Path) -> None:
    (tmp_path / "a.index.json").write_text("{")
    (tmp_path / "b.index.json").write_text("{}")
    with pytest.raises(MalformedFile, match=r"a\.index\.json.*not JSON.*b\.index\.json.*weight_map"):
        open_checkpoint(tmp_path)


def test_that_the_only_checkpoint_file_is_opened(tmp_path: Path) -> None:
    save_zip(tmp_path / "model.pth", {"w": torch.ones(2)})
    (tmp_path / "README.md").write_text("notes")
    checkpoint = open_checkpoint(tmp_path)
    assert checkpoint.path == tmp_path / "model.pth"
    assert checkpoint.facts["file in the folder"] == "model.pth"


def test_that_a_link_that_leads_back_to_itself_hides_nothing_else(tmp_path: Path) -> None:
    save_zip(tmp_path / "model.pth", {"w": torch.ones(2)})
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "self").symlink_to(".")
    assert open_checkpoint(tmp_path).path == tmp_path / "model.pth"


def test_that_several_checkpoints_are_named_and_none_is_guessed(tmp_path: Path) -> None:
    for nth in range(7):
        save_zip(tmp_path / f"epoch{nth}.pth", {"w": torch.ones(2)})
    with pytest.raises(NotACheckpoint) as raised:
        open_checkpoint(tmp_path)
    assert "7 checkpoint files and no index" in raised.value.fault
    assert raised.value.advice == (
        "Open one of them: epoch0.pth, epoch1.pth, epoch2.pth, epoch3.pth, epoch4.pth … (7)"
    )
    assert raised.value.path == tmp_path


def test_that_folders_with_checkpoints_in_a_folder_are_named(tmp_path: Path) -> None:
    for name in ("checkpoint-500", "checkpoint-1000"):
        write_sharded(tmp_path / name)
    (tmp_path / "logs").mkdir()
    with pytest.raises(NotACheckpoint, match="folders in it do") as raised:
        open_checkpoint(tmp_path)
    assert raised.value.advice == "Open one of them: checkpoint-1000, checkpoint-500"


def test_that_a_folder_without_any_says_so(tmp_path: Path) -> None:
    with pytest.raises(NotACheckpoint, match="this folder holds no checkpoint"):
        open_checkpoint(tmp_path)


def test_that_a_missing_folder_is_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(ViewerError, match="no such file"):
        open_checkpoint(tmp_path / "nowhere")
    with pytest.raises(ViewerError, match="cannot be the name"):
        open_checkpoint("a\0b")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read every folder")
def test_that_a_folder_that_may_not_be_read_says_so(tmp_path: Path) -> None:
    folder = tmp_path / "closed"
    folder.mkdir(mode=0o300)
    with pytest.raises(ViewerError, match="cannot be read"):
        open_checkpoint(folder)


def test_that_a_folder_of_too_many_entries_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folders, "_MAX_ENTRIES", 3)
    for nth in range(5):
        (tmp_path / f"{nth}.txt").touch()
    with pytest.raises(LimitExceeded, match="more than 3 entries"):
        open_checkpoint(tmp_path)


def test_that_a_link_to_a_folder_is_a_folder(tmp_path: Path) -> None:
    write_sharded(tmp_path / "real")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert folder_of(tmp_path / "link") == tmp_path / "link"
    assert set(tensors_at_root(open_checkpoint(tmp_path / "link"))) == {"w"}


def test_that_a_file_called_metadata_by_itself_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "x.distcp").write_bytes(b"x")
    assert folder_of(tmp_path / "x.distcp") is None
    assert folder_of(tmp_path / "nothing") is None


@pytest.mark.parametrize("name", ["a.bin", "sub/a.bin", "..a.bin", "a..b"])
def test_that_names_below_the_folder_stay_in_it(name: str) -> None:
    assert not leaves_folder(name)
