"""The selection of the tree, which stays small enough for Qt."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import QItemSelection, QItemSelectionModel, QModelIndex, QPersistentModelIndex

from viewer.gui.override import override

MAX_RANGES: Final = 100
"""Runs of siblings that a selection may have. What Qt does with them takes the square of their number: 12,000, as
Shift and End in a tree of experts give, take it 18 s; more than a dozen tensors are of no use together anyway."""


class BoundedSelection(QItemSelectionModel):
    """Takes the first ranges of a selection that has too many."""

    @override
    def select(
        self,
        chosen: QItemSelection | QModelIndex | QPersistentModelIndex,
        command: QItemSelectionModel.SelectionFlag,
    ) -> None:
        if isinstance(chosen, QItemSelection) and chosen.count() > MAX_RANGES:
            first = QItemSelection()
            for number in range(MAX_RANGES):
                first.append(chosen.at(number))
            chosen = first
        super().select(chosen, command)
