"""What was written: where, how large, its hash, and what to do with it now."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from viewer.export.options import ExportResult
from viewer.gui.details.elided_label import ElidedLabel
from viewer.gui.details.page import TEXT_INSET
from viewer.gui.export.parts import HashLine, ListingPage
from viewer.gui.export.rows import CAST_HEADS, CAST_OPTIONAL, cast_listing, cast_words, finding_listings
from viewer.gui.format import format_bytes, format_bytes_exact
from viewer.gui.theme import Theme


class ResultView(QWidget):
    """Signals: `open_asked`, `compare_asked`; `path_requested` as in ListingPage."""

    open_asked = Signal()
    compare_asked = Signal()
    path_requested = Signal(str)

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self.title = QLabel(self)
        self.title.setProperty("role", "title")
        self.place = ElidedLabel(Qt.TextElideMode.ElideMiddle, self)
        self.place.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.place.setFont(theme.mono())
        self.amount = QLabel(self)
        self.hash = HashLine(theme, "SHA-256", self)
        self.proof = QLabel("It was read back and compared bit by bit with the source before it took its name.", self)
        self.proof.setWordWrap(True)
        self.proof.setProperty("role", "muted")
        self.open = QPushButton("Open", self)
        self.compare = QPushButton("Compare with source", self)
        self.open.clicked.connect(self.open_asked)
        self.compare.clicked.connect(self.compare_asked)
        self.found = ListingPage(theme, self)
        self.found.path_requested.connect(self.path_requested)
        head = QLabel("SHA-256", self)
        head.setProperty("role", "muted")
        ways = QHBoxLayout()
        ways.setSpacing(8)
        ways.addWidget(self.open)
        ways.addWidget(self.compare)
        ways.addStretch(1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(8)
        for widget in (self.title, self.place, self.amount, head, self.hash, self.proof):
            if widget is not self.hash:
                widget.setContentsMargins(TEXT_INSET, 0, 0, 0)
            column.addWidget(widget)
        column.addLayout(ways)
        column.addSpacing(4)
        column.addWidget(self.found, 1)

    def show_result(self, result: ExportResult) -> None:
        """Show what was written."""
        self.title.setText("✓ Replaced" if result.replaced else "✓ Exported")
        self.place.set_text(str(result.path))
        self.amount.setText(f"{format_bytes(result.nbytes)} ({format_bytes_exact(result.nbytes)})")
        self.hash.show_hash(result.sha256)
        self.found.clear()
        listings = finding_listings(result.plan.findings)
        if words := cast_words(result.casts):
            self.found.add_title("Cast")
            self.found.add_words(words, "text")
            self.found.add_listing(cast_listing(result.casts), CAST_HEADS, CAST_OPTIONAL)
        for listing in listings:
            self.found.add_listing(listing)
        if not listings and not result.casts:
            self.found.add_words("Nothing was left out, changed or separated.")
