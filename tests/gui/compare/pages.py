"""Comparisons in their tabs, over a real engine."""

from __future__ import annotations

from pathlib import Path

from pytestqt.qtbot import QtBot

from viewer.gui.compare.cells import Column
from viewer.gui.compare.page import ComparePage
from viewer.gui.compare.session import Side
from viewer.gui.engine_bridge import EngineBridge
from viewer.gui.theme import Theme
from viewer.gui.tree.display import DisplayOptions

PATIENCE_MS = 60_000


def no_choices() -> list[tuple[str, Path]]:
    return []


def make_page(qtbot: QtBot, bridge: EngineBridge, theme: Theme, a: Side, b: Side) -> ComparePage:
    """A page that is shown and not started."""
    page = ComparePage(bridge, theme, a, b, no_choices, DisplayOptions())
    qtbot.addWidget(page)
    page.resize(1200, 800)
    page.show()
    return page


def compared(qtbot: QtBot, bridge: EngineBridge, theme: Theme, a: Side, b: Side) -> ComparePage:
    """A page whose comparison is complete."""
    page = make_page(qtbot, bridge, theme, a, b)
    with qtbot.waitSignal(page.finished, timeout=PATIENCE_MS):
        page.start()
    return page


def cells(page: ComparePage, column: Column) -> list[str]:
    """A column of the outermost entries."""
    model = page.tree.model
    return [model.index(row, column).data() for row in range(model.rowCount())]


def verdicts(page: ComparePage) -> dict[str, str]:
    """Of the outermost entries, by name."""
    return dict(zip(cells(page, Column.NAME), cells(page, Column.VERDICT), strict=True))


def go_to(page: ComparePage, path: str) -> None:
    """Make the row at a path current."""
    comparison = page.comparison
    assert comparison is not None
    rows = range(len(comparison.rows))
    page.tree.go_to_row(next(row for row in rows if path in (comparison.path_a(row), comparison.path_b(row))))
