"""The Values page: every element of a tensor, in a table of any two of its axes."""

from __future__ import annotations

from functools import partial
from typing import Final

from PySide6.QtCore import QModelIndex, Qt, QTimer
from PySide6.QtGui import QGuiApplication, QKeySequence, QShortcut
from PySide6.QtWidgets import QLineEdit, QStackedWidget, QToolButton, QWidget

from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.tensors import TensorRef
from viewer.engine.values_requests import ReadSlice
from viewer.errors import Cancelled, ViewerError
from viewer.gui.details.elided_label import ElidedLabel
from viewer.gui.details.facts import tensor_problem
from viewer.gui.details.go_to import parse_place
from viewer.gui.details.latest import Latest
from viewer.gui.details.notice import Notice
from viewer.gui.details.slice_bar import SliceBar
from viewer.gui.details.slice_choice import SliceChoice
from viewer.gui.details.slice_layout import lay_out
from viewer.gui.details.tabs import TabTools
from viewer.gui.details.tensor_range import TensorRange
from viewer.gui.details.value_blocks import ValueBlocks
from viewer.gui.details.value_grid import ValueGrid
from viewer.gui.details.value_model import MOST_ROWS, ValueModel
from viewer.gui.details.value_options import ValueOptions
from viewer.gui.details.value_shade import Shade
from viewer.gui.details.value_text import NumberStyle, exact_lines
from viewer.gui.details.window_strip import WindowStrip
from viewer.gui.details.wording import empty_sentence, unread_words
from viewer.gui.format import format_count
from viewer.report.values_text import numpy_expression, torch_expression, values_tsv
from viewer.tensors.slice_results import ValueBlock, value_shape

_PATIENCE_MS: Final = 60
"""After a step the numbers before stay for so long: most answers come sooner, and "…" would only flicker."""
_PRECISION: Final = "values/precision"
_EXPONENT: Final = "values/exponent"
_MOST_COPIED: Final = 50_000
"""Values that are copied at once: writing them takes a twentieth of a second."""


class ValuesPage(QWidget):
    """Asks for the blocks of the slice that are looked at."""

    def __init__(self, tools: TabTools, choice: SliceChoice, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = tools.theme
        self._choice = choice
        self._document = -1
        self._tensor: TensorRef | None = None
        self._active = False
        self._shown: object = None
        self._failure = ""
        self.blocks = ValueBlocks(tools.bridge, self)
        self._copies = Latest(tools.bridge, self)
        self._range = TensorRange(tools.store, self)
        self.model = ValueModel(self.blocks, tools.theme, self)

        self.bar = SliceBar(choice, tools.theme, self)
        self.go_to = QLineEdit(self)
        self.go_to.setPlaceholderText("Go to index: 12, 5, :, 3")
        self.go_to.setAccessibleName("Go to index")
        self.go_to.setToolTip(
            "Numbers go there, colons choose the axes to show; negative ones count from the end (Ctrl+L)"
        )
        self._settings = tools.settings
        self.options = ValueOptions(self)
        if self._settings is not None:
            notation = self._settings.get(_EXPONENT)
            self.options.set_style(NumberStyle(self._settings.get(_PRECISION), notation))
        self.grid = ValueGrid(self.model, tools.theme, self)
        self.copy = QToolButton(self)
        self.copy.setProperty("role", "menu")
        self.copy.setText("Copy")
        self.copy.setToolTip("Copy the selected values")
        self.copy.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.copy.addActions(self.grid.actions())
        self.notice = Notice(self)
        self.strip = WindowStrip(self)
        self.about = ElidedLabel(Qt.TextElideMode.ElideRight, self)
        self.about.setAccessibleName("The current element")
        self._area = QStackedWidget(self)
        self._area.addWidget(self.grid)
        self._area.addWidget(self.notice)
        lay_out(
            self, self.bar, (self.go_to, self.options, self.copy), self.go_to, self._area, (self.about, self.strip)
        )
        self._late = QTimer(self, singleShot=True, interval=_PATIENCE_MS)
        self._late.timeout.connect(self.model.tell_all)

        shortcut = QShortcut(QKeySequence("Ctrl+L"), self)
        shortcut.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
        shortcut.activated.connect(self._begin_to_type)
        self.go_to.returnPressed.connect(self._go)
        self.go_to.textEdited.connect(self._typed)
        self.options.style_changed.connect(self._choose_style)
        self.options.shading_changed.connect(self._shade)
        self.grid.looked_at.connect(self._look)
        self.grid.current_changed.connect(self._tell_current)
        self.grid.beyond.connect(self.shift)
        self.grid.copy_wanted.connect(self.copy_as)
        self.strip.shift_wanted.connect(self.shift)
        self.notice.acted.connect(self._retry)
        self.blocks.arrived.connect(self._take)
        self.blocks.failed.connect(self._fail)
        self._range.known.connect(self._shade)
        choice.reset.connect(self._turn)
        choice.stepped.connect(self._step)
        tools.theme.changed.connect(self._restyle)
        self._style()
        self._restyle()

    # From the panel

    def show_node(self, document: int, checkpoint: Checkpoint, node: int) -> None:
        self._document = document
        self._tensor = tensor = checkpoint.tensor_of_node(node)
        assert tensor is not None
        self._shown = None
        self._range.turn_to(document, tensor.number)
        self.go_to.clear()
        self._typed()
        self._choice.show((document, tensor.number), value_shape(tensor))
        if self._active:
            self._turn()

    def set_active(self, active: bool) -> None:
        self._active = active
        if active:
            self._turn()
        else:
            self.blocks.look_at(range(0), range(0))

    def set_device(self, name: str) -> None:
        self._range.set_device(name)

    def clear(self) -> None:
        self._tensor = None
        self._shown = None
        self._copies.stop()
        self.blocks.turn_to(-1, -1, None)
        self.model.set_extent(0, 0)

    # Which slice

    def _turn(self) -> None:
        """Show the slice that is chosen, from its first element."""
        tensor, choice = self._tensor, self._choice
        if tensor is None or not self._active:
            return
        wanted = (self._document, tensor.number, choice.axes, choice.shape)
        if wanted == self._shown:
            return
        self._shown = wanted
        self._late.stop()
        problem = tensor_problem(tensor)
        empty = 0 in choice.shape
        if problem is not None or empty:
            self._say(f"✕ {problem}" if problem is not None else empty_sentence(tensor.shape))
            return
        self._area.setCurrentWidget(self.grid)
        self.blocks.turn_to(self._document, tensor.number, choice.axes, choice.rows, choice.columns)
        self.model.titles = (_title(choice.row_axis), _title(choice.column_axis))
        self._show_window((0, 0))
        self.grid.forget_widths()
        self.grid.go(self.model.index(0, 0))
        self.grid.scrollToTop()
        self._shade()

    def _step(self) -> None:
        """Another index along an axis that is not shown: the same cells, other numbers."""
        tensor, choice = self._tensor, self._choice
        if tensor is None or not self._active or self._area.currentWidget() is not self.grid:
            return
        self._shown = (self._document, tensor.number, choice.axes, choice.shape)
        self.blocks.step_to(choice.axes)
        self._late.start()
        self._tell_current(self.grid.currentIndex())

    def _show_window(self, first: tuple[int, int]) -> None:
        self.model.set_extent(self._choice.rows, self._choice.columns, first)
        self.strip.show_window(self.model.first_row, self.model.rowCount(), self._choice.rows)

    def shift(self, direction: int) -> None:
        """Go on past the last row that the table has, or back before the first; nothing where the slice ends."""
        rows, first = self._choice.rows, self.model.first_row
        row = first + self.model.rowCount() if direction > 0 else first - 1
        if 0 <= row < rows:
            self._go_to_element(row, self.model.first_column + max(0, self.grid.currentIndex().column()))

    def _go_to_element(self, row: int, column: int) -> None:
        if not self.model.at(row, column).isValid():
            self._show_window((row - MOST_ROWS // 2, max(0, column - 1000)))
        self.grid.go(self.model.at(row, column))

    # Blocks

    def _look(self, rows: range, columns: range) -> None:
        if self._active and self._tensor is not None:
            top, left = self.model.first_row, self.model.first_column
            self.blocks.look_at(
                range(rows.start + top, rows.stop + top), range(columns.start + left, columns.stop + left)
            )

    def _take(self, block: ValueBlock) -> None:
        self._late.stop()
        self._failure = ""
        self.grid.make_room(block)
        self.grid.viewport().update()
        self._tell_current(self.grid.currentIndex())

    def _fail(self, error: ViewerError) -> None:
        self._shown = None
        self._say(*unread_words(self._tensor, error))

    def _say(self, text: str, action: str = "") -> None:
        self.blocks.turn_to(-1, -1, None)
        self.model.set_extent(0, 0)
        self.strip.show_window(0, 0, 0)
        self.about.set_text("")
        self.notice.show_notice(text, action)
        self._area.setCurrentWidget(self.notice)

    def _retry(self) -> None:
        self._shown = None
        self._turn()

    # Going

    def _begin_to_type(self) -> None:
        self.go_to.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.go_to.selectAll()

    def _typed(self) -> None:
        """What was wrong with the text may be mended."""
        self._mark_fault("")

    def _go(self) -> None:
        """Go where the text says, or say what is wrong with it."""
        choice = self._choice
        if self._tensor is None or self._area.currentWidget() is not self.grid:
            return
        try:
            place = parse_place(self.go_to.text(), choice.shape, choice.row_axis, choice.column_axis)
        except ViewerError as error:
            self._mark_fault(str(error))
            return
        self._mark_fault("")
        fixed = {axis: index for axis, index in enumerate(place.at) if index is not None}
        choice.go(fixed, place.row_axis, place.column_axis)
        row = fixed.get(-1 if place.row_axis is None else place.row_axis, 0)
        column = fixed.get(-1 if place.column_axis is None else place.column_axis, 0)
        self._go_to_element(row, column)
        self.grid.setFocus(Qt.FocusReason.OtherFocusReason)

    def _mark_fault(self, text: str) -> None:
        self.go_to.setProperty("fault", bool(text))
        self.go_to.style().unpolish(self.go_to)
        self.go_to.style().polish(self.go_to)
        if text:
            self.about.set_text(f"⚠ {text}")
        else:
            self._tell_current(self.grid.currentIndex())

    # Telling and copying

    def _tell_current(self, index: QModelIndex) -> None:
        """The current element in full, for those who do not hover."""
        block = self.blocks.block_at(*self.model.element(index)) if index.isValid() else None
        if block is None:
            self.about.set_text("")
        else:
            self.about.set_text("   ".join(exact_lines(block, *self.model.element(index))))

    def copy_as(self, kind: str) -> None:
        """Put the selected values on the clipboard; they are read anew, since some may not be on screen."""
        rows, columns = self.grid.selected_part()
        if self._tensor is None or rows.start < 0 or not rows or not columns:
            return
        if len(rows) * len(columns) > _MOST_COPIED:
            selected, most = format_count(len(rows) * len(columns)), format_count(_MOST_COPIED)
            self.about.set_text(f"⚠ {selected} values are selected; at most {most} are copied at once")
            return
        request = ReadSlice(
            self._document,
            self._tensor.number,
            self._choice.axes,
            rows.start + self.model.first_row,
            len(rows),
            columns.start + self.model.first_column,
            len(columns),
        )
        self._copies.ask(request, partial(self._put, kind), self._copy_failed)

    def _put(self, kind: str, block: ValueBlock) -> None:
        if kind == "tsv":
            text = "".join(values_tsv(block))
        else:
            text = torch_expression(block) if kind == "torch" else numpy_expression(block)
        QGuiApplication.clipboard().setText(text)
        count = block.n_rows * block.n_columns
        self.about.set_text(f"copied {'1 value' if count == 1 else f'{format_count(count)} values'}")

    def _copy_failed(self, error: ViewerError) -> None:
        if not isinstance(error, Cancelled):
            self.about.set_text(f"⚠ Nothing was copied: {error}")

    # Looks

    def _choose_style(self) -> None:
        if self._settings is not None:
            self._settings.set(_PRECISION, self.options.style_chosen.precision)
            self._settings.set(_EXPONENT, self.options.style_chosen.notation)
        self._style()

    def _style(self) -> None:
        self.model.set_style(self.options.style_chosen)
        self.grid.forget_widths()
        rows, columns = self.grid.visible_part()
        if rows and columns:
            block = self.blocks.block_at(self.model.first_row + rows.start, self.model.first_column + columns.start)
            if block is not None:
                self.grid.make_room(block)

    def _shade(self) -> None:
        if not self.options.shades or self._tensor is None or not self._active:
            self.model.set_shade(None)
        elif (largest := self._range.largest) is not None:
            self.model.set_shade(Shade(self._theme, largest))
        else:
            self.model.set_shade(None)
            self._range.ask()

    def _restyle(self) -> None:
        self.about.setFont(self._theme.mono(-1))
        self.go_to.setFont(self._theme.mono(-1))
        self._shade()


def _title(axis: int | None) -> str:
    return "" if axis is None else f"axis {axis}"
