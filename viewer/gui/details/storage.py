"""The Storage page: where the bytes of a tensor lie, how it looks into them, and who else does."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.tensors import TensorRef
from viewer.gui.details.cell_table import CellTable
from viewer.gui.details.facts import extra_facts, storage_facts, tensor_problem, usage, view_facts
from viewer.gui.details.node_list import NodeList
from viewer.gui.details.page import Page, WordsLabel
from viewer.gui.details.subtree import sharing_task
from viewer.gui.details.usage_bar import UsageBar
from viewer.gui.format import format_count
from viewer.gui.slices import SliceRunner
from viewer.gui.theme import Theme


class StoragePage(Page):
    """Facts from the columns; nothing is asked of the engine.

    Signals
    -------
    node_requested
        Carries the number of a node that the person wants to see.
    """

    node_requested = Signal(object)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._runner = SliceRunner(self)
        self._checkpoint: Checkpoint | None = None
        self._node: int | None = None
        self._sought: tuple[int, int] | None = None

        self.problem = WordsLabel(theme, "error", self.body)
        self.view = CellTable(theme, "How the tensor looks into its storage", self.body)
        self.usage = WordsLabel(theme, "text", self.body)
        self.bar = UsageBar(theme, self.body)
        self.storage = CellTable(theme, "Where the storage lies", self.body)
        self.sharing_words = WordsLabel(theme, "muted", self.body)
        self.sharing = NodeList(theme, "Tensors in the same storage", self.body)

        self.column.addWidget(self.problem)
        self.section("View")
        self.column.addWidget(self.view)
        self._storage_head = self.section("Storage")
        self.column.addWidget(self.usage)
        self.column.addWidget(self.bar)
        self.column.addWidget(self.storage)
        self._sharing_head = self.section("Shared with")
        self.column.addWidget(self.sharing_words)
        self.column.addWidget(self.sharing)
        self.column.addStretch(1)
        self.sharing.node_requested.connect(self.node_requested)

    def show_tensor(self, checkpoint: Checkpoint, node: int, tensor: TensorRef) -> None:
        """Show the facts; who shares the storage is looked up once the page is looked at."""
        self._runner.stop()
        self._checkpoint, self._node, self._sought = checkpoint, node, None
        problem = tensor_problem(tensor)
        self.problem.show_words("" if problem is None else f"✕ {problem}")
        self.view.show_facts(view_facts(tensor) + extra_facts(tensor))
        storage = tensor.storage
        n_parts = checkpoint.nodes.n_children[node]
        for widget in (self._storage_head, self.usage, self.bar, self.storage, self._sharing_head):
            widget.setVisible(storage is not None)
        self.sharing.hide()
        self.sharing.show_nodes(None, ())
        none = "This tensor has no storage of its own." + (" Its parts stand below it." if n_parts else "")
        self.sharing_words.show_words(none if storage is None else "looking …")
        if storage is not None:
            used = usage(tensor)
            assert used is not None
            self.usage.show_words(str(used))
            self.bar.show_fraction(used.fraction, str(used))
            self.storage.show_facts(storage_facts(checkpoint, storage))
        if self.isVisible():
            self.seek_sharing()

    def clear(self) -> None:
        """Show no tensor."""
        self._runner.stop()
        self._checkpoint = self._node = None

    def seek_sharing(self) -> None:
        """Look for the other tensors in the storage; does nothing the second time."""
        if self._checkpoint is None or self._node is None or self._sought is not None:
            return
        self._sought = (id(self._checkpoint), self._node)
        self._runner.start(sharing_task(self._checkpoint, self._node), self._found)

    def _found(self, nodes: list[int]) -> None:
        if self._checkpoint is None or self._storage_head.isHidden():
            return
        if nodes:
            tensors = "one other entry lies" if len(nodes) == 1 else f"{format_count(len(nodes))} other entries lie"
            self.sharing_words.show_words(f"{tensors} in this storage:")
            self.sharing.show_nodes(self._checkpoint, nodes)
        else:
            self.sharing_words.show_words("no other tensor lies in this storage")
        self.sharing.setVisible(bool(nodes))
