"""Files whose names are hard to write: opened, exported, compared, remembered and handed over under just these."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest
import torch
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from tests.faults.stage import Compare, Export, Operation, Stage, sha256, staged
from viewer.desktop.handover import LENGTH, Message, decode
from viewer.desktop.state import RunNote, state_folder
from viewer.gui.habits.session import session_of
from viewer.gui.recent import RecentFiles
from viewer.gui.settings import Settings
from viewer.gui.theme import Theme

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="what a name may hold is the system's affair")

PATH_MAX: Final = 4096  # linux/limits.h, with the zero at the end


def spaces(folder: Path) -> Path:
    return folder / "  my  model (final) "


def newlines(folder: Path) -> Path:
    return folder / "line\nbreak\r\n\ttab"


def no_text(folder: Path) -> Path:
    return folder / os.fsdecode(b"caf\xe9 \xff\xfe\x80")


def markup(folder: Path) -> Path:
    return folder / "<b>&amp; %s {0} $HOME `x` 'quoted\" \\"


def long_names(folder: Path) -> Path:
    """So long that there is room in it for just the name of a file on its way to its target."""
    room = PATH_MAX - 1 - len(os.fsencode(folder)) - len("/.checkpoint-viewer-0123456789ab.tmp")
    while room > 250:
        folder = folder / ("x" * 200)
        room -= 201
    return folder / ("y" * (room - 1))


NAMES: Final = {
    "spaces": spaces,
    "newlines": newlines,
    "no text": no_text,
    "markup": markup,
    "4,096 characters": long_names,
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


def done(operation: Operation) -> None:
    operation.ready()
    operation.go()
    operation.stage.wait(lambda: operation.is_done() or operation.failure())
    assert operation.failure() == ""


@pytest.mark.parametrize("name", NAMES)
def test_that_a_file_of_any_name_is_opened_exported_compared_remembered_and_handed_over(
    stage: Stage, tmp_path: Path, name: str
) -> None:
    folder = NAMES[name](tmp_path)
    folder.mkdir(parents=True)
    a, b = folder / "a.pth", folder / "b.pth"
    for number, path in enumerate((a, b)):
        with path.open("wb") as file:  # torch's own way of opening does not take all names
            torch.save({"w": torch.arange(6.0) + number}, file)
    hashes = [sha256(path) for path in (a, b)]
    for kind in (Export, Compare):
        done(kind(stage, a, b))
    assert stage.said() == ""
    target = folder / Export.writes
    with target.open("rb") as file:
        assert torch.equal(torch.load(file, weights_only=True)["w"], torch.arange(6.0))
    assert [sha256(path) for path in (a, b)] == hashes
    assert sorted(folder.iterdir()) == [target, a, b]
    # Remembered
    stage.window.save()
    again = RecentFiles(Settings(stage.plan.with_name("settings.ini")))
    assert a in again.paths
    assert {a, b} in [pair.paths for pair in again.pairs]
    note = RunNote()
    note.start()
    note.keep(session_of(stage.window.documents))
    assert (state_folder() or tmp_path).joinpath(f"run-{os.getpid()}.json").exists()
    note.release()
    # Handed over
    message = Message((str(a), str(b)), compare=True)
    assert decode(message.encode()[LENGTH.size :]) == message
    shutil.rmtree(tmp_path)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda folder: folder.joinpath(*["x" * 200] * 25), "cannot be the name of a file"),
        (lambda folder: folder / ("x" * 300), "cannot be the name of a file"),
        (lambda folder: folder / "a\0b", "cannot be the name of a file"),
        (lambda folder: folder / os.fsdecode(b"\xff"), "there is no such file"),
    ],
    ids=["path too long", "name too long", "a zero", "no text and no file"],
)
def test_that_a_name_that_cannot_be_is_told(
    stage: Stage, tmp_path: Path, make: Callable[[Path], Path], words: str
) -> None:
    stage.window.documents.open_paths([make(tmp_path)])
    stage.wait(stage.said)
    assert words in stage.said()
    assert stage.window.documents.count() == 0
