"""Elements of a slice in blocks: fetched where the table is looking, kept while there is room."""

from __future__ import annotations

from collections import OrderedDict
from typing import Final, TypeAlias

from PySide6.QtCore import QObject, Signal

from viewer.engine.values_requests import ReadSlice
from viewer.errors import Cancelled, ViewerError
from viewer.gui.details.latest import Latest
from viewer.gui.engine_bridge import EngineBridge
from viewer.tensors.results import Scalar
from viewer.tensors.slice_results import SliceAxes, ValueBlock

BLOCK_ROWS: Final = 128
BLOCK_COLUMNS: Final = 32
"""A block is some screens high and wide, so that scrolling by a little asks for nothing."""
_KEPT: Final = 512
"""Blocks: 16 MB of float64 with their bits."""

_Key: TypeAlias = tuple[int, int]


class ValueBlocks(QObject):
    """The elements of one slice, as far as they are known.

    Signals
    -------
    arrived
        Carries the ValueBlock that came.
    failed
        Carries the ViewerError of a block that could not be read. It is asked for again with the next `look_at`.
    """

    arrived = Signal(object)
    failed = Signal(object)

    def __init__(self, bridge: EngineBridge, parent: QObject) -> None:
        super().__init__(parent)
        self._latest = Latest(bridge, self)
        self._kept: OrderedDict[_Key, ValueBlock] = OrderedDict()
        self._document = -1
        self._tensor = -1
        self._axes: SliceAxes | None = None
        self._extent = (0, 0)
        self._looked_at: list[_Key] = []

    def turn_to(self, document: int, tensor: int, axes: SliceAxes | None, rows: int = 0, columns: int = 0) -> None:
        """Another slice; None for none. What was being read is of no use any more."""
        self._latest.stop()
        self._kept.clear()
        self._looked_at = []
        self._document, self._tensor, self._axes = document, tensor, axes
        self._extent = (rows, columns)

    def step_to(self, axes: SliceAxes) -> None:
        """The same axes at other indexes. What is being read ends first: it is soon there, and sliders ask often."""
        self._axes = axes
        self._kept.clear()
        self._ask_next()

    def look_at(self, rows: range, columns: range) -> None:
        """Fetch what is not known of a part of the slice, block after block; what was looked at before is not."""
        if not rows or not columns:
            self._looked_at = []
            return
        keys = [
            (row, column)
            for row in range(rows.start // BLOCK_ROWS, (rows.stop - 1) // BLOCK_ROWS + 1)
            for column in range(columns.start // BLOCK_COLUMNS, (columns.stop - 1) // BLOCK_COLUMNS + 1)
        ]
        self._looked_at = keys
        self._ask_next()

    def block_at(self, row: int, column: int) -> ValueBlock | None:
        """The block that holds an element, where it is known."""
        return self._kept.get((row // BLOCK_ROWS, column // BLOCK_COLUMNS))

    def value(self, row: int, column: int) -> Scalar | None:
        """An element, where it is known."""
        block = self.block_at(row, column)
        return None if block is None else block.value(row, column)

    def _ask_next(self) -> None:
        missing = next((key for key in self._looked_at if key not in self._kept), None)
        if missing is None or self._axes is None or self._latest.is_busy:
            return
        row, column = missing
        axes = self._axes
        request = ReadSlice(
            self._document,
            self._tensor,
            axes,
            row * BLOCK_ROWS,
            BLOCK_ROWS,
            column * BLOCK_COLUMNS,
            BLOCK_COLUMNS,
        )
        self._latest.ask(request, self._take, self._fail)

    def _take(self, block: ValueBlock) -> None:
        if block.axes == self._axes:
            key = (block.first_row // BLOCK_ROWS, block.first_column // BLOCK_COLUMNS)
            self._kept[key] = block
            while len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
            self.arrived.emit(block)
        self._ask_next()

    def _fail(self, error: ViewerError) -> None:
        self._looked_at = []
        if not isinstance(error, Cancelled):
            self.failed.emit(error)
