"""Nothing is lost and nothing is left, whatever goes wrong."""

from __future__ import annotations

import errno
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from tests.export.contents import ROOT, exported, loaded, save, sha256
from viewer.errors import Cancelled, FileChanged, ViewerError
from viewer.export import save as saving
from viewer.export.files import NewFile, remove_abandoned
from viewer.export.options import ExportOptions, ExportRefused
from viewer.export.save import export_task
from viewer.task import Progress, run

POSIX = pytest.mark.skipif(os.name != "posix", reason="POSIX file systems")


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "in"
    folder.mkdir()
    return save({"w": torch.arange(4 << 20, dtype=torch.float32)}, folder / "source.pt")


@pytest.fixture
def out(tmp_path: Path) -> Iterator[Path]:
    """A folder in which no temporary file may be left."""
    folder = tmp_path / "out"
    folder.mkdir()
    yield folder
    assert [path.name for path in folder.iterdir() if path.name.endswith(".tmp")] == []


def refused(source: Path, target: Path, words: str, *, force: bool = True) -> None:
    with pytest.raises(ViewerError, match=words) as caught:
        run(export_task(source, target, force=force))
    assert caught.value.advice


def test_that_an_existing_file_is_replaced_only_by_force_and_keeps_its_mode(source: Path, out: Path) -> None:
    target = out / "a.pth"
    target.write_bytes(b"old")
    target.chmod(0o640)
    refused(source, target, "already", force=False)
    assert target.read_bytes() == b"old"
    result = exported(source, target)
    assert result.replaced
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    assert torch.equal(loaded(target)["w"], torch.arange(4 << 20, dtype=torch.float32))


@POSIX
def test_that_a_new_file_has_the_mode_that_the_person_asks_new_files_to_have(source: Path, out: Path) -> None:
    before = os.umask(0o027)
    try:
        exported(source, out / "a.pth")
    finally:
        os.umask(before)
    assert stat.S_IMODE((out / "a.pth").stat().st_mode) == 0o640


@POSIX
def test_that_the_source_is_not_replaced_under_any_of_its_names(source: Path, out: Path) -> None:
    before = sha256(source)
    os.link(source, out / "hard.pth")
    (out / "soft.pth").symlink_to(source)
    (out / "folder").symlink_to(source.parent, target_is_directory=True)
    refused(source, source, "being read")
    refused(source, out / "hard.pth", "being read")
    refused(source, out / "folder" / source.name, "being read")
    refused(source, out / "soft.pth", "link to")
    refused(out / "soft.pth", source, "being read")
    assert sha256(source) == before


@POSIX
def test_that_links_folders_and_devices_are_refused(source: Path, out: Path) -> None:
    (out / "real.pth").write_bytes(b"real")
    (out / "last.pth").symlink_to("real.pth")
    (out / "dangling.pth").symlink_to("nowhere.pth")
    (out / "folder.pth").mkdir()
    os.mkfifo(out / "pipe.pth")
    refused(source, out / "last.pth", "link to real.pth")
    refused(source, out / "dangling.pth", "link to nowhere.pth")
    refused(source, out / "folder.pth", "folder")
    refused(source, out / "pipe.pth", "not an ordinary file")
    refused(source, Path("/dev/full"), "not an ordinary file")
    refused(source, out / "missing" / "a.pth", "no folder")
    refused(source, out / "real.pth" / "a.pth", "not a folder")
    refused(source, out / ("x" * 300), "too long")
    refused(source, Path("a\0b"), "name of a file")
    assert (out / "real.pth").read_bytes() == b"real"
    assert (out / "last.pth").is_symlink()
    assert not (out / "nowhere.pth").exists()


def test_that_names_that_torch_cannot_write_are_written(source: Path, out: Path) -> None:
    for name in (".pth", "вес.pth", "a b.pth", "x" * 200):
        assert loaded(exported(source, out / name).path)["w"][3] == 3


@POSIX
@pytest.mark.skipif(os.name == "posix" and os.geteuid() == 0, reason="root may write anywhere")
def test_that_a_read_only_folder_is_told(source: Path, out: Path) -> None:
    out.chmod(0o555)
    try:
        refused(source, out / "a.pth", "nothing may be written")
    finally:
        out.chmod(0o755)


_LIMITED = """
import resource, sys
from viewer.cli.main import main
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
sys.exit(main(["export", sys.argv[1], sys.argv[2], "--force"]))
"""


@POSIX
def test_that_a_file_that_may_not_grow_leaves_the_old_one(source: Path, out: Path) -> None:
    target = out / "a.pth"
    target.write_bytes(b"old")
    done = subprocess.run(
        [sys.executable, "-c", _LIMITED, source, target], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "larger than this system allows" in done.stderr
    assert "untouched" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert target.read_bytes() == b"old"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_that_a_full_disk_is_told_in_words(source: Path, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class OnFullDisk(NewFile):
        def __init__(self, *args: object, **options: object) -> None:
            super().__init__(*args, **options)  # type: ignore[arg-type]
            full = os.open("/dev/full", os.O_WRONLY)
            os.dup2(full, self._fd)
            os.close(full)

    monkeypatch.setattr(saving, "NewFile", OnFullDisk)
    (out / "a.pth").write_bytes(b"old")
    refused(source, out / "a.pth", "the disk is full; the file that was there is untouched")
    assert (out / "a.pth").read_bytes() == b"old"


def test_that_too_little_room_is_told_before_anything_is_written(
    source: Path, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import shutil

    usage = shutil.disk_usage(out)._replace(free=1000)
    monkeypatch.setattr("viewer.export.files.shutil.disk_usage", lambda _: usage)
    refused(source, out / "a.pth", r"too full: 16,7\d\d,\d\d\d bytes are needed, and 1,000 are free")


@pytest.mark.parametrize("step", [1, 2, 3, 5, 8])
def test_that_a_cancelled_export_leaves_nothing(source: Path, out: Path, step: int) -> None:
    (out / "a.pth").write_bytes(b"old")
    count = 0

    def stop(_: Progress) -> None:
        nonlocal count
        count += 1
        if count == step:
            raise Cancelled("cancelled")

    with pytest.raises(Cancelled):
        run(export_task(source, out / "a.pth", force=True), stop)
    assert [path.name for path in out.iterdir()] == ["a.pth"]
    assert (out / "a.pth").read_bytes() == b"old"


@pytest.mark.parametrize("change", ["truncated", "touched", "replaced"])
def test_that_a_source_that_changes_while_it_is_read_is_noticed(source: Path, out: Path, change: str) -> None:
    def alter(progress: Progress) -> None:
        if progress.unit == "bytes" and progress.done > 8 << 20:
            if change == "truncated":
                os.truncate(source, 9 << 20)
            elif change == "touched":
                os.utime(source, ns=(1, 1))
            elif source.exists():
                other = source.with_name("other")
                other.write_bytes(b"x")
                other.replace(source)

    with pytest.raises(FileChanged):
        run(export_task(source, out / "a.pth"), alter)
    assert list(out.iterdir()) == []


def test_that_a_document_that_changed_since_it_was_opened_is_not_exported(source: Path, out: Path) -> None:
    from viewer import open_checkpoint

    files = open_checkpoint(source).files
    os.utime(source, ns=(1, 1))
    with pytest.raises(FileChanged):
        run(export_task(source, out / "a.pth", opened=files))
    assert list(out.iterdir()) == []


def test_that_a_write_that_goes_wrong_on_the_disk_is_found_before_the_file_is_put_in_place(
    source: Path, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Flipping(NewFile):
        def finish(self) -> None:
            super().finish()
            with self.path.open("r+b") as file:
                file.seek(9 << 20)
                file.write(b"\xff")

    monkeypatch.setattr(saving, "NewFile", Flipping)
    (out / "a.pth").write_bytes(b"old")
    refused(source, out / "a.pth", "the values of w differ from the source")
    assert (out / "a.pth").read_bytes() == b"old"


_KILLED = """
import os, sys
from pathlib import Path
from viewer.export.save import export_task
for _ in export_task(sys.argv[1], sys.argv[2], force=True):
    if any(path.stat().st_size for path in Path(sys.argv[2]).parent.glob(".*.tmp")):
        os.kill(os.getpid(), 9)
"""


@POSIX
def test_that_the_next_export_removes_what_a_killed_process_left_and_nothing_else(source: Path, out: Path) -> None:
    (out / "a.pth").write_bytes(b"old")
    done = subprocess.run([sys.executable, "-c", _KILLED, source, out / "a.pth"], cwd=ROOT, check=False)
    assert done.returncode == -9
    (left,) = (path for path in out.iterdir() if path.name.endswith(".tmp"))
    assert (out / "a.pth").read_bytes() == b"old"
    (out / ".checkpoint-viewer-folder.tmp").mkdir()
    (out / ".checkpoint-viewer-notes").write_text("mine")
    (out / ".checkpoint-viewer-link.tmp").symlink_to("a.pth")
    with NewFile(out / "b.pth", force=False, sources=[], nbytes=1) as in_use:
        assert not left.exists()
        remove_abandoned(out)
        assert in_use.path.exists()
    exported(source, out / "a.pth")
    kept = {".checkpoint-viewer-folder.tmp", ".checkpoint-viewer-link.tmp", ".checkpoint-viewer-notes", "a.pth"}
    assert {path.name for path in out.iterdir()} == kept
    (out / ".checkpoint-viewer-folder.tmp").rmdir()
    (out / ".checkpoint-viewer-link.tmp").unlink()


_ENDED = """
import signal, sys
from pathlib import Path
from viewer.cli import progress
from viewer.cli.main import main
from viewer.task import run
target, number = Path(sys.argv[2]), int(sys.argv[3])
def run_and_end(task, _title):
    def end(_progress):
        if any(path.stat().st_size for path in target.parent.glob(".*.tmp")):
            signal.raise_signal(number)
    return run(task, end)
import viewer.cli.export
viewer.cli.export.run_with_bar = run_and_end
sys.exit(main(["export", sys.argv[1], sys.argv[2], "--force"]))
"""


@POSIX
@pytest.mark.parametrize(("name", "code"), [("SIGINT", 130), ("SIGTERM", 143), ("SIGHUP", 129)])
def test_that_a_command_that_a_signal_ends_leaves_nothing(source: Path, out: Path, name: str, code: int) -> None:
    (out / "a.pth").write_bytes(b"old")
    number = str(int(getattr(signal, name)))
    done = subprocess.run([sys.executable, "-c", _ENDED, source, out / "a.pth", number], cwd=ROOT, check=False)
    assert done.returncode == code
    assert [path.name for path in out.iterdir()] == ["a.pth"]
    assert (out / "a.pth").read_bytes() == b"old"


def test_that_a_file_that_somebody_wrote_meanwhile_is_not_replaced_without_force(source: Path, out: Path) -> None:
    with NewFile(out / "a.pth", force=False, sources=[], nbytes=3) as file:
        file.write(b"new")
        file.finish()
        (out / "a.pth").write_bytes(b"theirs")
        with pytest.raises(ExportRefused, match="already"):
            file.commit()
    assert (out / "a.pth").read_bytes() == b"theirs"
    assert [path.name for path in out.iterdir()] == ["a.pth"]


@POSIX
@pytest.mark.parametrize("links", [True, False])
def test_that_a_name_is_taken_with_and_without_hard_links(
    out: Path, monkeypatch: pytest.MonkeyPatch, links: bool
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EPERM, "no hard links here")

    if not links:
        monkeypatch.setattr("viewer.export.files.os.link", refuse)
    with NewFile(out / "a.pth", force=False, sources=[], nbytes=3) as file:
        file.write(b"new")
        file.finish()
        file.commit()
    assert (out / "a.pth").read_bytes() == b"new"
    assert (out / "a.pth").stat().st_nlink == 1
    assert [path.name for path in out.iterdir()] == ["a.pth"]


def test_that_an_unreadable_tensor_stops_the_export_unless_it_is_dropped(tmp_path: Path, out: Path) -> None:
    path = save({"a": 1, "b": torch.ones(100)}, tmp_path / "cut.pt", legacy=True)
    os.truncate(path, path.stat().st_size - 10)
    with pytest.raises(ExportRefused, match="b: a tensor that cannot be read"):
        run(export_task(path, out / "a.pth"))
    result = exported(path, out / "a.pth", objects="drop")
    assert list(loaded(result.path)) == ["a"]
    assert [found.path for found in result.plan.findings if found.kind == "dropped"] == ["b"]


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_that_memory_stays_small_whatever_the_size(tmp_path: Path) -> None:
    path = tmp_path / "large.pt"
    torch.save({"w": torch.zeros(100 << 20, dtype=torch.float32)}, path)
    code = """
import sys
from viewer.export.save import export_task
from viewer.task import run
run(export_task(sys.argv[1], sys.argv[2]))
with open("/proc/self/status") as status:  # ru_maxrss would begin with the memory of the process that forked
    print(next(int(line.split()[1]) for line in status if line.startswith("VmHWM")))
assert "torch" not in sys.modules and "numpy" not in sys.modules
"""
    done = subprocess.run(
        [sys.executable, "-c", code, path, tmp_path / "out.pth"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert int(done.stdout) < 150_000
    path.unlink()


def test_that_the_options_of_an_export_are_checked(source: Path, out: Path) -> None:
    with pytest.raises(ViewerError, match="cannot cast to 'int8'"):
        run(export_task(source, out / "a.pth", ExportOptions(cast="int8")))
    with pytest.raises(ViewerError, match="nothing is at 'x'"):
        run(export_task(source, out / "a.pth", ExportOptions(select="x")))


def test_that_values_that_were_damaged_before_are_said_to_be_so(tmp_path: Path) -> None:
    path = tmp_path / "a.pt"
    torch.save({"sound": torch.ones(3), "w": torch.arange(100.0), "part": torch.arange(9.0)[2:4]}, path)
    assert not exported(path).plan.findings[1:]  # but that the view is separated from its storage
    data = bytearray(path.read_bytes())
    data[data.index(torch.arange(100.0).numpy().tobytes()) + 6] ^= 1
    path.write_bytes(data)
    for options in (
        {},
        {"flavour": "safetensors"},
        {"cast": "float16"},
        {"cast": "float64", "flavour": "safetensors"},
    ):
        found = exported(path, **options).plan.findings
        assert [finding.path for finding in found if "checksum" in finding.text] == ["w"], options


def test_that_damage_is_said_of_tensors_that_are_packed(tmp_path: Path) -> None:
    path = tmp_path / "a.pt"
    both = torch.arange(200.0)
    torch.save({"t": torch.arange(100.0).reshape(4, 25).t(), "head": both[:150], "tail": both[150:]}, path)
    data = bytearray(path.read_bytes())
    for numbers in (torch.arange(100.0), both):
        data[data.index(numbers[60:].numpy().tobytes()) + 6] ^= 1
    path.write_bytes(data)
    found = exported(path).plan.findings
    assert [finding.path for finding in found if "checksum" in finding.text] == ["t", "head", "tail"]
