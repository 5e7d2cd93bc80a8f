"""What happens to a source while it is open and while it is read: an error that says so, or the values as they were.

Never values that no file ever held, and never a crash. The tasks are those that the engine runs.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import pytest
import torch

from tests.faults.places import can_mount, small_disk, without_root_rights
from viewer.checkpoint.document import Checkpoint
from viewer.compare.results import PairResult, Status, ValueBatch
from viewer.compare.task import compare_task
from viewer.errors import ViewerError
from viewer.export.options import ExportOptions
from viewer.export.save import export_task
from viewer.export.verify import verify_task
from viewer.formats.opening import open_task
from viewer.roundtrip.task import roundtrip_task
from viewer.task import Progress, run
from viewer.tensors import scan_cache
from viewer.tensors.scan_all import scan_all_task
from viewer.tensors.scan_results import ScanBatch, ScanRow
from viewer.tensors.summary import summarise_task

pytestmark = [
    pytest.mark.skipif(os.name != "posix", reason="an open file cannot be replaced elsewhere"),
    pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning"),
]

N: Final = 3 << 20
"""Elements of each tensor: 12 MiB, which are read in several steps."""

OLD, NEW = 1.0, 2.0
"""All elements before and after a rewrite."""

Report = Callable[[Progress], None]


@dataclass(frozen=True)
class Case:
    """A file in a folder of its own, the checkpoint that was opened from it, and a copy that nothing happens to."""

    path: Path
    checkpoint: Checkpoint
    copy: Path
    target: Path


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("made") / "a.pth"
    torch.save({"w": torch.full((N,), OLD), "v": torch.full((N,), OLD)}, path)
    return path


@pytest.fixture
def case(made: Path, tmp_path: Path) -> Iterator[Case]:
    folder = tmp_path / "disk"
    folder.mkdir()
    (tmp_path / "out").mkdir()
    path = folder / "a.pth"
    shutil.copyfile(made, path)
    yield Case(path, run(open_task(path)), made, tmp_path / "out" / "b.pth")
    for left in tmp_path.rglob("*"):
        if left.is_dir():
            left.chmod(0o755)
    shutil.rmtree(tmp_path)  # 24 MiB for each of many tests


# What happens to the file


def truncate(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def grow(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"more" * 100)


def put_another(path: Path) -> None:
    other = path.with_name("other")
    rewrite(shutil.copyfile(path, other))
    other.replace(path)


def delete(path: Path) -> None:
    path.unlink()


def deny(path: Path) -> None:
    path.chmod(0)


def rewrite(path: Path) -> None:
    """Other values in place, with the size and the time of before."""
    status = path.stat()
    with path.open("r+b") as file:
        data = file.read()
        file.seek(0)
        file.write(data.replace(torch.tensor(OLD).numpy().tobytes(), torch.tensor(NEW).numpy().tobytes()))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def vanish(path: Path) -> None:
    """The folder is not there any more, as when a drive is pulled out."""
    path.parent.rename(path.parent.with_name("pulled out"))


FAULTS: Final[dict[str, tuple[Callable[[Path], None], str]]] = {
    "truncated": (truncate, "bytes when it was opened and has"),
    "grown": (grow, "bytes when it was opened and has"),
    "replaced": (put_another, "another file was put in its place"),
    "deleted": (delete, "no such file|moved or deleted"),
    "unreadable": (deny, "may not read|permissions were changed"),
    "rewritten": (rewrite, "it was written to"),
    "vanished": (vanish, "no such file|moved or deleted"),
}

GONE: Final = ("deleted", "unreadable", "vanished")


# What is done with it: each gives the values that it saw, as numbers


def summarised(case: Case, report: Report) -> set[float]:
    found = run(summarise_task(case.checkpoint, 0), report).statistics
    return {float(number) for number in (found.min, found.max, found.mean) if number is not None}


def scanned(case: Case, report: Report) -> set[float]:
    rows: list[ScanRow] = []

    def take(progress: Progress) -> None:
        if isinstance(progress.partial, ScanBatch):
            rows.extend(progress.partial.rows)
        report(progress)

    run(scan_all_task(case.checkpoint, use_cache=False), take)
    for row in rows:
        if row.problem is not None:
            raise ViewerError(row.problem, path=case.path, advice="As the row says")
    assert len(rows) == 2
    return {float(number) for row in rows for number in (row.min, row.max, row.mean) if number is not None}


def compared(case: Case, report: Report) -> set[float]:
    results: list[PairResult] = []

    def take(progress: Progress) -> None:
        if isinstance(progress.partial, ValueBatch):
            results.extend(progress.partial.results)
        report(progress)

    run(compare_task(case.checkpoint, run(open_task(case.copy))), take)
    for result in results:
        if result.problem:
            raise ViewerError(result.problem, path=case.path, advice="As the row says")
    assert len(results) == 2
    return {OLD if result.status is Status.IDENTICAL else NEW for result in results}


def exported(case: Case, report: Report) -> set[float]:
    run(export_task(case.path, case.target, ExportOptions(), opened=case.checkpoint.files), report)
    loaded = torch.load(case.target, weights_only=True)
    return {float(bound) for name in "wv" for bound in torch.aminmax(loaded[name])}


def verified(case: Case, report: Report) -> set[float]:
    found = run(verify_task(case.path), report)
    if found.faults:
        raise ViewerError(found.faults[0].text, path=case.path, advice="As the report says")
    return {OLD}  # the checksums that torch wrote hold


def saved_and_reloaded(case: Case, report: Report) -> set[float]:
    task = roundtrip_task(case.checkpoint, 0, ways=("torch.save",), check_bytes=False, large=True)
    found = run(task, report)
    if found.left_out:
        raise ViewerError(found.left_out[0], path=case.path, advice="As the line below the table says")
    assert not found.ways[0].error
    return {OLD}  # what came back is what was read


def opened(case: Case, report: Report) -> set[float]:
    checkpoint = run(open_task(case.path), report)
    assert len(checkpoint.tensors) == 2
    return {OLD}


OPERATIONS: Final = {
    "statistics": summarised,
    "scan": scanned,
    "compare": compared,
    "export": exported,
    "verify": verified,
    "round trip": saved_and_reloaded,
    "open": opened,
}


def nothing(_progress: Progress) -> None:
    """The fault came before."""


def seen_by(case: Case, name: str, report: Report, words: str) -> set[float]:
    """The values; none where it ended with an error, which names the file and the fault, and says what to do."""
    refused: ViewerError | None = None
    seen: set[float] = set()
    try:
        seen = OPERATIONS[name](case, report)
    except ViewerError as error:
        refused = error
    if refused is not None:
        assert refused.advice
        assert refused.path is None or refused.path.name in ("a.pth", "b.pth")
        assert re.search(words, str(refused)), str(refused)
    return seen


def demand_no_half_file(case: Case) -> None:
    """The target is whole or absent, and there is nothing beside it."""
    left = list(case.target.parent.iterdir())
    assert left in ([], [case.target])
    if left:
        assert set(torch.load(case.target, weights_only=True)) == {"w", "v"}


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("fault", FAULTS)
def test_that_a_source_that_changed_while_it_was_open_is_not_taken_for_what_it_was(
    case: Case, fault: str, name: str
) -> None:
    change, words = FAULTS[fault]
    change(case.path)
    with without_root_rights():
        seen = seen_by(case, name, nothing, f"{words}|changed on disk since|breaks off|checksum")
    demand_no_half_file(case)
    if fault == "rewritten":
        # Its size and time are those of before: it is shown as it is now, and its checksums tell.
        assert seen == (set() if name == "verify" else {OLD} if name in ("open", "round trip") else {NEW})
    elif name == "open":
        assert seen == (set() if fault in GONE else {OLD})
    elif name == "verify":
        assert seen == ({OLD} if fault == "grown" else set())
    else:
        assert seen == set()


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("fault", FAULTS)
def test_that_a_source_that_changes_while_it_is_read_gives_an_error_or_its_old_values(
    case: Case, fault: str, name: str
) -> None:
    change, words = FAULTS[fault]
    changed: list[str] = []

    def report(progress: Progress) -> None:
        if not changed and (progress.done or name == "open"):
            changed.append(fault)
            change(case.path)

    with without_root_rights():
        seen = seen_by(case, name, report, words)
    assert changed
    assert seen in (set(), {OLD})
    demand_no_half_file(case)
    if name in ("open", "export", "verify"):  # these look at the path again at their end
        assert seen == set()


@pytest.mark.skipif(not can_mount(), reason="needs the right to mount")
@pytest.mark.parametrize("name", ["statistics", "scan", "export"])
def test_that_a_drive_that_is_pulled_out_is_told(case: Case, tmp_path: Path, name: str) -> None:
    with small_disk(tmp_path / "drive", 64 << 20) as drive:
        path = Path(shutil.copyfile(case.path, drive / "a.pth"))
        pulled = replace(case, path=path, checkpoint=run(open_task(path)))
    assert seen_by(pulled, name, nothing, "no such file|moved or deleted") == set()
    demand_no_half_file(pulled)


def test_that_a_rewrite_that_hides_its_time_is_told_by_scan_export_and_verification(
    case: Case, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(scan_cache, "_SETTLED_S", -1.0)
    for from_cache in (0, 2):
        assert run(scan_all_task(case.checkpoint)).from_cache == from_cache
    rewrite(case.path)
    assert run(open_task(case.path)).files == case.checkpoint.files
    assert run(scan_all_task(case.checkpoint)).from_cache == 0
    findings = run(export_task(case.path, case.target)).plan.findings
    assert sorted(finding.path for finding in findings if "checksum" in finding.text) == ["v", "w"]
    assert len(run(verify_task(case.path)).faults) == 2
