"""What the engine recognised in a document: asked once, for all parts of the window that show it."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal

from viewer.checkpoint.meaning.results import Recognition
from viewer.engine.meaning_requests import Recognise
from viewer.errors import ViewerError
from viewer.gui.engine_bridge import EngineBridge


class RecognitionStore(QObject):
    """The Recognition of one document at a time. Its maker says which; the parts that show it listen.

    Signals
    -------
    changed
        The recognition is there, or there is none (any more): look at `recognition` and `failure`.
    """

    changed = Signal()

    def __init__(self, bridge: EngineBridge, parent: QObject) -> None:
        super().__init__(parent)
        self._bridge = bridge
        self._document: int | None = None
        self._recognition: Recognition | None = None
        self._failure: ViewerError | None = None

    @property
    def document(self) -> int | None:
        """The engine's number of the document that was asked about last."""
        return self._document

    @property
    def recognition(self) -> Recognition | None:
        """What the parts of the document are; None until it is known."""
        return self._recognition

    @property
    def failure(self) -> ViewerError | None:
        """Why it is not known; None while it is being asked, and where it is known."""
        return self._failure

    def ask(self, document: int) -> None:
        """Turn to a document: what was known of another, or of this one before, is forgotten, and asked anew."""
        self._document = document
        self._recognition = self._failure = None
        self.changed.emit()
        self._bridge.submit(
            Recognise(document),
            owner=self,
            on_result=self._take,
            on_failure=self._fail,
            supersede="recognise",
        )

    def release(self) -> None:
        """Ask no more: the document is being closed."""
        self._bridge.release(self)

    def _take(self, found: object) -> None:
        assert isinstance(found, Recognition)
        self._recognition = found
        self.changed.emit()

    def _fail(self, error: ViewerError) -> None:
        self._failure = error
        self.changed.emit()
