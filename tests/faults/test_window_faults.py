"""A file changes on disk while it is open in the window: every operation on it says so where the person looks."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest
import torch
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from tests.faults.stage import OPERATIONS, Stage, staged, temporary_files
from viewer.gui.theme import Theme

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="an open file cannot be removed there"),
    pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning"),
]


def truncate(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def delete(path: Path) -> None:
    path.unlink()


def put_another(path: Path) -> None:
    other = path.with_name("other")
    torch.save({"another": torch.ones(9)}, other)
    other.replace(path)


FAULTS: Final[dict[str, tuple[Callable[[Path], None], tuple[str, ...]]]] = {
    "truncated": (truncate, ("bytes when it was opened and has", "changed on disk since it was opened")),
    "deleted": (delete, ("moved or deleted since it was opened", "there is no such file")),
    "replaced": (put_another, ("another file was put in its place", "changed on disk since it was opened")),
}


@pytest.fixture(scope="module")
def lasting(tmp_path_factory: pytest.TempPathFactory, fusion: QApplication) -> Iterator[Stage]:
    with staged(tmp_path_factory.mktemp("lasting"), Theme(fusion, "light"), None) as stage:
        yield stage


@pytest.fixture
def stage(lasting: Stage, qtbot: QtBot) -> Iterator[Stage]:
    lasting.qtbot = qtbot
    yield lasting
    lasting.fresh()


@pytest.mark.parametrize("name", ["scan", "export", "round trip"])
@pytest.mark.parametrize("fault", FAULTS)
def test_that_a_file_that_changed_is_told_of_where_it_was_asked_for(
    stage: Stage, tmp_path: Path, fault: str, name: str
) -> None:
    change, words = FAULTS[fault]
    a, b = tmp_path / "a.pth", tmp_path / "b.pth"
    for path in (a, b):
        torch.save({"w": torch.arange(60.0), "b": torch.zeros(3)}, path)
    pid = stage.client.pid
    operation = OPERATIONS[name](stage, a, b)
    operation.ready()
    change(a)
    operation.go()
    stage.wait(operation.failure)
    assert any(each in operation.failure() for each in words), operation.failure()
    assert not operation.is_done()
    assert temporary_files(tmp_path) == []
    assert not (tmp_path / "a-canonical.pth").exists()
    stage.open(b)
    assert stage.client.pid == pid
