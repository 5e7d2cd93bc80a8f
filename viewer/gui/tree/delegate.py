"""Paints the cells of the tree: badge beside the name, numbers in their face, one value over several columns."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, TypeAlias

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetrics, QPainter, QPen
from PySide6.QtWidgets import QStyledItemDelegate, QStyleOptionViewItem, QTreeView

from viewer.checkpoint.nodes import Kind
from viewer.gui.override import override
from viewer.gui.theme import Theme
from viewer.gui.tree.cells import (
    badge,
    cell,
    is_inferred,
    name_beside,
    name_spans,
    problem_of,
    spans,
)
from viewer.gui.tree.columns import Column
from viewer.gui.tree.mini_histogram import paint_histogram
from viewer.gui.tree.model import TreeModel
from viewer.gui.tree.scan_cells import is_pending, scan_row, warns

_Index: TypeAlias = QModelIndex | QPersistentModelIndex

ROW_HEIGHT: Final = 24
_MARGIN: Final = 8
_BADGE_GAP: Final = 8
_BADGE_PAD: Final = 7
_MIN_BADGE: Final = 34
"""A badge in less room says nothing."""
_MIDDLE: Final = Qt.TextElideMode.ElideMiddle
_LEFT: Final = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
_RIGHT: Final = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
PROBLEM_GLYPH: Final = "⚠ "


class TreeDelegate(QStyledItemDelegate):
    """For views of a TreeModel. Backgrounds are the view's."""

    def __init__(self, theme: Theme, model: TreeModel, view: QTreeView) -> None:
        super().__init__(view)
        self._view = view
        self._theme = theme
        self._model = model
        self.take_theme()

    def take_theme(self) -> None:
        """Take fonts and colours from the theme as it is now."""
        color = self._theme.color
        self._text, self._muted, self._error = color("text"), color("muted"), color("error")
        self._badge_back, self._faint, self._warning = color("raised"), color("faint"), color("warning")
        self._mono = self._theme.mono()
        self._mono_metrics = QFontMetrics(self._mono)
        self._font = QFont(self._theme.interface_font())
        self._metrics = QFontMetrics(self._font)
        self._badge_font = QFont(self._font)
        self._badge_font.setPointSizeF(max(6.0, self._font.pointSizeF() - 1.5))
        self._badge_metrics = QFontMetrics(self._badge_font)
        self.digit_width = self._mono_metrics.horizontalAdvance("0")
        self.row_height = max(ROW_HEIGHT, self._metrics.height() + 6)

    @override
    def sizeHint(self, option: QStyleOptionViewItem, index: _Index) -> QSize:  # noqa: ARG002
        return QSize(80, self.row_height)

    @override
    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: _Index) -> None:
        table, row, column = self._model.table, self._model.row_of(index), index.column()
        rect: QRect = option.rect
        if column <= Column.SHAPE and name_spans(table, row):
            with _clipped(painter, rect):
                self._paint_name(painter, self._name_rect(index, rect, Column.SHAPE), row)
        elif column == Column.NAME:
            self._paint_name(painter, rect, row)
        elif column > Column.SIZE:
            self._paint_scanned(painter, rect, row, column)
        elif column >= Column.SHAPE and spans(table, row):
            with _clipped(painter, rect):
                self._paint_value(painter, self._value_rect(rect), row)
        elif text := cell(table, row, column):
            muted = column == Column.SIZE or spans(table, row)
            elide = Qt.TextElideMode.ElideRight if column == Column.TYPE else _MIDDLE
            self._write(painter, rect, text, self._muted if muted else self._text, elide)

    def _paint_scanned(self, painter: QPainter, rect: QRect, row: int, column: int) -> None:
        table = self._model.table
        found = scan_row(table, row)
        if column == Column.HISTOGRAM and found is not None and found.counts:
            paint_histogram(painter, rect.adjusted(_MARGIN, 3, -_MARGIN, -3), found, self._theme)
        elif text := cell(table, row, column):
            color = self._faint if is_pending(table, row) or text == "0" else self._text
            if warns(table, row, column):
                color = self._warning if found is not None else self._muted
            self._write(painter, rect, text, color)

    def _name_rect(self, index: _Index, cell_rect: QRect, last: Column) -> QRect:
        """From where the name begins to the end of the column `last`."""
        left = self._view.visualRect(self._model.index_at(index.internalId())).left()
        header = self._view.header()
        right = header.sectionViewportPosition(last) + header.sectionSize(last)
        return QRect(left, cell_rect.top(), right - left, cell_rect.height())

    def _value_rect(self, cell_rect: QRect) -> QRect:
        """From SHAPE to SIZE."""
        header = self._view.header()
        left = header.sectionViewportPosition(Column.SHAPE)
        right = header.sectionViewportPosition(Column.SIZE) + header.sectionSize(Column.SIZE)
        return QRect(left, cell_rect.top(), right - left, cell_rect.height())

    def _paint_name(self, painter: QPainter, rect: QRect, row: int) -> None:
        table = self._model.table
        inner = rect.adjusted(_MARGIN if self._model.shape.is_flat else 2, 0, -_MARGIN, 0)
        problem = problem_of(table, row)
        name = (PROBLEM_GLYPH if problem else "") + self._model.name(row)
        text = self._metrics.elidedText(name[:2000], _MIDDLE, inner.width())
        width = self._metrics.horizontalAdvance(text)
        painter.setFont(self._font)
        painter.setPen(self._error if problem else self._text)
        painter.drawText(inner, _LEFT, text)
        if beside := name_beside(table, row):
            left = inner.adjusted(width, 0, 0, 0)
            text = self._metrics.elidedText(f" · {beside}"[:2000], _MIDDLE, left.width())
            painter.setPen(self._muted)
            painter.drawText(left, _LEFT, text)
            width += self._metrics.horizontalAdvance(text)
        words = badge(table, row)
        room = inner.width() - width - _BADGE_GAP
        if words and room >= _MIN_BADGE:
            self._paint_badge(
                painter,
                QRect(inner.left() + width + _BADGE_GAP, inner.top(), room, inner.height()),
                words,
                inferred=is_inferred(table, row),
            )

    def _paint_badge(self, painter: QPainter, room: QRect, words: str, *, inferred: bool) -> None:
        """A filled pill; an outline of dashes where the words are an inference."""
        text = self._badge_metrics.elidedText(words, Qt.TextElideMode.ElideRight, room.width() - 2 * _BADGE_PAD)
        height = self._badge_metrics.height() + 2
        width = self._badge_metrics.horizontalAdvance(text) + 2 * _BADGE_PAD
        pill = QRect(room.left(), room.center().y() - height // 2 + 1, width, height)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(self._faint, 1, Qt.PenStyle.DashLine) if inferred else Qt.PenStyle.NoPen)
        painter.setBrush(Qt.BrushStyle.NoBrush if inferred else self._badge_back)
        painter.drawRoundedRect(pill, height / 2, height / 2)
        painter.setPen(self._muted)
        painter.setFont(self._badge_font)
        painter.drawText(pill, Qt.AlignmentFlag.AlignCenter, text)
        painter.restore()

    def _paint_value(self, painter: QPainter, rect: QRect, row: int) -> None:
        table = self._model.table
        color = self._error if table.kind(row) == Kind.PROBLEM else self._muted
        self._write(painter, rect, cell(table, row, Column.SIZE), color)

    def _write(
        self, painter: QPainter, rect: QRect, text: str, color: QColor, elide: Qt.TextElideMode = _MIDDLE
    ) -> None:
        inner = rect.adjusted(_MARGIN, 0, -_MARGIN, 0)
        painter.setFont(self._mono)
        painter.setPen(color)
        painter.drawText(inner, _RIGHT, self._mono_metrics.elidedText(text, elide, inner.width()))


@contextmanager
def _clipped(painter: QPainter, rect: QRect) -> Iterator[None]:
    """What reaches over several cells is painted by each of them, cut to its own: Qt paints only the cells that have
    changed, and gives each a background of its own first."""
    painter.save()
    painter.setClipRect(rect, Qt.ClipOperation.IntersectClip)
    yield
    painter.restore()
