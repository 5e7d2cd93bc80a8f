"""Below an optimizer's table: the entry that is selected there, with what is derived from its moments."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QWidget

from viewer.engine.meaning_requests import ScaleUpdate
from viewer.errors import ViewerError
from viewer.gui.details.cell_table import CellTable
from viewer.gui.details.elided_label import ElidedLabel
from viewer.gui.details.facts import Fact
from viewer.gui.details.page import TEXT_INSET, Page, WordsLabel
from viewer.gui.engine_bridge import EngineBridge
from viewer.gui.format import NO_VALUE, format_exact, format_number
from viewer.gui.meaning.adam import FORMULA, AdamEntry, adam_entry, spelled
from viewer.gui.meaning.entry_cells import name_tip
from viewer.gui.meaning.entry_rows import EntryRows, fit_words
from viewer.gui.meaning.norms import NormStore
from viewer.gui.theme import Theme
from viewer.tensors.brief import UpdateScale

_UNASKED: Final = 4_000_000
"""Elements that are read without being asked: some tens of milliseconds in the engine."""


class EntryDetails(Page):
    """
    Signals
    -------
    parameter_asked, state_asked
        The person wants to see the parameter, or the state, of the row.
    """

    parameter_asked = Signal()
    state_asked = Signal()

    def __init__(self, bridge: EngineBridge, norms: NormStore, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._bridge = bridge
        self._norms = norms
        self._document = -1
        self._device = "cpu"
        self._rows: EntryRows | None = None
        self._row: int | None = None
        self._adam: AdamEntry | None = None
        self._asked = False  # for the entry that is shown
        self._name = ElidedLabel(Qt.TextElideMode.ElideMiddle, self.body)
        self._name.setFont(theme.mono())
        self._name.setContentsMargins(TEXT_INSET, 0, 0, 0)
        self.parameter = QPushButton("Go to parameter", self.body)
        self.state = QPushButton("Go to optimizer state", self.body)
        self.compute = QPushButton("Compute derived values", self.body)
        for button in (self.parameter, self.state, self.compute):
            button.setProperty("role", "link")
        self.why = WordsLabel(theme, "text", self.body)
        self.facts = CellTable(theme, "Derived from the moments", self.body)
        self._note = WordsLabel(theme, "muted", self.body)
        line = QHBoxLayout()
        line.setSpacing(4)
        line.addWidget(self._name, 1)
        line.addWidget(self.compute)
        line.addWidget(self.parameter)
        line.addWidget(self.state)
        self.column.setContentsMargins(13, 4, 16, 8)
        self.column.setSpacing(2)
        self.column.addLayout(line)
        for widget in (self.why, self.facts, self._note):
            self.column.addWidget(widget)
        self.column.addStretch(1)
        self._theme = theme
        self.parameter.clicked.connect(self.parameter_asked)
        self.state.clicked.connect(self.state_asked)
        self.compute.clicked.connect(self._ask)
        norms.found.connect(self._values_came)
        theme.changed.connect(self._restyle)
        self.hide()

    def set_device(self, name: str) -> None:
        self._device = name

    def show_row(self, document: int, rows: EntryRows | None, row: int | None) -> None:
        """Show one row; None for nothing."""
        self._document, self._rows, self._row = document, rows, row
        self._asked = False
        self._adam = None
        self.setVisible(rows is not None and row is not None)
        if rows is None or row is None:
            return
        name = rows.names[row]
        lead = f"{rows.id_text(row)} · {name}" if rows.id_text(row) != name and rows.is_entry(row) else name
        self._name.set_text(lead)
        self.parameter.setVisible(rows.parameter[row] >= 0)
        self.state.setVisible(rows.state(row) >= 0)
        words = " · ".join(fit_words(rows, row))
        self.why.show_words(words if rows.sure[row] else f"{words}\n{name_tip(rows, row)}")
        self._adam = adam_entry(rows, row)
        self.compute.setVisible(self._adam is not None and self._adam.numel > _UNASKED)
        self._show_scale(None)
        if self._adam is not None and self._adam.numel <= _UNASKED:
            self._ask()

    def _ask(self) -> None:
        """Read what is missing, then have the engine derive."""
        if self._adam is None:
            return
        self._asked = True
        missing = self._adam.missing(self._norms.briefs)
        if missing:
            self._norms.ask_in_sight(missing, place="entry")
            return
        request = self._adam.request(self._document, self._norms.briefs, self._device)
        if request is None:
            self._note.setText("Not derived: the step or a hyperparameter cannot be read as a number.")
            return
        self.compute.hide()
        self._submit(request)

    def _submit(self, request: ScaleUpdate) -> None:
        self._asked = False
        self._bridge.submit(request, owner=self, on_result=self._take, on_failure=self._fail, supersede="scale")

    def _values_came(self) -> None:
        if self._asked and self._adam is not None and not self._adam.missing(self._norms.briefs):
            self._ask()

    def _take(self, found: object) -> None:
        assert isinstance(found, UpdateScale)
        if self._adam is not None:
            self._show_scale(found)

    def _fail(self, error: ViewerError) -> None:
        self._note.setText(f"Not derived: {error.fault}")

    def _show_scale(self, scale: UpdateScale | None) -> None:
        facts: list[Fact] = []
        self._note.setVisible(self._adam is not None)
        self.facts.setVisible(self._adam is not None)
        if self._adam is not None:
            facts = [
                _figure("derived: √v_hat, root mean square", None if scale is None else scale.rms_denominator),
                _figure("derived: effective step, root mean square", None if scale is None else scale.rms),
                _figure("derived: effective step, largest", None if scale is None else scale.largest),
            ]
            told = f"{FORMULA}, not stored in the file" if scale is None else spelled(scale.formula)
            self._note.setText(f"Effective step: {told}. Weight decay is left out.")
        self.facts.show_facts(facts)

    def _restyle(self) -> None:
        self._name.setFont(self._theme.mono())


def _figure(label: str, value: float | None) -> Fact:
    if value is None:
        return Fact(label, NO_VALUE, "not computed")
    return Fact(label, format_number(value), format_exact(value))
