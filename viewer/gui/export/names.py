"""The names of contents (SHA-256 of the canonical form) that are known so far."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal


class ContentNames(QObject):
    """Names by the engine's number of a document. A file that was read again has another number.

    Signals
    -------
    changed
        One more is known.
    """

    changed = Signal()

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._names: dict[int, str] = {}

    def of(self, document: int | None) -> str:
        """The name of a document's content; "" while it is not known."""
        return "" if document is None else self._names.get(document, "")

    def add(self, document: int, sha256: str) -> None:
        """Note a name."""
        self._names[document] = sha256
        self.changed.emit()
