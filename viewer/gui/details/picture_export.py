"""What is drawn, taken out of the window: as a picture in a file or on the clipboard, and its numbers as text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QPoint, QSaveFile, Signal
from PySide6.QtGui import QAction, QGuiApplication, QKeySequence, QPainter, QPixmap, Qt
from PySide6.QtWidgets import QFileDialog, QMenu, QToolButton, QWidget

from viewer.errors import ViewerError

_SCALE: Final = 2
"""Pixels of a saved picture for each of the screen: enough for print."""


@dataclass(frozen=True, slots=True)
class Exportable:
    """What can be taken out.

    Attributes
    ----------
    widget
        What is drawn.
    name
        What it shows, for the file's name.
    numbers
        Makes the lines of its numbers, with heads, of which the cells are apart by the given text; None where it has
        none.
    draw
        Draws the widget in lines and letters, where rendering it would give a picture of pixels.
    """

    widget: QWidget
    name: str
    numbers: Callable[[str], str] | None = None
    draw: Callable[[QPainter], None] | None = None


class ExportMenu(QToolButton):
    """A button with a menu; its actions serve as a context menu too.

    Parameters
    ----------
    current
        What there is to take out at present; None for nothing.

    Signals
    -------
    said
        Carries a sentence about what was done, or why not.
    """

    said = Signal(str)

    def __init__(self, current: Callable[[], Exportable | None], numbers: bool, parent: QWidget) -> None:
        super().__init__(parent)
        self._current = current
        self.setProperty("role", "menu")
        self.setText("…")
        self.setAccessibleName("Export")
        self.setToolTip("Copy or save what is drawn")
        self.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        menu = QMenu(self)
        self.setMenu(menu)
        self.copy_picture = self._action(menu, "&Copy picture", "Ctrl+Alt+P", self._copy_picture)
        self.copy_numbers = self._action(menu, "Copy &numbers", "Ctrl+Alt+N", self._copy_numbers)
        menu.addSeparator()
        self.save_png = self._action(menu, "Save picture as &PNG…", "", partial(self._choose, "png"))
        self.save_svg = self._action(menu, "Save picture as &SVG…", "", partial(self._choose, "svg"))
        self.save_csv = self._action(menu, "Save numbers as CS&V…", "", partial(self._choose, "csv"))
        for action in (self.copy_numbers, self.save_csv):
            action.setVisible(numbers)

    @property
    def actions_for_menu(self) -> list[QAction]:
        """For a context menu."""
        menu = self.menu()
        assert menu is not None
        return [action for action in menu.actions() if action.isVisible()]

    def _action(self, menu: QMenu, text: str, keys: str, slot: Callable[[], object]) -> QAction:
        action = QAction(text, self)
        if keys:
            action.setShortcut(QKeySequence(keys))
            action.setShortcutContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
            page = self.parentWidget()
            assert page is not None
            page.addAction(action)  # so that the keys work wherever the page has the focus
        action.triggered.connect(slot)
        menu.addAction(action)
        return action

    def _copy_picture(self) -> None:
        if (shown := self._current()) is None:
            self.said.emit("There is no picture to copy")
            return
        QGuiApplication.clipboard().setPixmap(_pixmap(shown.widget))
        self.said.emit("copied the picture")

    def _copy_numbers(self) -> None:
        shown = self._current()
        if shown is None or shown.numbers is None:
            self.said.emit("There are no numbers to copy")
            return
        QGuiApplication.clipboard().setText(shown.numbers("\t"))
        self.said.emit("copied the numbers")

    def _choose(self, kind: str) -> None:
        """Ask where to, and write there."""
        shown = self._current()
        if shown is None or (kind == "csv" and shown.numbers is None):
            self.said.emit("There is nothing to save")
            return
        dialog = QFileDialog(self.window(), "Save")
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setNameFilter(f"{kind.upper()} (*.{kind})")
        dialog.setDefaultSuffix(kind)
        dialog.selectFile(f"{_file_name(shown.name)}.{kind}")
        dialog.fileSelected.connect(partial(self.save, kind))
        dialog.open()

    def save(self, kind: str, name: str) -> None:
        """Write a file of a kind: "png", "svg" or "csv"."""
        shown = self._current()
        if shown is None:
            return
        path = Path(name)
        try:
            if kind == "csv":
                assert shown.numbers is not None
                _write(path, shown.numbers(",").encode())
            else:
                _write(path, png_of(shown.widget) if kind == "png" else svg_of(shown))
        except ViewerError as error:
            self.said.emit(f"⚠ {error}")
        else:
            self.said.emit(f"saved {path.name}")


def png_of(widget: QWidget) -> bytes:
    """The widget as it is drawn, twice as fine."""
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    _pixmap(widget).save(buffer, "PNG")
    return bytes(buffer.data().data())


def svg_of(shown: Exportable) -> bytes:
    """What is drawn, in lines and letters."""
    from PySide6.QtSvg import QSvgGenerator

    buffer = QBuffer()
    generator = QSvgGenerator()
    generator.setOutputDevice(buffer)
    generator.setSize(shown.widget.size())
    generator.setViewBox(shown.widget.rect())
    generator.setTitle(shown.name)
    painter = QPainter(generator)
    if shown.draw is not None:
        shown.draw(painter)
    else:
        shown.widget.render(painter, QPoint(0, 0))
    painter.end()
    return bytes(buffer.data().data())


def _pixmap(widget: QWidget) -> QPixmap:
    pixmap = QPixmap(widget.size() * _SCALE)
    pixmap.setDevicePixelRatio(_SCALE)
    pixmap.fill(widget.palette().base().color())
    widget.render(pixmap, QPoint(0, 0))
    return pixmap


def _write(path: Path, content: bytes) -> None:
    """All of it, or nothing: a file that was there stays until the new one is complete."""
    file = QSaveFile(str(path))
    if not (
        file.open(QIODevice.OpenModeFlag.WriteOnly)
        and file.write(QByteArray(content)) == len(content)
        and file.commit()
    ):
        raise ViewerError(
            f"cannot be written ({file.errorString()})", path=path, advice="Choose another folder or name"
        )


def _file_name(name: str) -> str:
    """A name for a file from the path of a tensor."""
    kept = "".join(c if c.isalnum() or c in "._-" else "-" for c in name)
    return kept.strip("-.")[-100:] or "picture"
