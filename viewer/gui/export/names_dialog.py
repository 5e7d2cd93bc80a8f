"""The name of a document's content, and which other open documents have the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QDialogButtonBox, QVBoxLayout, QWidget

from viewer.engine.export_requests import NameContent
from viewer.errors import Cancelled, ViewerError
from viewer.export.options import Digest
from viewer.gui.details.cell import Cell
from viewer.gui.details.jump_table import JumpRow, JumpTable
from viewer.gui.details.page import Page, SectionLabel, WordsLabel
from viewer.gui.dialogs import without_icons
from viewer.gui.engine_bridge import EngineBridge
from viewer.gui.export.job_dialog import JobDialog
from viewer.gui.export.names import ContentNames
from viewer.gui.export.parts import HashLine
from viewer.gui.theme import Theme

_WHAT: Final = (
    "The SHA-256 of the file that an export of everything writes. Files with the same name have the same content, "
    "bit by bit, whatever their format, their own names and their bytes."
)
_HEADS: Final = ("document", "content name", "")


@dataclass(frozen=True, slots=True)
class OpenDocument:
    """One open document: its engine's number, and what its tab says."""

    document: int
    title: str


class NamesDialog(JobDialog):
    """Computes the name of one document at once, and those of the others on demand.

    Parameters
    ----------
    documents
        Gives the open documents, the one in front first.
    """

    def __init__(
        self,
        bridge: EngineBridge,
        theme: Theme,
        names: ContentNames,
        documents: Callable[[], Sequence[OpenDocument]],
        parent: QWidget,
    ) -> None:
        self._documents = documents
        self._names = names
        first = documents()[0]
        super().__init__(bridge, theme, f"Content name of {first.title}", parent)
        self._first = first
        self.hash = HashLine(theme, "content name", self)
        what = WordsLabel(theme, "muted", self)
        what.show_words(_WHAT)
        self.same = WordsLabel(theme, "ok", self)
        self.fault = WordsLabel(theme, "error", self)
        self.others = JumpTable(theme, "Other open documents", self)
        self.page = Page(self)
        self.page.column.addWidget(SectionLabel("Other open documents", self.page.body))
        self.page.column.addWidget(self.others)
        self.page.column.addStretch(1)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close, self)
        self.all = buttons.addButton("Name the others, too", QDialogButtonBox.ButtonRole.ActionRole)
        self.all.clicked.connect(self._next)
        buttons.rejected.connect(self.reject)
        column = QVBoxLayout(self)
        column.setContentsMargins(16, 16, 16, 16)
        column.setSpacing(12)
        for widget in (self.hash, what, self.same, self.fault, self.running):
            column.addWidget(widget)
        column.addWidget(self.page, 1)
        column.addWidget(without_icons(buttons))
        self.resize(720, 380)
        names.changed.connect(self._show)
        self._show()
        self._name(first)

    @Slot()
    def _next(self) -> None:
        """Name the first of the others that has no name."""
        for other in self._others():
            if not self._names.of(other.document):
                self._name(other)
                return

    def _name(self, which: OpenDocument) -> None:
        if self._names.of(which.document):
            return

        def named(digest: Digest) -> None:
            self._names.add(which.document, digest.sha256)
            if which.document != self._first.document:
                self._next()

        def failed(error: ViewerError) -> None:
            told = "Cancelled." if isinstance(error, Cancelled) else str(error)
            self.fault.show_words(told)
            self._show()

        self.fault.show_words("")
        self.run(NameContent(which.document), f"Hashing {which.title}"[:60], named, failed)
        self._show()

    def _others(self) -> list[OpenDocument]:
        return [other for other in self._documents() if other.document != self._first.document]

    @Slot()
    def _show(self) -> None:
        mine = self._names.of(self._first.document)
        self.hash.show_hash(mine)
        others = self._others()
        rows = []
        same = []
        for other in others:
            name = self._names.of(other.document)
            is_same = bool(name) and name == mine
            if is_same:
                same.append(other.title)
            said = "the same content" if is_same else "other content" if name and mine else ""
            rows.append(
                JumpRow(
                    (
                        Cell(other.title, other.title),
                        Cell(f"{name[:16]}…" if name else "not computed", name, muted=not name),
                        Cell(said, plain=True),
                    )
                )
            )
        self.others.show_jumps(rows, _HEADS)
        self.page.setVisible(bool(rows))
        self.all.setVisible(any(not self._names.of(other.document) for other in others))
        self.all.setEnabled(not self.is_running)
        self.same.show_words(f"The same content as {', '.join(same)}" if same else "")
