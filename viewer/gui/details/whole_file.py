"""Sections of the Overview page about a whole file: what its parts are, where its bytes go, what is unused."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.meaning.results import Recognition
from viewer.errors import ViewerError
from viewer.gui.details.jump_table import JumpTable
from viewer.gui.details.page import SectionLabel, WordsLabel
from viewer.gui.details.whole_facts import WholeFacts
from viewer.gui.details.whole_rows import (
    LABEL_HEADS,
    LARGEST_HEADS,
    SUM_HEADS,
    WASTE_HEADS,
    label_rows,
    largest_rows,
    sum_rows,
    waste_rows,
    waste_words,
)
from viewer.gui.theme import Theme


class Sections(QWidget):
    """Headed tables below each other; one that has nothing to show is hidden with its head.

    Signals
    -------
    node_requested
        Carries the number of a node that the person wants to see.
    """

    node_requested = Signal(object)

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(6)

    def _add_head(self, title: str) -> SectionLabel:
        head = SectionLabel(title, self)
        self._column.addWidget(head)
        return head

    def _add_words(self, token: str) -> WordsLabel:
        words = WordsLabel(self._theme, token, self)
        self._column.addWidget(words)
        return words

    def _add_table(self, name: str) -> JumpTable:
        table = JumpTable(self._theme, name, self)
        table.node_requested.connect(self.node_requested)
        self._column.addWidget(table)
        return table


class RecognisedParts(Sections):
    """What the file and its parts were recognised as, and why."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(theme, parent)
        self.head = self._add_head("What it is")
        self.what = self._add_words("text")
        self.labels = self._add_table("What the parts are")
        self.notes = self._add_words("muted")

    def show_waiting(self) -> None:
        """Nothing is known yet."""
        self.labels.hide()
        self.notes.hide()
        self.what.show_words("looking …")

    def show_failure(self, error: ViewerError) -> None:
        self.show_waiting()
        self.what.show_words(f"It could not be found out: {error}")

    def show_recognition(self, checkpoint: Checkpoint, found: Recognition) -> None:
        rows = label_rows(checkpoint, found)
        nothing = "Neither a model nor an optimizer nor another part was recognised; all of it is in the tree."
        self.what.show_words(found.what or ("" if rows else nothing))
        self.labels.setVisible(bool(rows))
        self.labels.show_jumps(rows, LABEL_HEADS)
        self.notes.show_words("\n".join(found.notes))


class WholeFile(Sections):
    """Where the bytes of a file go."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(theme, parent)
        self.parts_head = self._add_head("By part")
        self.parts = self._add_table("Bytes by part")
        self.devices_head = self._add_head("By device that it was saved on")
        self.devices = self._add_table("Bytes by device")
        self.largest_head = self._add_head("Largest tensors")
        self.largest = self._add_table("Largest tensors")
        self.waste_head = self._add_head("Unused bytes in storages")
        self.waste_words = self._add_words("muted")
        self.waste = self._add_table("Storages with unused bytes")

    def show_facts(self, checkpoint: Checkpoint, facts: WholeFacts) -> None:
        place = checkpoint.path_of(facts.part_of)
        self.parts_head.setText(f"By part of {place}" if place else "By part")
        self.parts.show_jumps(sum_rows(facts.parts, facts.nbytes), ("part", *SUM_HEADS))
        self.devices.show_jumps(sum_rows(facts.devices, facts.nbytes), ("device", *SUM_HEADS))
        self.largest.show_jumps(largest_rows(checkpoint, facts), LARGEST_HEADS, optional=(1,))
        self.waste_words.show_words(waste_words(facts))
        self.waste.show_jumps(waste_rows(checkpoint, facts), WASTE_HEADS)
        for widgets, shown in (
            ((self.parts_head, self.parts), len(facts.parts) > 1),
            ((self.devices_head, self.devices), bool(facts.devices)),
            ((self.largest_head, self.largest), len(facts.largest) > 1),
            ((self.waste_head,), bool(facts.tensors)),
            ((self.waste,), bool(facts.wasteful)),
        ):
            for widget in widgets:
                widget.setVisible(shown)
