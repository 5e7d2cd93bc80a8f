"""The tabs that a node has by what it was recognised as."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QWidget

from viewer.checkpoint.document import Checkpoint
from viewer.gui.details.tabs import TabPage, TabSpec, TabTools
from viewer.gui.meaning.counterparts import Counterparts
from viewer.gui.meaning.marks import Marks
from viewer.gui.meaning.part_words import TAB_TITLES
from viewer.gui.recognition import RecognitionStore

OPTIMIZER = "Optimizer"
MODEL = "Model"
CHECKS = "Checks"


class Meaning(QObject):
    """What the document means, for its tree and its tabs."""

    def __init__(self, store: RecognitionStore, parent: QObject) -> None:
        super().__init__(parent)
        self._store = store
        self._marks: Marks | None = None

    def marks(self, checkpoint: Checkpoint) -> Marks | None:
        """What the tree shows; None until the document was recognised."""
        recognition = self._store.recognition
        if recognition is None:
            self._marks = None
        elif self._marks is None or self._marks.places.recognition is not recognition:
            self._marks = Marks(checkpoint, recognition)
        return self._marks

    def places(self, checkpoint: Checkpoint) -> Counterparts | None:
        """Which entry belongs to which node; None until the document was recognised."""
        marks = self.marks(checkpoint)
        return None if marks is None else marks.places

    def tabs(self) -> list[TabSpec]:
        """One for each thing that a node may be, in their order."""
        return [
            TabSpec(OPTIMIZER, self._in_optimizer, self._make_optimizer, leads=True),
            TabSpec(MODEL, self._is_model, self._make_model, leads=True),
            *(
                TabSpec(title, partial(self._is_part, kind), self._make_part, leads=True)
                for kind, title in TAB_TITLES.items()
            ),
            TabSpec(CHECKS, _is_root, _make_checks),
        ]

    def _in_optimizer(self, checkpoint: Checkpoint, node: int) -> bool:
        places = self.places(checkpoint)
        return places is not None and places.optimizer_around(node) is not None

    def _is_model(self, checkpoint: Checkpoint, node: int) -> bool:
        places = self.places(checkpoint)
        return places is not None and places.model_at(node) is not None

    def _is_part(self, kind: str, checkpoint: Checkpoint, node: int) -> bool:
        places = self.places(checkpoint)
        part = None if places is None else places.part_at(node)
        return part is not None and part.kind == kind

    def _make_optimizer(self, tools: TabTools, parent: QWidget) -> TabPage:
        from viewer.gui.meaning.optimizer_page import OptimizerPage

        page = OptimizerPage(self, tools.bridge, tools.theme, parent)
        page.node_requested.connect(tools.go_to_node)
        return page

    def _make_model(self, tools: TabTools, parent: QWidget) -> TabPage:
        from viewer.gui.meaning.model_page import ModelPage

        page = ModelPage(self, tools.bridge, tools.theme, parent)
        page.node_requested.connect(tools.go_to_node)
        return page

    def _make_part(self, tools: TabTools, parent: QWidget) -> TabPage:
        from viewer.gui.meaning.part_page import PartPage

        page = PartPage(self, tools.theme, parent)
        page.node_requested.connect(tools.go_to_node)
        return page


def _is_root(_checkpoint: Checkpoint, node: int) -> bool:
    return node == 0


def _make_checks(tools: TabTools, parent: QWidget) -> TabPage:
    from viewer.gui.meaning.checks_page import ChecksPage

    page = ChecksPage(tools.bridge, tools.theme, parent)
    page.node_requested.connect(tools.go_to_node)
    return page
