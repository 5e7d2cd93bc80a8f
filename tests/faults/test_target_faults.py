"""What is written meets with full disks, bounds, rights, and other things in its place.

It is whole or as it was, and there are words for it.
"""

from __future__ import annotations

import gzip
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import pytest
import torch

from tests.faults.places import bounded_files, can_mount, fill, make_device, small_disk, without_root_rights
from tests.faults.stage import sha256
from tests.faults.target_trees import tree
from viewer.engine.compare_handlers import report as report_handler
from viewer.engine.compare_requests import ReportComparison
from viewer.errors import ViewerError
from viewer.export.options import ExportOptions
from viewer.export.save import export_task
from viewer.formats.opening import open_task
from viewer.formats.wrapped import unpack_task
from viewer.task import run

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the faults are those of POSIX")

N: Final = 300_000


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sources")
    torch.save({"w": torch.arange(float(N))}, folder / "a.pth")
    torch.save({"w": torch.zeros(N)}, folder / "b.pth")
    (folder / "a.pth.gz").write_bytes(gzip.compress((folder / "a.pth").read_bytes(), 1))
    return folder


@pytest.fixture
def sources(made: Path, tmp_path: Path) -> Path:
    """In a folder of the test's own, since targets may be made to be these very files."""
    return Path(shutil.copytree(made, tmp_path / "sources"))


# What writes


def write_pth(sources: Path, target: Path) -> Path:
    run(export_task(sources / "a.pth", target, force=True))
    return sources / "a.pth"


def write_safetensors(sources: Path, target: Path) -> Path:
    run(export_task(sources / "a.pth", target, ExportOptions(flavour="safetensors"), force=True))
    return sources / "a.pth"


def write_report(sources: Path, target: Path) -> Path:
    a, b = (run(open_task(sources / name)) for name in ("a.pth", "b.pth"))
    run(report_handler(ReportComparison(1, 2, format="json", target=target), a, b))
    return sources / "a.pth"


def write_unpacked(sources: Path, target: Path) -> Path:
    run(unpack_task(sources / "a.pth.gz", target, overwrite=True))
    return sources / "a.pth.gz"


WRITERS: Final[dict[str, Callable[[Path, Path], Path]]] = {
    "export .pth": write_pth,
    "export .safetensors": write_safetensors,
    "report": write_report,
    "unpack": write_unpacked,
}
SOURCE: Final = {"unpack": "a.pth.gz"}


# Where it is to be written


def on_full_disk(out: Path, _source: Path, stack: ExitStack) -> Path:
    if not can_mount():
        pytest.skip("needs the right to mount")
    disk = stack.enter_context(small_disk(out / "disk", 256 << 10))
    (disk / "new").write_bytes(b"old")
    fill(disk / "filler")
    return disk / "new"


def below_a_bound(out: Path, _source: Path, stack: ExitStack) -> Path:
    (out / "new").write_bytes(b"old")
    stack.enter_context(bounded_files(1000))
    return out / "new"


def in_read_only_folder(out: Path, _source: Path, stack: ExitStack) -> Path:
    folder = out / "read-only"
    folder.mkdir()
    (folder / "new").write_bytes(b"old")
    folder.chmod(0o555)
    stack.callback(folder.chmod, 0o755)
    stack.enter_context(without_root_rights())
    return folder / "new"


def on_read_only_disk(out: Path, _source: Path, stack: ExitStack) -> Path:
    if not can_mount():
        pytest.skip("needs the right to mount")
    return stack.enter_context(small_disk(out / "disk", 8 << 20, read_only=True)) / "new"


def in_no_folder(out: Path, _source: Path, _stack: ExitStack) -> Path:
    return out / "missing" / "new"


def below_a_file(out: Path, _source: Path, _stack: ExitStack) -> Path:
    (out / "file").write_bytes(b"old")
    return out / "file" / "new"


def with_long_name(out: Path, _source: Path, _stack: ExitStack) -> Path:
    return out / ("x" * 300)


def with_long_path(out: Path, _source: Path, _stack: ExitStack) -> Path:
    return out.joinpath(*["x" * 200] * 25)


def on_a_folder(out: Path, _source: Path, _stack: ExitStack) -> Path:
    (out / "folder").mkdir()
    return out / "folder"


def on_a_link(out: Path, _source: Path, _stack: ExitStack) -> Path:
    (out / "real").write_bytes(b"old")
    (out / "link").symlink_to("real")
    return out / "link"


def on_a_link_to_nothing(out: Path, _source: Path, _stack: ExitStack) -> Path:
    (out / "link").symlink_to("nowhere")
    return out / "link"


def on_a_hard_link(out: Path, source: Path, _stack: ExitStack) -> Path:
    os.link(source, out / "hard")
    return out / "hard"


def on_the_source(_out: Path, source: Path, _stack: ExitStack) -> Path:
    return source


def on_a_device(out: Path, _source: Path, _stack: ExitStack) -> Path:
    return make_device(out / "device")


def on_a_pipe(out: Path, _source: Path, _stack: ExitStack) -> Path:
    os.mkfifo(out / "pipe")
    return out / "pipe"


PLACES: Final[dict[str, tuple[Callable[[Path, Path, ExitStack], Path], str]]] = {
    "disk full": (on_full_disk, "disk is (too )?full|No space left|no room"),
    "quota": (below_a_bound, "larger than this system allows|File too large"),
    "read-only folder": (in_read_only_folder, "nothing may be written|Permission denied"),
    "read-only disk": (on_read_only_disk, "nothing may be written|Read-only file system"),
    "no folder": (in_no_folder, "there is no folder|No such file"),
    "below a file": (below_a_file, "not a folder|Not a directory"),
    "name too long": (with_long_name, "too long"),
    "path too long": (with_long_path, "too long"),
    "a folder": (on_a_folder, "is a folder|already"),
    "a link": (on_a_link, "is a link"),
    "a link to nothing": (on_a_link_to_nothing, "is a link"),
    "a hard link to the source": (on_a_hard_link, "being read|onto itself"),
    "the source": (on_the_source, "being read|files compared|onto itself"),
    "a device": (on_a_device, "not an ordinary file|already"),
    "a pipe": (on_a_pipe, "not an ordinary file|already"),
}
THROUGH: Final = {"a link", "a link to nothing", "a hard link to the source"}
"""Where a report, which is small and made anew at will, is written: what is behind the link, or the name alone."""


@pytest.fixture
def out(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "out"
    folder.mkdir()
    yield folder
    shutil.rmtree(tmp_path)


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("place", PLACES)
def test_that_a_target_that_cannot_be_is_refused_in_words_and_nothing_changes(
    sources: Path, out: Path, place: str, writer: str
) -> None:
    prepare, words = PLACES[place]
    hashes = {path: sha256(path) for path in sources.iterdir()}
    with ExitStack() as stack:
        target = prepare(out, sources / SOURCE.get(writer, "a.pth"), stack)
        before = tree(out)
        if writer == "report" and place in THROUGH:
            WRITERS[writer](sources, target)
            assert target.read_text().startswith("{")
            assert len(tree(out)) - len(before) == (place == "a link to nothing")
        else:
            with pytest.raises(ViewerError, match=words) as caught:
                WRITERS[writer](sources, target)
            assert caught.value.advice
            assert tree(out) == before
    assert {path: sha256(path) for path in sources.iterdir()} == hashes
