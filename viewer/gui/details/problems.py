"""Problems first: the tensors of a file whose values deserve a look, as far as a scan has found them."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Final

from PySide6.QtCore import Qt, QTimer, Signal, Slot
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QWidget

from viewer.checkpoint.document import Checkpoint
from viewer.gui.details.cell import Cell
from viewer.gui.details.jump_table import JumpRow
from viewer.gui.details.whole_file import Sections
from viewer.gui.format import format_bytes, format_count
from viewer.gui.scan import ScanState, ScanStore
from viewer.gui.scan_troubles import WORDS, Trouble, trouble_words
from viewer.gui.theme import Theme
from viewer.report.wording import printable

MOST_ROWS: Final = 100
"""Of the list; the tree's filter shows all."""
_REFRESH_MS: Final = 500
_GRAVE: Final = Trouble.NAN | Trouble.INF | Trouble.UNREADABLE
HEADS: Final = ("tensor", "", "what was found")


def summary_words(store: ScanStore) -> str:
    """How the values of the file are, in a sentence, as far as they are scanned."""
    n_seen = len(store.rows)
    if store.state is ScanState.NONE:
        return "The values are not scanned yet, so NaN, infinities, zeros and dead units are not known."
    done = store.state is ScanState.DONE
    seen = f"{format_count(n_seen)} {'tensor' if n_seen == 1 else 'tensors'}"
    so_far = f"{format_count(n_seen)} of {format_count(store.n_tensors)} tensors"
    if not store.troubled:
        found = f"✓ No problems found in {seen}." if done else f"No problems so far in {so_far}."
    else:
        kinds = ", ".join(
            f"{format_count(store.counts[kind])} {WORDS[kind]}" for kind in Trouble if store.counts[kind]
        )
        n = len(store.troubled)
        sign = "⚠ " if any(store.counts[kind] for kind in Trouble if kind & _GRAVE) else ""
        look = f"{'deserves' if n == 1 else 'deserve'} a look"
        among = f"of {seen} {look}" if done else f"{look} so far, in {so_far}"
        found = f"{sign}{format_count(n)} {among}: {kinds}."
    if store.state is ScanState.STOPPED:
        return f"The scan was stopped. {found}"
    if store.failure is not None:
        return f"The scan failed: {store.failure}. {found}"
    return found


def problem_rows(checkpoint: Checkpoint, store: ScanStore, node_of: Mapping[int, int]) -> list[JumpRow]:
    """The tensors that deserve a look, the worst kinds first, each kind in the order of the scan."""
    ordered = ((kind, number) for kind in Trouble for number in store.by_worst[kind])
    rows = []
    for kind, number in islice(ordered, MOST_ROWS):
        node = node_of.get(number, -1)
        path = checkpoint.path_of(node) if node >= 0 else ""
        name = path or (printable(checkpoint.path.name) if node >= 0 else f"tensor {number}")
        words = trouble_words(store.rows[number])
        cells = (
            Cell(name, name),
            Cell(WORDS[kind], plain=True),
            Cell(("⚠ " if kind & _GRAVE else "") + words, words, plain=True, muted=not kind & _GRAVE),
        )
        rows.append(JumpRow(cells, node if node >= 0 else None))
    return rows


class ProblemsSection(Sections):
    """The list, or why there is none.

    Signals
    -------
    scan_asked
        The person wants the values scanned.
    list_asked
        The person wants to see all of them in the tree.
    """

    scan_asked = Signal()
    list_asked = Signal()

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(theme, parent)
        self._store: ScanStore | None = None
        self._checkpoint: Checkpoint | None = None
        self._node_of: Mapping[int, int] = {}
        self.head = self._add_head("Problems")
        self.words = self._add_words("text")
        self.button = QPushButton(self)
        self.in_tree = QPushButton("Show all of them in the tree", self)
        self.in_tree.setProperty("role", "link")
        self.in_tree.hide()
        line = QHBoxLayout()
        line.setContentsMargins(3, 0, 0, 0)
        line.addWidget(self.button)
        line.addWidget(self.in_tree)
        line.addStretch(1)
        self._column.addLayout(line)
        self.list = self._add_table("Tensors with problems")
        self.list.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self._later = QTimer(self, singleShot=True, interval=_REFRESH_MS)
        self._later.timeout.connect(self._refresh)
        self.button.clicked.connect(self.scan_asked)
        self.in_tree.clicked.connect(self.list_asked)

    def set_scan(self, store: ScanStore) -> None:
        """Show what this store knows; called once."""
        self._store = store
        store.changed.connect(self._refresh)
        store.rows_came.connect(self._soon)

    def show_checkpoint(self, checkpoint: Checkpoint, node_of: Mapping[int, int]) -> None:
        """Turn to a file.

        Parameters
        ----------
        node_of
            By tensor number, the first node that shows it.
        """
        self._checkpoint = checkpoint
        self._node_of = node_of
        self._refresh()

    @Slot(object)
    def _soon(self, _numbers: object) -> None:
        if not self._later.isActive():
            self._later.start()

    @Slot()
    def _refresh(self) -> None:
        store, checkpoint = self._store, self._checkpoint
        if store is None or checkpoint is None:
            return
        self.words.show_words(summary_words(store))
        self.button.setVisible(store.state in (ScanState.NONE, ScanState.STOPPED, ScanState.FAILED))
        size = format_bytes(checkpoint.nbytes)
        self.button.setText(f"Scan all values ({size})" if store.state is ScanState.NONE else "Scan the rest")
        rows = problem_rows(checkpoint, store, self._node_of)
        self.in_tree.setVisible(bool(rows))
        self.list.setVisible(bool(rows))
        self.list.show_jumps(rows, HEADS, optional=(1,))
