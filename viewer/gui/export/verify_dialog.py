"""File > Verify: is the file sound, and is it canonical?"""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QDialogButtonBox, QLabel, QVBoxLayout, QWidget

from viewer.engine.export_requests import Verify
from viewer.errors import Cancelled, ViewerError
from viewer.export.verify_results import VerifyReport
from viewer.gui.details.cell_table import CellTable
from viewer.gui.details.page import WordsLabel
from viewer.gui.dialogs import without_icons
from viewer.gui.engine_bridge import EngineBridge
from viewer.gui.export.job_dialog import JobDialog
from viewer.gui.export.names import ContentNames
from viewer.gui.export.parts import HashLine, ListingPage
from viewer.gui.export.rows import (
    FINITE_HEADS,
    canonical_words,
    verify_facts,
    verify_listings,
    verify_verdict,
)
from viewer.gui.theme import Theme

_MOST_POINTS: Final = 30


class VerifyDialog(JobDialog):
    """Checks one document's files, and shows what was found.

    Signals
    -------
    path_requested
        Carries a path of the document that the person wants to see.
    """

    path_requested = Signal(str)

    def __init__(
        self,
        bridge: EngineBridge,
        theme: Theme,
        document: int,
        name: str,
        names: ContentNames,
        parent: QWidget,
    ) -> None:
        super().__init__(bridge, theme, f"Verify {name}", parent)
        self._document = document
        self._names = names
        self.report: VerifyReport | None = None
        self.verdict = QLabel(self)
        self.verdict.setProperty("role", "title")
        self.verdict.setContentsMargins(3, 0, 0, 0)
        self.why = WordsLabel(theme, "muted", self)
        self.found = ListingPage(theme, self)
        self.found.path_requested.connect(self.path_requested)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close, self)
        self.again = buttons.addButton("Verify again", QDialogButtonBox.ButtonRole.ActionRole)
        self.again.clicked.connect(self.start)
        buttons.rejected.connect(self.reject)
        column = QVBoxLayout(self)
        column.setContentsMargins(16, 16, 16, 16)
        column.setSpacing(8)
        for widget in (self.verdict, self.why, self.running):
            column.addWidget(widget)
        column.addWidget(self.found, 1)
        column.addWidget(without_icons(buttons))
        self.resize(820, 600)
        theme.changed.connect(self._color_verdict)
        self.start()

    def renew(self, document: int) -> None:
        """The file was read again: check what is there now when asked."""
        self._document = document

    @Slot()
    def start(self) -> None:
        """Check the file."""
        if self.is_running:
            return
        self.report = None
        self.found.clear()
        self.again.setEnabled(False)
        self._say("", "Reading every byte …", "")
        self.run(Verify(self._document), "Verifying", self._take, self._fail)

    def _take(self, report: VerifyReport) -> None:
        self.report = report
        self.again.setEnabled(True)
        kind, verdict, why = verify_verdict(report)
        self._say(kind, ("✓ " if kind == "ok" else "✗ ") + verdict, why)
        listings = verify_listings(report)
        for listing in listings:
            if listing.title.startswith("Faults"):
                self.found.add_listing(listing)
        facts = CellTable(self._theme, "What was checked", self.found.body)
        facts.show_facts(verify_facts(report))
        self.found.add_title("What was checked")
        self.found.add(facts)
        for listing in listings:
            if not listing.title.startswith("Faults"):
                self.found.add_listing(listing, FINITE_HEADS if listing.title.startswith("Not finite") else ())
        self.found.add_title("Is it in the canonical form?")
        self.found.add_words(canonical_words(report), "ok" if report.canonical else "text")
        points = report.deviations[:_MOST_POINTS]
        if len(report.deviations) > _MOST_POINTS:
            points.append(f"… and {len(report.deviations) - _MOST_POINTS:,} more points")
        if points:
            self.found.add_words("\n".join(f"•  {point}" for point in points))
        for title, sha256 in (("SHA-256 of the file", report.sha256), ("Content name (SHA-256)", report.digest)):
            if sha256:
                self.found.add_title(title)
                line = HashLine(self._theme, title, self.found.body)
                line.show_hash(sha256)
                self.found.add(line)
        if report.digest:
            self._names.add(self._document, report.digest)

    def _fail(self, error: ViewerError) -> None:
        self.again.setEnabled(True)
        if isinstance(error, Cancelled):
            self._say("", "Cancelled", "Nothing is known of the file.")
        else:
            self._say("error", "Not verified", str(error))

    def _say(self, kind: str, verdict: str, why: str) -> None:
        self._kind = kind
        self.verdict.setText(verdict)
        self.why.show_words(why)
        self._color_verdict()

    @Slot()
    def _color_verdict(self) -> None:
        palette = self.verdict.palette()
        palette.setColor(self.verdict.foregroundRole(), self._theme.color(self._kind or "text"))
        self.verdict.setPalette(palette)
