"""How the table writes its numbers and shades its cells: one menu, and the style that comes out of it."""

from __future__ import annotations

from typing import Final, cast

from PySide6.QtCore import Signal
from PySide6.QtGui import QAction, QActionGroup
from PySide6.QtWidgets import QMenu, QToolButton, QWidget

from viewer.gui.details.menu_title import add_title
from viewer.gui.details.value_text import DEFAULT_PRECISION, Notation, NumberStyle

_PRECISIONS: Final = (0, 2, 3, DEFAULT_PRECISION, 6, 8, 12, 17)
_NOTATIONS: Final[tuple[tuple[Notation, str], ...]] = (
    ("auto", "Exponent where it is &shorter"),
    ("on", "&Always with an exponent"),
    ("off", "&Never with an exponent"),
)


class ValueOptions(QToolButton):
    """A button with a menu.

    Signals
    -------
    style_changed, shading_changed
        Look at `style` and `shades`.
    """

    style_changed = Signal()
    shading_changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setProperty("role", "menu")
        self.setText("Format")
        self.setToolTip("How numbers are written, and colours behind them")
        self.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        menu = QMenu(self)
        self.setMenu(menu)
        add_title(menu, "Digits after the point")
        self._precision = QActionGroup(self)
        for precision in _PRECISIONS:
            self._choice(self._precision, menu, f"&{precision}" if precision < 10 else str(precision), precision)
        add_title(menu, "Exponent")
        self._notation = QActionGroup(self)
        for notation, text in _NOTATIONS:
            self._choice(self._notation, menu, text, notation)
        add_title(menu, "Colours")
        self.shading = QAction("&Shade by value: blue below zero, red above", menu)
        self.shading.setCheckable(True)
        self.shading.toggled.connect(self.shading_changed)
        menu.addAction(self.shading)
        self.set_style(NumberStyle())
        self._precision.triggered.connect(self.style_changed)
        self._notation.triggered.connect(self.style_changed)

    @property
    def style_chosen(self) -> NumberStyle:
        """How numbers are to be written."""
        precision, notation = self._precision.checkedAction(), self._notation.checkedAction()
        return NumberStyle(int(precision.data()), cast(Notation, notation.data()))

    @property
    def shades(self) -> bool:
        return self.shading.isChecked()

    def set_style(self, style: NumberStyle) -> None:
        """Check what a style has; a precision that is not offered leaves that choice as it is."""
        for group, value in ((self._precision, style.precision), (self._notation, style.notation)):
            for action in group.actions():
                if action.data() == value:
                    action.setChecked(True)

    def _choice(self, group: QActionGroup, menu: QMenu, text: str, value: object) -> None:
        action = QAction(text, menu)
        action.setCheckable(True)
        action.setData(value)
        group.addAction(action)
        menu.addAction(action)
