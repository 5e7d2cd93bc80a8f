from __future__ import annotations

import zipfile
from pathlib import Path

import pytest
import torch

from tests.formats.container_files import rezip, save_legacy, save_zip, zip_of
from viewer import open_checkpoint
from viewer.checkpoint.document import Checkpoint
from viewer.errors import FileChanged
from viewer.formats.checksums import MISMATCH, check_task, checked_count
from viewer.task import run

CONTENT = {"a": torch.arange(4.0), "b": torch.arange(3_000_000.0), "empty": torch.zeros(0)}


def flip(path: Path, within: torch.Tensor) -> Path:
    """Flip a bit in the middle of a tensor's values."""
    data = bytearray(path.read_bytes())
    values = within.numpy().tobytes()
    at = bytes(data).index(values[:64]) + len(values) // 2
    data[at] ^= 0x40
    path.write_bytes(data)
    return path


def storage_number(checkpoint: Checkpoint, path: str) -> int:
    tensor = checkpoint.tensor_of_node(checkpoint.find(path))
    assert tensor is not None
    assert tensor.storage is not None
    return tensor.storage.number


def test_that_a_sound_file_has_no_fault(tmp_path: Path) -> None:
    checkpoint = open_checkpoint(save_zip(tmp_path / "m.pth", CONTENT))

    assert run(check_task(checkpoint)) == []
    assert checked_count(checkpoint) == 2


def test_that_a_flipped_bit_is_a_checksum_mismatch_of_its_storage_alone(tmp_path: Path) -> None:
    checkpoint = open_checkpoint(flip(save_zip(tmp_path / "m.pth", CONTENT), CONTENT["b"]))

    assert run(check_task(checkpoint)) == [(storage_number(checkpoint, "b"), MISMATCH)]
    assert "checksum mismatch" in MISMATCH


def test_that_checking_tells_how_far_it_is_and_can_be_stopped(tmp_path: Path) -> None:
    task = check_task(open_checkpoint(save_zip(tmp_path / "m.pth", CONTENT)))
    progress = [next(task) for _ in range(3)]
    task.close()

    assert [step.total for step in progress] == [12_000_016] * 3
    assert progress[0].done < progress[1].done < progress[2].done


def test_that_deflated_records_are_checked_too(tmp_path: Path) -> None:
    source = save_zip(tmp_path / "m.pth", CONTENT)
    checkpoint = open_checkpoint(rezip(source, tmp_path / "d.pth", compression=zipfile.ZIP_DEFLATED))

    assert run(check_task(checkpoint)) == []
    checkpoint.storages.crc[storage_number(checkpoint, "a")] ^= 1
    assert run(check_task(checkpoint)) == [(storage_number(checkpoint, "a"), MISMATCH)]


@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_that_members_of_an_archive_are_checked(tmp_path: Path, compression: int) -> None:
    inner = save_zip(tmp_path / "inner.pth", CONTENT)
    flip(inner, CONTENT["b"])
    with zipfile.ZipFile(tmp_path / "outer.zip", "w", compression) as archive:
        archive.writestr("sound.pth", zip_of({"w": torch.ones(5)}))
        archive.write(inner, "flipped.pth")
    checkpoint = open_checkpoint(tmp_path / "outer.zip")

    assert run(check_task(checkpoint)) == [(storage_number(checkpoint, "flipped.pth/b"), MISMATCH)]


def test_that_a_file_without_checksums_has_nothing_to_check(tmp_path: Path) -> None:
    before = torch.serialization.get_crc32_options()
    torch.serialization.set_crc32_options(False)
    try:
        plain = save_zip(tmp_path / "m.pth", CONTENT)
    finally:
        torch.serialization.set_crc32_options(before)
    for path in (plain, save_legacy(tmp_path / "l.pth", CONTENT)):
        checkpoint = open_checkpoint(path)
        assert checked_count(checkpoint) == 0
        assert run(check_task(checkpoint)) == []


def test_that_a_record_that_cannot_be_read_is_among_the_faults(tmp_path: Path) -> None:
    path = save_zip(tmp_path / "m.pth", CONTENT)
    data = bytearray(path.read_bytes())
    name = data.index(b"m/data/1")
    data[name : name + 8] = b"m/data/X"
    path.write_bytes(data)
    checkpoint = open_checkpoint(path)

    ((number, problem),) = run(check_task(checkpoint))

    assert number == storage_number(checkpoint, "b")
    assert "another name" in problem


def test_that_a_file_that_changed_meanwhile_is_not_checked(tmp_path: Path) -> None:
    path = save_zip(tmp_path / "m.pth", CONTENT)
    checkpoint = open_checkpoint(path)
    save_zip(path, {"a": torch.zeros(4)})
    with pytest.raises(FileChanged):
        run(check_task(checkpoint))


def test_that_a_pickle_that_was_changed_is_said_to_be_when_it_is_opened(tmp_path: Path) -> None:
    path = save_zip(tmp_path / "m.pth", {"epoch": torch.ones(1), "note": "abcdefgh"})
    assert open_checkpoint(path).warnings == []
    path.write_bytes(path.read_bytes().replace(b"abcdefgh", b"abcdefgH"))

    checkpoint = open_checkpoint(path)

    assert checkpoint.nodes.value[checkpoint.find("note")] == "abcdefgH"
    assert [text for text in checkpoint.warnings if text.startswith("checksum mismatch: m/data.pkl")]
