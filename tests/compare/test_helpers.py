"""The processes that help with large comparisons: the same numbers, none left behind, and none needed."""

from __future__ import annotations

import io
import pickle
from pathlib import Path
from typing import TypeAlias

import psutil
import pytest
import torch

from viewer import helper_process, open_checkpoint
from viewer.compare import helper, values
from viewer.compare.comparison import Comparison
from viewer.compare.crew import Crew
from viewer.compare.helper import Helper, Order
from viewer.compare.options import CompareOptions, Tolerance
from viewer.compare.tally import Tally
from viewer.compare.task import run_compare
from viewer.errors import CompressedFile, FileChanged, MalformedFile
from viewer.helper_process import HelperLost
from viewer.task import run

Children: TypeAlias = frozenset[psutil.Process]


@pytest.fixture
def others() -> Children:
    """Processes of the test run itself, such as its virtual screen."""
    return frozenset(psutil.Process().children())


def started_since(others: Children) -> list[psutil.Process]:
    return [process for process in psutil.Process().children() if process not in others]


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    generator = torch.Generator().manual_seed(0)
    a = {f"w{at}": torch.randn(3_000_000, generator=generator) for at in range(3)}
    a["h"] = torch.randn(5_000_000, generator=generator).bfloat16()
    b = {
        name: value + 0.01 * torch.randn(value.shape, generator=generator).to(value.dtype)
        for name, value in a.items()
    }
    b["w1"][:1_500_000] = a["w1"][:1_500_000]
    b["w2"][7] = torch.nan
    torch.save(a, tmp_path / "a.pt")
    torch.save(b, tmp_path / "b.pt")
    return tmp_path / "a.pt", tmp_path / "b.pt"


def helped(files: tuple[Path, Path], options: CompareOptions | None = None) -> Comparison:
    return run(run_compare(*map(open_checkpoint, files), options))


@pytest.mark.parametrize(
    "options", [CompareOptions(), CompareOptions(tolerance=Tolerance(0.0, 0.5)), CompareOptions(count_steps=True)]
)
def test_that_helpers_find_what_threads_find(
    files: tuple[Path, Path], others: Children, options: CompareOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = helped(files, options)
    monkeypatch.setattr(values, "_HELP_FROM", 0)
    used: list[Order] = []
    tallies = Helper.tallies

    def counted(helper: Helper, order: Order) -> object:
        used.append(order)
        return tallies(helper, order)

    def want_help(crew: Crew) -> None:
        start(crew)
        for thread in crew._starting:
            thread.join()

    start = Crew.want_help
    monkeypatch.setattr(Helper, "tallies", counted)
    monkeypatch.setattr(Crew, "want_help", want_help)
    together = helped(files, options)
    assert used
    assert together.results == alone.results
    assert together.overview == alone.overview
    assert started_since(others) == []


def test_that_helpers_that_end_are_done_without(
    files: tuple[Path, Path], others: Children, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = helped(files)
    monkeypatch.setattr(values, "_HELP_FROM", 0)
    ready = Helper.wait_until_ready

    def ends_at_once(helper: Helper) -> None:
        ready(helper)
        helper.end()

    monkeypatch.setattr(Helper, "wait_until_ready", ends_at_once)
    assert helped(files).results == alone.results
    assert started_since(others) == []


def test_that_a_stopped_comparison_leaves_no_helper(
    files: tuple[Path, Path], others: Children, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(values, "_HELP_FROM", 0)
    task = run_compare(*map(open_checkpoint, files))
    for progress in task:
        if started_since(others):
            assert progress.total
            break
    task.close()
    assert started_since(others) == []


def test_that_a_helper_tells_of_a_changed_file(files: tuple[Path, Path]) -> None:
    a, b = map(open_checkpoint, files)
    files[1].write_bytes(files[1].read_bytes() + b"x")
    helper = Helper(a, b)
    try:
        helper.wait_until_ready()
        left, right = (side.tensor_of_node(side.find("w0")) for side in (a, b))
        assert left is not None
        assert right is not None
        with pytest.raises(FileChanged):
            helper.tallies(Order(1, left, right, None, count_steps=False, starts=(0,), norms_only=False))
    finally:
        helper.close()
    with pytest.raises((HelperLost, ValueError)):
        helper.tallies(Order(1, left, right, None, count_steps=False, starts=(0,), norms_only=False))


class _Other:
    def __reduce__(self) -> tuple[object, ...]:
        return print, ("built",)


def test_that_messages_are_made_of_our_own_plain_data_alone(capsys: pytest.CaptureFixture[str]) -> None:
    pipe, admitted = io.BytesIO(), helper._ADMITTED
    for message in (_Other(), [Tally(), None], MalformedFile("broken", path="a.pt"), CompressedFile("packed")):
        helper_process._send(pipe, message)
    pipe.seek(0)
    with pytest.raises(pickle.UnpicklingError, match=r"builtins\.print is no part of a message"):
        helper_process._receive(pipe, admitted)
    assert capsys.readouterr().out == ""
    assert helper_process._receive(pipe, admitted) == [Tally(), None]
    assert isinstance(helper_process._receive(pipe, admitted), MalformedFile)
    assert isinstance(helper_process._receive(pipe, admitted), CompressedFile)
