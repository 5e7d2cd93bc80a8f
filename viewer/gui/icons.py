"""Icons: one-colour SVG files, tinted with the theme's text colour when they are drawn for the first time."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QSize
from PySide6.QtGui import QIcon, QImageReader, QPixmap

from viewer.gui.theme import Tokens
from viewer.resources import resource_path

_SIDE: Final = 16
_SCALES: Final = (1, 2, 3)
"""Device pixel ratios to have ready; Qt scales down from the next larger one for those between."""


class IconSet:
    """The icons in one theme's colours; made on demand and kept."""

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens
        self._made: dict[tuple[str, str], QIcon] = {}

    def icon(self, name: str, colour: str = "text") -> QIcon:
        """The icon in resources/icons/`name`.svg, in the colour `colour`, paler where it is disabled."""
        found = self._made.get((name, colour))
        if found is None:
            found = QIcon()
            for mode, color in ((QIcon.Mode.Normal, colour), (QIcon.Mode.Disabled, "faint")):
                for scale in _SCALES:
                    found.addPixmap(tinted(name, getattr(self._tokens, color), _SIDE, scale), mode)
            self._made[name, colour] = found
        return found


def tinted(name: str, color: str, side: int, scale: float = 1) -> QPixmap:
    """The icon as a square pixmap of `side` logical pixels in the colour "#rrggbb"."""
    drawing = resource_path(f"icons/{name}.svg").read_bytes().replace(b"currentColor", color.encode())
    buffer = QBuffer()
    buffer.setData(QByteArray(drawing))
    buffer.open(QIODevice.OpenModeFlag.ReadOnly)
    reader = QImageReader(buffer, QByteArray(b"svg"))
    pixels = round(side * scale)
    reader.setScaledSize(QSize(pixels, pixels))
    pixmap = QPixmap.fromImage(reader.read())
    pixmap.setDevicePixelRatio(scale)
    return pixmap
