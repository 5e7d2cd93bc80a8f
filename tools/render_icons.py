"""Render the icon of the program in the sizes that desktops want: resources/icons/app/. Run it after a change."""

from __future__ import annotations

import os
import sys
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QGuiApplication, QImage, QPainter
from PySide6.QtSvg import QSvgRenderer

ROOT = Path(__file__).resolve().parents[1]
SIZES = (16, 22, 24, 32, 48, 64, 128, 256, 512)
ICO_SIZE = 256


def render(renderer: QSvgRenderer, size: int) -> QImage:
    image = QImage(size, size, QImage.Format.Format_ARGB32_Premultiplied)
    image.fill(Qt.GlobalColor.transparent)
    painter = QPainter(image)
    renderer.render(painter, QRectF(0, 0, size, size))
    painter.end()
    return image


def main() -> int:
    application = QGuiApplication(sys.argv)
    folder = ROOT / "resources" / "icons" / "app"
    folder.mkdir(exist_ok=True)
    renderer = QSvgRenderer(str(folder.parent / "checkpoint-viewer.svg"))
    for size in SIZES:
        render(renderer, size).save(str(folder / f"{size}.png"))
    render(renderer, ICO_SIZE).save(str(folder / "checkpoint-viewer.ico"))
    application.quit()
    return 0


if __name__ == "__main__":
    sys.exit(main())
