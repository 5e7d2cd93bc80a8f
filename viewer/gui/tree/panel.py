"""The left side of a document: filter box, dtype choice, tree, and what a person does with a row."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QPoint, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QAction, QGuiApplication, QKeyEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QMenu, QStackedWidget, QVBoxLayout, QWidget

from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.nodes import Kind
from viewer.gui.format import format_count
from viewer.gui.override import override
from viewer.gui.slices import SliceRunner
from viewer.gui.theme import Theme
from viewer.gui.tree.cells import group_name
from viewer.gui.tree.display import DisplayOptions, DisplayTable, entries_task
from viewer.gui.tree.expression import python_expression
from viewer.gui.tree.filter import BadFilter, Shape, filter_task, parse_filter, texts_task, whole
from viewer.gui.tree.filter_bar import FILTER_HELP, make_dtype_box, make_filter_edit, mark_fault
from viewer.gui.tree.layout import build_task
from viewer.gui.tree.model import TreeModel
from viewer.gui.tree.order import order_task
from viewer.gui.tree.places import open_at_start, same_row
from viewer.gui.tree.values import TreeValues
from viewer.gui.tree.view import MAX_EXPANDED, TreeView

if TYPE_CHECKING:
    from viewer.gui.meaning.marks import Marks

_DEBOUNCE_MS: Final = 90
"""Between the last key and the search; typing is faster than that."""


class TreePanel(QWidget):
    """
    Signals
    -------
    node_changed
        Carries the number of the node that is current now.
    group_changed
        Carries a name and a list of node numbers: a group of ours is current now.
    several_chosen
        Carries a list of node numbers: several rows are selected now.
    said
        Carries a sentence for the message bar.
    shown
        The rows are on screen for the first time.
    """

    node_changed = Signal(object)
    group_changed = Signal(object, object)
    several_chosen = Signal(object)
    said = Signal(object)
    shown = Signal()

    def __init__(
        self,
        theme: Theme,
        checkpoint: Checkpoint,
        options: DisplayOptions,
        former: TreePanel | None = None,
        parent: QWidget | None = None,
    ) -> None:
        """`former` showed an earlier reading of the same file: what was open and current there stays so.

        Nothing is laid out before `start`.
        """
        super().__init__(parent)
        self.setProperty("role", "panel")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._checkpoint = checkpoint
        self._options = options
        self._texts: list[str] | None = None
        self._marks: Marks | None = None
        self._asks_values = False  # the filter
        self._runner = SliceRunner(self)
        self._collector = SliceRunner(self)
        self._debounce = QTimer(self, singleShot=True, interval=_DEBOUNCE_MS)
        self._debounce.timeout.connect(self._apply_filter)
        self.model = TreeModel(checkpoint, self)
        self.view = TreeView(theme, self.model, self)
        self.filter_edit = make_filter_edit(self)
        self.dtype_box = make_dtype_box(self, checkpoint)
        self.values = TreeValues(self.view, self.model, self)
        self._nothing = QLabel("", self)
        self._stack = QStackedWidget(self)
        self._lay_out()
        self._connect()
        self._former_rows: tuple[list[list[str]], list[str]] = ([], [])
        if former is not None:
            table, view = former.model.table, former.view
            self._former_rows = (
                [table.labels_to(row) for row in view.expanded_rows],
                table.labels_to(view.current_row),
            )
            self.filter_edit.setText(former.filter_edit.text())
            self.view.columns.show_scan(False, former.view.columns.chosen)

    @property
    def words(self) -> str:
        """What stands in the place of rows; "" where rows do."""
        return self._nothing.text() if self._stack.currentWidget() is self._nothing else ""

    def start(self) -> None:
        """Lay the rows out. A small checkpoint's are there when this returns."""
        self._build()

    @property
    def options(self) -> DisplayOptions:
        return self._options

    def set_options(self, options: DisplayOptions) -> None:
        """Lay the rows out another way; what is open and current stays so."""
        if options != self._options:
            self._options = options
            self._build()

    def set_marks(self, marks: Marks | None) -> None:
        """What was recognised: badges, and names beside the numbers of optimizer entries."""
        self._marks = marks
        self.model.table.marks = marks
        self._texts = None  # the filter finds those names
        if self._narrows():
            self._apply_filter()
        self.view.viewport().update()

    def focus_filter(self) -> None:
        self.filter_edit.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.filter_edit.selectAll()

    def go_to_node(self, node: int) -> None:
        """Make a node current; a filter that hides it is cleared."""
        if not len(self.model.table):
            return
        row = self.model.table.row_of_node[node]
        if row > 0 and not self.view.go_to_row(row):
            self._reset_filter()
            self.model.set_shape(whole(self.model.table))
            self.view.show_shape(self.model.shape)
            self.view.go_to_row(row)

    def go_to_path(self, path: str) -> None:
        """Make the node at a path current; raises BadPath."""
        self.go_to_node(self._checkpoint.find(path))

    def go_to_state(self) -> None:
        """Make the optimizer's state of the current parameter current."""
        self._go_to_counterpart(None if self._marks is None else self._marks.places.state_for, "no optimizer state")

    def go_to_parameter(self) -> None:
        """Make the parameter that the current optimizer state is for current."""
        self._go_to_counterpart(
            None if self._marks is None else self._marks.places.parameter_for, "no parameter that is certain"
        )

    def _go_to_counterpart(self, find: Callable[[int], int | None] | None, none: str) -> None:
        node = self.current_node
        found = None if find is None or node is None else find(node)
        if found is not None:
            self.go_to_node(found)
        else:
            self.said.emit(f"There is {none} for the current row")

    def copy_name(self) -> None:
        """Put the row's key, or a group's dotted prefix, on the clipboard."""
        row = self.view.current_row
        if row:
            table = self.model.table
            node = table.node[row]
            key = table.checkpoint.nodes.key[node] if node >= 0 else group_name(table, row)
            _copy(key if isinstance(key, str) else table.label[row])

    def copy_path(self) -> None:
        """Put the row's path, as "go to path" takes it, on the clipboard."""
        if (node := self.current_node) is not None:
            _copy(self._checkpoint.path_of(node))

    def copy_expression(self) -> None:
        """Put the Python expression that reaches the row on the clipboard."""
        if (node := self.current_node) is not None:
            _copy(python_expression(self._checkpoint, node))

    def expand_below(self) -> None:
        """Open the current row and everything inside."""
        if not self.view.expand_below(self.view.current_row):
            self.said.emit(f"Opened level by level up to {format_count(MAX_EXPANDED)} rows; a filter shows the rest")

    def collapse_below(self) -> None:
        """Close the current row and everything inside."""
        self.view.collapse_below(self.view.current_row)

    @property
    def current_node(self) -> int | None:
        """The number of the current node; None for none or a group of ours."""
        table = self.model.table
        node = table.node[self.view.current_row] if self.view.current_row else -1
        return node if node >= 0 else None

    def _build(self) -> None:
        self._texts = None
        self._runner.start(build_task(self._checkpoint, self._options), self._show_table)
        if self._runner.is_running and not len(self.model.table):
            self._nothing.setText(f"Laying out {format_count(len(self._checkpoint.nodes))} rows…")
            self._stack.setCurrentWidget(self._nothing)

    def _show_table(self, table: DisplayTable) -> None:
        table.marks = self._marks
        before = self.model.table
        first_time = not len(before)
        if first_time:
            opened, chosen = self._former_rows
            expanded = {row for labels in opened if (row := table.row_at(labels))} or set(open_at_start(table))
            current = table.row_at(chosen) or 0
        else:
            expanded = {row for old in self.view.expanded_rows if (row := same_row(before, old, table))}
            current = same_row(before, self.view.current_row, table) or 0
        self.view.show_table(table, expanded, current)
        self.values.take_table()
        self._stack.setCurrentWidget(self.view)
        if self._narrows():
            self._apply_filter()
        if first_time:
            self.shown.emit()

    @Slot()
    def _apply_filter(self) -> None:
        self._debounce.stop()
        try:
            spec = parse_filter(self.filter_edit.text(), self.dtype_box.currentData() or "", self.values.troubles)
        except BadFilter as error:
            mark_fault(self.filter_edit, str(error))
            return
        mark_fault(self.filter_edit, "")
        self._asks_values = not spec.values.is_empty
        if self._asks_values and not self.values.is_scanned:
            self._runner.stop()
            self.values.await_scan()
            self._say_nothing("The filter asks for values, and they are not scanned yet.\nF9 scans all of them.")
        elif self._texts is None:
            self._runner.start(texts_task(self.model.table), self._take_texts)
        else:
            self._runner.start(filter_task(self.model.table, self._texts, spec), self._take_shape)

    def _take_texts(self, texts: list[str]) -> None:
        self._texts = texts
        self._apply_filter()

    def _take_shape(self, shape: Shape) -> None:
        if self.values.order is None:
            self._show_shape(shape)
        else:
            self._runner.start(order_task(self.model.table, shape, self.values.order), self._show_shape)

    def _show_shape(self, shape: Shape) -> None:
        self.view.show_shape(shape, self.values.order)
        self.values.describe(shape)
        if shape.n_matches == 0:
            so_far = " so far: the scan goes on" if self._asks_values and self.values.is_running else ""
            self._say_nothing(f"No row matches the filter{so_far}.\nEsc clears it.")
        else:
            self._stack.setCurrentWidget(self.view)
        if shape.n_matches is None:
            self.filter_edit.setToolTip(FILTER_HELP)
        else:
            of = f"{format_count(shape.n_matches)} of {format_count(len(self.model.table) - 1)}"
            self.filter_edit.setToolTip(f"{of} rows match")

    def _say_nothing(self, words: str) -> None:
        self._nothing.setText(words)
        self._stack.setCurrentWidget(self._nothing)

    def _narrows(self) -> bool:
        """The tree is not shown as it is: rows are filtered, or tensors listed in an order."""
        return bool(
            self.filter_edit.text().strip()
            or self.dtype_box.currentData()
            or self.values.troubles
            or self.values.order
        )

    def _reset_filter(self) -> None:
        self.filter_edit.clear()  # with its signal, by which the button inside it goes
        self._debounce.stop()
        self.dtype_box.blockSignals(True)
        self.dtype_box.setCurrentIndex(0)
        self.dtype_box.blockSignals(False)
        self.values.reset()
        self.values.describe(None)
        self._stack.setCurrentWidget(self.view)

    def tell_row(self) -> None:
        """Emit `node_changed` or `group_changed` for the current row again."""
        self._emit_row(self.view.current_row)

    @Slot(object)
    def _emit_row(self, row: int) -> None:
        self._collector.stop()
        table = self.model.table
        if table.node[row] >= 0:
            self.node_changed.emit(table.node[row])
        else:
            self._collector.start(entries_task(table, row), self._emit_group)

    def _emit_group(self, nodes: list[int]) -> None:
        table, row = self.model.table, self.view.current_row
        self.group_changed.emit(table.label[row] if row in table.ranges else group_name(table, row), nodes)

    @Slot(object)
    def _emit_several(self, rows: list[int]) -> None:
        nodes = [node for row in rows if (node := self.model.table.node[row]) >= 0]
        self.several_chosen.emit(nodes)

    def make_menu(self) -> QMenu:
        """What can be done with the current row."""
        table, row = self.model.table, self.view.current_row
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        is_node = self.current_node is not None
        menu.addAction("Copy name", self.copy_name)
        menu.addAction("Copy path", self.copy_path).setEnabled(is_node)
        menu.addAction("Copy Python expression", self.copy_expression).setEnabled(is_node)
        wanted = ["export_this", "compare_this"] if is_node else []
        wanted += ["compare_selected"] if len(self.view.chosen_rows()) == 2 else []
        actions = [action for name in wanted if (action := self.window().findChild(QAction, name)) is not None]
        if actions:
            menu.addSeparator()
            menu.addActions(actions)
        if table.kind(row) == Kind.LINK:
            menu.addSeparator()
            menu.addAction("Go to what it links to", self.view.follow_current_link)
        node = self.current_node
        if self._marks is not None and node is not None:
            places = self._marks.places
            if places.state_for(node) is not None:
                menu.addSeparator()
                menu.addAction("Go to optimizer state", self.go_to_state)
            elif places.parameter_for(node) is not None:
                menu.addSeparator()
                menu.addAction("Go to parameter", self.go_to_parameter)
        if table.n_children[row]:
            menu.addSeparator()
            menu.addAction("Expand all inside", self.expand_below)
            menu.addAction("Collapse all inside", self.collapse_below)
        self.values.add_to_menu(menu)
        return menu

    @Slot(QPoint)
    def _open_menu(self, at: QPoint) -> None:
        if self.view.current_row and self.view.indexAt(at).isValid():
            self.make_menu().popup(self.view.viewport().mapToGlobal(at))

    @override
    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape and self._narrows():
            self._reset_filter()
            self._apply_filter()
            self.view.setFocus()
        elif event.key() in (Qt.Key.Key_Down, Qt.Key.Key_Return) and self.filter_edit.hasFocus():
            self.view.setFocus()
            if not self.view.currentIndex().isValid() and self.model.rowCount():
                self.view.setCurrentIndex(self.model.index(0, 0))
        else:
            super().keyPressEvent(event)

    def _connect(self) -> None:
        self.filter_edit.textChanged.connect(self._debounce.start)
        self.dtype_box.currentIndexChanged.connect(self._apply_filter)
        self.values.wanted_changed.connect(self._apply_filter)
        self.view.row_changed.connect(self._emit_row)
        self.view.rows_chosen.connect(self._emit_several)
        self.view.copy_requested.connect(self.copy_path)
        self.view.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.view.customContextMenuRequested.connect(self._open_menu)

    def _lay_out(self) -> None:
        self._nothing.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._nothing.setProperty("role", "muted")
        self._stack.addWidget(self.view)
        self._stack.addWidget(self._nothing)
        bar = QHBoxLayout()
        bar.setContentsMargins(8, 8, 8, 8)
        bar.setSpacing(8)
        bar.addWidget(self.filter_edit, 1)
        bar.addWidget(self.dtype_box)
        bar.addWidget(self.values.box)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(bar)
        column.addWidget(self._stack, 1)
        column.addWidget(self.values.foot)


def _copy(text: str) -> None:
    QGuiApplication.clipboard().setText(text)
