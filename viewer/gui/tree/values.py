"""What the tree shows of a scan: its columns, the choice of what deserves a look, the order, and a line below."""

from __future__ import annotations

from functools import partial
from typing import Final

from PySide6.QtCore import QObject, QTimer, Signal, Slot
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QLabel, QMenu, QPushButton, QWidget

from viewer.gui.format import format_count
from viewer.gui.scan import ScanState, ScanStore
from viewer.gui.scan_troubles import ANY_TROUBLE, WORDS, Trouble
from viewer.gui.tree.columns import SCANNED, TITLES, Column
from viewer.gui.tree.filter import Shape
from viewer.gui.tree.model import TreeModel
from viewer.gui.tree.order import Order, next_order
from viewer.gui.tree.view import TreeView

ANY_VALUES: Final = "any values"
_REFRESH_MS: Final = 1_000
"""How often a filter by values and an order look again while a scan runs: each time rows move about."""
_BUTTONS: Final = {ScanState.RUNNING: "Stop", ScanState.STOPPED: "Go on", ScanState.FAILED: "Try again"}


class FootLine(QWidget):
    """A line of words below the tree with at most one button; hidden while there is nothing to say."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._label = QLabel(self)
        self._label.setProperty("role", "muted")
        self._label.setWordWrap(True)
        self.button = QPushButton(self)
        self.button.setProperty("role", "link")
        line = QHBoxLayout(self)
        line.setContentsMargins(8, 3, 8, 3)
        line.addWidget(self._label, 1)
        line.addWidget(self.button)
        self.hide()

    @property
    def text(self) -> str:
        return "" if self.isHidden() else self._label.text()

    def show_words(self, text: str, button: str = "") -> None:
        self._label.setText(text)
        self.button.setText(button)
        self.button.setVisible(bool(button))
        self.setVisible(bool(text))


class TreeValues(QObject):
    """Connects a tree with a scan.

    Signals
    -------
    wanted_changed
        The person wants other rows, or the same in another order; or a running scan found more of them.
    columns_came
        The columns of a scan show now for the first time.
    scan_asked
        The person wants the values to be scanned, or the scan to go on.
    """

    wanted_changed = Signal()
    columns_came = Signal()
    scan_asked = Signal()

    def __init__(self, view: TreeView, model: TreeModel, parent: QWidget) -> None:
        super().__init__(parent)
        self._view = view
        self._model = model
        self._store: ScanStore | None = None
        self._shape: Shape | None = None
        self._awaits = False
        self.order: Order | None = None
        self.box = QComboBox(parent)
        self.box.setAccessibleName("Filter by values")
        self.box.setToolTip("Show the tensors that deserve a look")
        self.box.hide()
        self.foot = FootLine(parent)
        self._refresh = QTimer(self, singleShot=True, interval=_REFRESH_MS)
        self._refresh.timeout.connect(self.wanted_changed)
        self._fill_box()
        self.box.currentIndexChanged.connect(self._box_changed)
        self.foot.button.clicked.connect(self._act)
        view.columns.clicked.connect(self._head_clicked)

    @property
    def troubles(self) -> Trouble:
        """The kinds that were chosen, one of which a tensor must have; none for all tensors."""
        return Trouble(self.box.currentData() or 0)

    @property
    def is_scanned(self) -> bool:
        """A scan has begun, so that a filter by values finds what there is so far."""
        return self._store is not None and self._store.has_begun

    @property
    def is_running(self) -> bool:
        """More may come of the scan."""
        return self._store is not None and self._store.is_running

    def set_store(self, store: ScanStore) -> None:
        """Show what this store knows and will know; called once."""
        self._store = store
        store.changed.connect(self._scan_changed)
        store.rows_came.connect(self._rows_came)
        self._scan_changed()

    def take_table(self) -> None:
        """The model shows a table that was laid out anew."""
        if self._store is not None:
            self._model.take_scan(self._store.rows)

    def reset(self) -> None:
        """Neither a filter nor an order; nothing is told."""
        self.order = None
        self.box.blockSignals(True)
        self.box.setCurrentIndex(0)
        self.box.blockSignals(False)

    def choose(self, kinds: Trouble) -> None:
        """Show the tensors that have one of these kinds of trouble."""
        self.box.setCurrentIndex(max(0, self.box.findData(int(kinds))))

    def add_to_menu(self, menu: QMenu) -> None:
        """What a click on the head of a column does, for the keyboard."""
        menu.addSeparator()
        orders = menu.addMenu("List tensors by")
        for column in self._view.columns.shown:
            if column not in (Column.NAME, Column.HISTOGRAM):
                orders.addAction(TITLES[column], partial(self._head_clicked, column))
        if self.order is not None:
            orders.addSeparator()
            orders.addAction("The tree again", partial(self._head_clicked, Column.NAME))
        menu.addMenu(self._view.columns.make_menu(menu))

    def await_scan(self) -> None:
        """What is wanted needs a scan, and is looked for again once there is one."""
        self._awaits = True

    def describe(self, shape: Shape | None) -> None:
        """Say below the tree what it shows, and how far the scan is."""
        self._shape = shape
        self._awaits = False
        parts = []
        if shape is not None and shape.is_flat and self.order is not None:
            listed = len(shape) - 1
            n_matches = shape.n_matches or 0
            count = format_count(n_matches)
            if listed < n_matches:
                count = f"The first {format_count(listed)} of {count}"
            parts.append(f"{count} {'tensor' if n_matches == 1 else 'tensors'} {self.order.words}")
        store = self._store
        if store is not None and store.state not in (ScanState.NONE, ScanState.DONE):
            so_far = f"{format_count(len(store.rows))} of {format_count(store.n_tensors)} tensors scanned"
            if store.state is ScanState.STOPPED:
                so_far = f"scan stopped: {so_far}"
            elif store.failure is not None:
                so_far = f"scan failed: {store.failure}"
            parts.append(so_far)
        self.foot.show_words(" · ".join(parts), "" if store is None else _BUTTONS.get(store.state, ""))

    @Slot()
    def _scan_changed(self) -> None:
        assert self._store is not None
        store = self._store
        if store.has_begun == self.box.isHidden():
            self.box.setVisible(store.has_begun)
            self._view.columns.show_scan(store.has_begun)
            if store.has_begun:
                self.columns_came.emit()
        self._model.take_scan(store.rows)
        self._fill_box()
        if not store.is_running:
            self._refresh.stop()
        if self._depends:
            self.wanted_changed.emit()
        self.describe(self._shape)

    @Slot(object)
    def _rows_came(self, numbers: list[int]) -> None:
        self._model.scan_came(numbers)
        self._fill_box()
        if self._depends and not self._refresh.isActive():
            self._refresh.start()
        self.describe(self._shape)

    @property
    def _depends(self) -> bool:
        """What the tree shows depends on what the scan found."""
        by_values = self.order is not None and self.order.column in SCANNED
        filtered = self._shape is not None and self._shape.n_matches is not None
        return by_values or filtered or self._awaits or bool(self.troubles)

    def _fill_box(self) -> None:
        counts = None if self._store is None else self._store.counts
        n_troubled = 0 if self._store is None else len(self._store.troubled)
        rows = [(ANY_VALUES, 0), (f"any problem ({format_count(n_troubled)})", int(ANY_TROUBLE))]
        for kind in Trouble:
            n = 0 if counts is None else counts[kind]
            rows.append((f"{WORDS[kind]} ({format_count(n)})", int(kind)))
        if self.box.count() != len(rows):
            self.box.blockSignals(True)
            for text, kinds in rows:
                self.box.addItem(text, kinds)
            self.box.blockSignals(False)
        for index, (text, _kinds) in enumerate(rows):
            if self.box.itemText(index) != text:
                self.box.setItemText(index, text)

    @Slot()
    def _box_changed(self) -> None:
        self.wanted_changed.emit()

    @Slot(object)
    def _head_clicked(self, column: Column) -> None:
        order = next_order(self.order, column)
        if order != self.order:
            self.order = order
            self.wanted_changed.emit()

    @Slot()
    def _act(self) -> None:
        if self._store is not None and self._store.is_running:
            self._store.stop()
        else:
            self.scan_asked.emit()
