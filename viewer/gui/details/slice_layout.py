"""How a page of slices is laid out: which slice, what to do with it, the slice, and what is told of the element."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from viewer.gui.details.slice_bar import SliceBar


def lay_out(
    page: QWidget, bar: SliceBar, tools: Sequence[QWidget], wide: QWidget, area: QWidget, below: Sequence[QWidget]
) -> None:
    """Lay the parts of a page out.

    Parameters
    ----------
    tools
        From left to right; `wide` of them takes the spare width.
    below
        Under the area; the first takes the spare width.
    """
    row = QHBoxLayout()
    row.setSpacing(8)
    for widget in tools:
        row.addWidget(widget, int(widget is wide))
    bar.line.addStretch(1)
    upper = QVBoxLayout()
    upper.setContentsMargins(16, 6, 16, 6)
    upper.setSpacing(6)
    upper.addWidget(bar)
    upper.addLayout(row)
    lower = QHBoxLayout()
    lower.setContentsMargins(16, 4, 16, 6)
    lower.setSpacing(8)
    for position, widget in enumerate(below):
        lower.addWidget(widget, int(position == 0))
    layout = QVBoxLayout(page)
    layout.setContentsMargins(0, 0, 0, 0)
    layout.setSpacing(0)
    layout.addLayout(upper)
    layout.addWidget(area, 1)
    layout.addLayout(lower)
