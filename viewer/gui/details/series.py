"""How several curves are told apart: a colour each, and another stroke where the colours come again."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QPen

from viewer.gui.theme import Theme

_HUES: Final = (218, 27, 145, 330, 50, 268)
"""Blue, orange, green, pink, yellow, violet: neighbours differ in lightness too, for eyes that see few hues."""
_LIGHTNESS: Final = {"light": (128, 112, 82, 128, 100, 150), "dark": (180, 160, 150, 185, 150, 195)}


def series_color(theme: Theme, place: int) -> QColor:
    """The colour of the curve with this number."""
    number = place % len(_HUES)
    lightness = _LIGHTNESS["dark" if theme.tokens.name == "dark" else "light"][number]
    return QColor.fromHsl(_HUES[number], 190, lightness)


def series_pen(theme: Theme, place: int, width: float = 1.5) -> QPen:
    """Lines for the first six, dashes for those that have their colours again."""
    dashed = place >= len(_HUES)
    pen = QPen(series_color(theme, place), width, Qt.PenStyle.DashLine if dashed else Qt.PenStyle.SolidLine)
    pen.setCosmetic(True)
    pen.setCapStyle(Qt.PenCapStyle.FlatCap)
    return pen
