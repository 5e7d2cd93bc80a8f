"""Titles inside menus: a style sheet shows those of Qt's sections as lines without words."""

from __future__ import annotations

from PySide6.QtWidgets import QMenu


def add_title(menu: QMenu, text: str) -> None:
    """Add words over the entries that follow, with a line before them where others came first."""
    if menu.actions():
        menu.addSeparator()
    menu.addAction(text).setEnabled(False)
