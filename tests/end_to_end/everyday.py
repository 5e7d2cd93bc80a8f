"""A day with the program, and the next morning: `python -m … day|morning THEME FOLDER`.

In `day` the window is started without a file; one file is opened by the dialog, another is dropped, a tensor is
looked at, the two are compared, one is exported, and reopening is switched on, all with keys and clicks. In `morning`
it is started again. What was seen is printed as one line of JSON.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Generator
from pathlib import Path
from typing import TypeVar

from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QCheckBox, QDialog, QDialogButtonBox, QFileDialog, QLineEdit

from tests.end_to_end.scenarios import click, statistics
from tools.window_driver import Condition, Director, document_is_shown, histogram_is_shown
from viewer.cli.window import WindowOptions
from viewer.gui.app import run_window
from viewer.gui.compare.dialog import CompareDialog
from viewer.gui.export.dialog import ExportDialog
from viewer.gui.habits.settings_dialog import SettingsDialog
from viewer.gui.window import MainWindow

Steps = Generator[Condition, None, None]
Dialog = TypeVar("Dialog", bound=QDialog)
CTRL = Qt.KeyboardModifier.ControlModifier

seen: dict[str, object] = {}


def shown(kind: type[Dialog]) -> Dialog | None:
    """The dialog of this kind that is open."""
    found = [each for each in QApplication.topLevelWidgets() if isinstance(each, kind) and each.isVisible()]
    return found[0] if found else None


def press(window: MainWindow, key: Qt.Key, modifiers: Qt.KeyboardModifier = CTRL) -> None:
    QTest.keyClick(window, key, modifiers)


def drop(window: MainWindow, path: Path) -> None:
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path))])
    at, buttons, keys = QPoint(200, 300), Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    QApplication.sendEvent(window, QDragEnterEvent(at, Qt.DropAction.CopyAction, data, buttons, keys))
    QApplication.sendEvent(window, QDropEvent(QPointF(at), Qt.DropAction.CopyAction, data, buttons, keys))


def day(window: MainWindow, folder: Path) -> Steps:
    yield window.isVisible
    window.activateWindow()  # there is no window manager to do it
    yield window.isActiveWindow
    seen["start page"] = window.start.isVisible()

    press(window, Qt.Key.Key_O)
    yield lambda: shown(QFileDialog) is not None
    files = shown(QFileDialog)
    assert files is not None
    name = files.findChild(QLineEdit)
    assert isinstance(name, QLineEdit)
    QApplication.clipboard().setText(str(folder / "a.pth"))  # typed, the list of names below takes the keys
    QTest.keyClick(name, Qt.Key.Key_A, CTRL)
    QTest.keyClick(name, Qt.Key.Key_V, CTRL)
    buttons = files.findChild(QDialogButtonBox)
    assert isinstance(buttons, QDialogButtonBox)
    QTest.mouseClick(buttons.button(QDialogButtonBox.StandardButton.Open), Qt.MouseButton.LeftButton)
    yield lambda: document_is_shown(window)

    drop(window, folder / "b.pth")
    yield lambda: len(window.documents.pages) == 2 and document_is_shown(window)
    yield lambda: click_arrived(window, "model/head.weight")
    yield lambda: histogram_is_shown(window)
    seen["statistics"] = statistics(window)

    window.activateWindow()
    yield window.isActiveWindow
    press(window, Qt.Key.Key_D)
    yield lambda: shown(CompareDialog) is not None
    asked = shown(CompareDialog)
    assert asked is not None
    QTest.mouseClick(asked.go, Qt.MouseButton.LeftButton)
    yield lambda: bool(window.documents.comparisons)
    comparison = window.documents.comparisons[0]
    yield lambda: comparison.figures is not None
    seen["compared"] = comparison.sentence.text()

    window.activateWindow()
    yield window.isActiveWindow
    window.documents.setCurrentIndex(0)
    press(window, Qt.Key.Key_E)
    yield lambda: shown(ExportDialog) is not None
    export = shown(ExportDialog)
    assert export is not None
    export.target.clear()
    QTest.keyClicks(export.target, str(folder / "canonical.pth"))
    yield export.go.isEnabled
    QTest.mouseClick(export.go, Qt.MouseButton.LeftButton)
    yield lambda: export.written_file is not None
    seen["exported"] = (folder / "canonical.pth").stat().st_size > 0
    export.close()

    window.activateWindow()
    yield window.isActiveWindow
    press(window, Qt.Key.Key_Comma)
    yield lambda: shown(SettingsDialog) is not None
    settings = shown(SettingsDialog)
    assert settings is not None
    reopen = settings.editors["session/reopen"]
    assert isinstance(reopen, QCheckBox)
    settings.tabs.setCurrentIndex(settings.tabs.count() - 1)
    QTest.keyClick(reopen, Qt.Key.Key_Space)
    seen["reopens"] = reopen.isChecked()
    QTest.keyClick(settings, Qt.Key.Key_Escape)
    yield lambda: shown(SettingsDialog) is None
    tell(window)


def click_arrived(window: MainWindow, path: str) -> bool:
    """Click the row once it is laid out and the details wait for it."""
    page = window.documents.page
    if page is None or page.details is None or not page.details.isVisible():
        return False
    click(window, path)
    assert page.tree is not None
    assert page.checkpoint is not None
    return page.tree.current_node == page.checkpoint.find(path)


def morning(window: MainWindow, _folder: Path) -> Steps:
    yield lambda: window.documents.count() == 3
    yield lambda: all(page.checkpoint is not None for page in window.documents.pages)
    yield lambda: all(each.figures is not None for each in window.documents.comparisons)
    tell(window)


def tell(window: MainWindow) -> None:
    tabs = window.documents
    seen["tabs"] = [tabs.tabText(index) for index in range(tabs.count())]
    seen["front"] = tabs.currentIndex()
    seen["theme"] = window._theme.tokens.name
    seen["troubles"] = [each.text for each in window.messages.messages if each.kind in ("warning", "error")]


def main() -> None:
    story, theme, folder = {"day": day, "morning": morning}[sys.argv[1]], sys.argv[2], Path(sys.argv[3])
    app = QApplication(sys.argv[:1])
    QApplication.setAttribute(Qt.ApplicationAttribute.AA_DontUseNativeDialogs)
    director = Director(lambda window: story(window, folder), 60)
    code = run_window([], WindowOptions(theme=theme))
    if director.error is not None:
        raise director.error
    del app
    print(json.dumps([code, seen]))


if __name__ == "__main__":
    main()
