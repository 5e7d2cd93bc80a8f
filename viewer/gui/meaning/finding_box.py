"""One finding of the checks: what was found, where, and what to do about it."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QHBoxLayout, QLabel, QToolButton, QVBoxLayout, QWidget

from viewer.checkpoint.document import Checkpoint
from viewer.checks.results import Finding, Severity
from viewer.gui.details.node_list import NodeList
from viewer.gui.details.page import WordsLabel
from viewer.gui.format import format_count
from viewer.gui.icons import IconSet
from viewer.gui.meaning.wrapped_text import WrappedText
from viewer.gui.theme import Theme

GLYPHS: Final[dict[Severity, str]] = {"error": "✕", "warning": "⚠", "info": "○"}
WORDS: Final[dict[Severity, str]] = {"error": "error", "warning": "warning", "info": "note"}
TOKENS: Final[dict[Severity, str]] = {"error": "error", "warning": "warning", "info": "muted"}


class FindingBox(QWidget):
    """
    Signals
    -------
    node_requested
        Carries the number of a node that the person wants to see.
    """

    node_requested = Signal(object)

    def __init__(self, theme: Theme, checkpoint: Checkpoint, finding: Finding, parent: QWidget) -> None:
        super().__init__(parent)
        self.finding = finding
        self._theme = theme
        severity = finding.severity
        head = WordsLabel(theme, TOKENS[severity], self)
        head.show_words(f"{GLYPHS[severity]} {WORDS[severity]}: {finding.check}")
        message = WrappedText(theme, "text", finding.message.rstrip(".") + ".", self)
        remedy = WrappedText(theme, "muted", f"→ {finding.remedy}", self)
        self.copy = QToolButton(self)
        self.copy.setProperty("role", "flat")
        self.copy.setText("Copy")
        self.copy.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.copy.setIconSize(QSize(14, 14))
        self.copy.setToolTip("Copy the remedy")
        self.copy.setAccessibleName(f"Copy the remedy of {finding.check}")
        self.copy.clicked.connect(self.copy_remedy)
        self.nodes = NodeList(theme, f"Places of {finding.check}", self)
        places = tuple(node for node in finding.nodes if node)  # the root is the file itself
        self.nodes.show_nodes(checkpoint, places)
        self.nodes.setVisible(bool(places))
        self.nodes.node_requested.connect(self.node_requested)
        more = finding.count - len(finding.nodes)
        rest = QLabel(f"… and {format_count(more)} more places", self)
        rest.setProperty("role", "muted")
        rest.setContentsMargins(3, 0, 0, 0)
        rest.setVisible(more > 0 and len(places) > 1)
        line = QHBoxLayout()
        line.setContentsMargins(0, 0, 0, 0)
        line.addWidget(remedy, 1)
        line.addWidget(self.copy, 0, Qt.AlignmentFlag.AlignTop)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 6, 0, 6)
        column.setSpacing(2)
        for widget in (head, message, self.nodes, rest):
            column.addWidget(widget)
        column.addLayout(line)
        theme.changed.connect(self._restyle)
        self._restyle()

    def copy_remedy(self) -> None:
        """Put the remedy on the clipboard."""
        QGuiApplication.clipboard().setText(self.finding.remedy)

    def _restyle(self) -> None:
        self.copy.setIcon(IconSet(self._theme.tokens).icon("copy", "muted"))
