"""Which 2-D slice of a tensor the Values and the Map page show: one choice for both, so that they show the same."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal

from viewer.tensors.slice_results import SliceAxes, default_axes


class SliceChoice(QObject):
    """Two axes of a tensor, and an index along every other.

    Signals
    -------
    reset
        Another tensor, or other axes: what is shown has other rows and columns.
    stepped
        Another index along an axis that is not shown.
    """

    reset = Signal()
    stepped = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._shape: tuple[int, ...] = ()
        self._row: int | None = None
        self._column: int | None = None
        self._at: list[int] = []
        self._key: object = None

    @property
    def shape(self) -> tuple[int, ...]:
        return self._shape

    @property
    def row_axis(self) -> int | None:
        return self._row

    @property
    def column_axis(self) -> int | None:
        return self._column

    @property
    def other_axes(self) -> list[int]:
        """The axes that are stepped through."""
        return [axis for axis in range(len(self._shape)) if axis not in (self._row, self._column)]

    @property
    def axes(self) -> SliceAxes:
        return SliceAxes(self._row, self._column, tuple(self._at[axis] for axis in self.other_axes))

    @property
    def rows(self) -> int:
        return 1 if self._row is None else self._shape[self._row]

    @property
    def columns(self) -> int:
        return 1 if self._column is None else self._shape[self._column]

    def position(self, axis: int) -> int:
        """The index along an axis that is stepped through."""
        return self._at[axis]

    def show(self, key: object, shape: tuple[int, ...]) -> None:
        """Turn to a tensor; one with the same key keeps the choice."""
        if key == self._key and shape == self._shape:
            return
        self._key = key
        if shape != self._shape:  # tensors of one shape are compared: the same slice of each
            axes = default_axes(shape)
            self._shape, self._row, self._column = shape, axes.row_axis, axes.column_axis
            self._at = [0] * len(shape)
        self.reset.emit()

    def set_axes(self, row: int | None, column: int | None) -> None:
        """Show other axes. An axis that was the other one takes its place."""
        if (row, column) == (self._row, self._column) or (row is not None and row == column):
            return
        self._row, self._column = row, column
        self.reset.emit()

    def choose_row(self, axis: int | None) -> None:
        """Let the rows follow another axis; where the columns did, they follow the one before."""
        self.set_axes(axis, self._row if axis == self._column else self._column)

    def choose_column(self, axis: int | None) -> None:
        self.set_axes(self._column if axis == self._row else self._row, axis)

    def swap(self) -> None:
        """Rows become columns."""
        self.set_axes(self._column, self._row)

    def step(self, axis: int, index: int) -> None:
        """Go to an index along an axis."""
        index = max(0, min(index, self._shape[axis] - 1))
        if index != self._at[axis]:
            self._at[axis] = index
            if axis not in (self._row, self._column):
                self.stepped.emit()

    def go(self, fixed: dict[int, int], row: int | None, column: int | None) -> None:
        """Axes and indexes at once."""
        for axis, index in fixed.items():
            self._at[axis] = max(0, min(index, self._shape[axis] - 1))
        if (row, column) != (self._row, self._column):
            self._row, self._column = row, column
            self.reset.emit()
        else:
            self.stepped.emit()
