from __future__ import annotations

import bz2
import gzip
import io
import lzma
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import save as safetensors_bytes

from tests.formats.container_files import zip_of
from viewer import open_checkpoint
from viewer.errors import CompressedFile, LimitExceeded, MalformedFile, NotACheckpoint, ViewerError
from viewer.formats.wrapped import unpack_task
from viewer.task import run

PACKERS: dict[str, Callable[[bytes], bytes]] = {"gzip": gzip.compress, "xz": lzma.compress, "bzip2": bz2.compress}
CONTENT = zip_of({"w": torch.arange(100_000.0)})


@pytest.fixture(params=list(PACKERS))
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def write(folder: Path, kind: str, content: bytes = CONTENT) -> Path:
    path = folder / "model.pth"
    path.write_bytes(PACKERS[kind](content))
    return path


def left(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_that_a_compressed_checkpoint_is_called_one_with_an_offer(tmp_path: Path, kind: str) -> None:
    legacy = io.BytesIO()
    torch.save([1], legacy, _use_new_zipfile_serialization=False)
    for content, what in (
        (CONTENT, "zip"),
        (legacy.getvalue(), "torch legacy"),
        (safetensors_bytes({"w": torch.ones(2)}), "safetensors"),
    ):
        with pytest.raises(CompressedFile, match=rf"checkpoint \({what}\), compressed with {kind}.*Unpack") as caught:
            open_checkpoint(write(tmp_path, kind, content))
        assert caught.value.path == tmp_path / "model.pth"


def test_that_unpacking_gives_the_very_bytes_and_leaves_nothing_else(tmp_path: Path, kind: str) -> None:
    path, target = write(tmp_path, kind), tmp_path / "out.pth"

    assert run(unpack_task(path, target)) == target

    assert target.read_bytes() == CONTENT
    assert left(tmp_path) == ["model.pth", "out.pth"]
    assert open_checkpoint(target).container == "torch zip"


def test_that_streams_in_a_row_are_one_file(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "model.pth"
    path.write_bytes(PACKERS[kind](CONTENT[:1000]) + PACKERS[kind](CONTENT[1000:]) + b"\0" * 8)

    assert run(unpack_task(path, tmp_path / "out.pth")).read_bytes() == CONTENT


def test_that_cancelling_leaves_nothing_behind(tmp_path: Path, kind: str) -> None:
    task = unpack_task(write(tmp_path, kind), tmp_path / "out.pth")
    next(task)
    assert len(left(tmp_path)) == 2  # the part that is being written

    task.close()

    assert left(tmp_path) == ["model.pth"]


def test_that_a_damaged_or_cut_file_leaves_nothing_behind(tmp_path: Path, kind: str) -> None:
    whole = write(tmp_path, kind).read_bytes()
    middle = len(whole) // 2
    for broken in (whole[:middle], whole[:middle] + bytes([whole[middle] ^ 0xFF]) + whole[middle + 1 :]):
        (tmp_path / "model.pth").write_bytes(broken)
        with pytest.raises(MalformedFile, match=f"{kind}-compressed data"):
            run(unpack_task(tmp_path / "model.pth", tmp_path / "out.pth"))
        assert left(tmp_path) == ["model.pth"]


def test_that_a_file_that_is_there_is_kept_unless_asked(tmp_path: Path, kind: str) -> None:
    path, target = write(tmp_path, kind), tmp_path / "out.pth"
    target.write_bytes(b"precious")
    with pytest.raises(ViewerError, match="there is a file of this name already"):
        run(unpack_task(path, target))
    assert target.read_bytes() == b"precious"

    run(unpack_task(path, target, overwrite=True))

    assert target.read_bytes() == CONTENT


def test_that_a_file_is_never_unpacked_onto_itself(tmp_path: Path, kind: str) -> None:
    path = write(tmp_path, kind)
    before = path.read_bytes()
    with pytest.raises(ViewerError, match="onto itself"):
        run(unpack_task(path, path, overwrite=True))
    assert path.read_bytes() == before


def test_that_unpacking_stops_at_its_bound(tmp_path: Path, kind: str) -> None:
    path = write(tmp_path, kind, bytes(30_000_000))
    with pytest.raises(LimitExceeded, match="unpacking stopped"):
        run(unpack_task(path, tmp_path / "out.pth", max_nbytes=5_000_000))
    assert left(tmp_path) == ["model.pth"]


def test_that_a_missing_folder_is_one_clear_error(tmp_path: Path, kind: str) -> None:
    with pytest.raises(ViewerError, match="Choose another folder"):
        run(unpack_task(write(tmp_path, kind), tmp_path / "nowhere" / "out.pth"))


def test_that_only_a_compressed_file_is_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "model.pth"
    path.write_bytes(CONTENT)
    with pytest.raises(NotACheckpoint, match="not compressed"):
        run(unpack_task(path, tmp_path / "out.pth"))
