"""The Map page: a slice of a tensor as an image, its kernels side by side, a line, or one number."""

from __future__ import annotations

import math
from functools import partial
from typing import Final

from PySide6.QtCore import Qt, QTimer
from PySide6.QtWidgets import QLabel, QPushButton, QStackedWidget, QWidget

from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.tensors import TensorRef
from viewer.engine.values_requests import ReadKernels, ReadLine, ReadMap, ReadSlice
from viewer.errors import Cancelled, ViewerError
from viewer.gui.details.elided_label import ElidedLabel
from viewer.gui.details.facts import tensor_problem
from viewer.gui.details.latest import Latest
from viewer.gui.details.line_canvas import LineCanvas
from viewer.gui.details.map_canvas import MOUSE_AND_KEYS, MapCanvas
from viewer.gui.details.map_colours import levels_of
from viewer.gui.details.map_legend import MapLegend
from viewer.gui.details.map_options import MapOptions
from viewer.gui.details.map_picture import REDUCE_WORDS, Picture
from viewer.gui.details.map_view import Part
from viewer.gui.details.notice import Notice
from viewer.gui.details.picture_export import Exportable, ExportMenu
from viewer.gui.details.slice_bar import SliceBar
from viewer.gui.details.slice_choice import SliceChoice
from viewer.gui.details.slice_layout import lay_out
from viewer.gui.details.tabs import TabTools
from viewer.gui.details.tensor_range import TensorRange
from viewer.gui.details.value_text import exact_lines
from viewer.gui.details.wording import empty_sentence, unread_words
from viewer.gui.format import format_count
from viewer.gui.view_memory import remember_map
from viewer.tensors.slice_results import LineEnvelope, MapImage, ValueBlock, value_shape

_WHOLE_AFTER_MS: Final = 150
"""While a slider moves and a part is in view, only the part is read; the whole follows when the slider rests."""
_AT_ONCE: Final = 2
"""Pictures under way while a slider moves: one is computed while the window paints the one before."""
_KERNEL_PIXELS: Final = 2048
"""Pixels of a grid of kernels, down and across: as many as the engine draws at once."""
_KERNEL_UP_TO: Final = 64
"""Rows and columns of kernels that are worth a grid."""


class MapPage(QWidget):
    """Asks for pictures of the slice that is chosen, as fine as the screen shows them."""

    def __init__(self, tools: TabTools, choice: SliceChoice, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = tools.theme
        self._choice = choice
        self._document = -1
        self._tensor: TensorRef | None = None
        self._name = ""
        self._active = False
        self._shown: object = None
        self._whole_range: tuple[float, float] | None = None  # of the slice; None where nothing is finite
        self._part_questions = Latest(tools.bridge, self, _AT_ONCE)
        self._whole_questions = Latest(tools.bridge, self, _AT_ONCE)
        self._range = TensorRange(tools.store, self)

        self.bar = SliceBar(choice, tools.theme, self)
        self.options = MapOptions(self)
        if tools.settings is not None:
            remember_map(self.options, tools.settings)
        self.kernels = QPushButton("kernels", self)
        self.kernels.setProperty("role", "chip")
        self.kernels.setCheckable(True)
        self.kernels.setToolTip("All kernels side by side: rows along axis 0, columns along axis 1")
        self.info = ElidedLabel(Qt.TextElideMode.ElideRight, self)
        self.info.setProperty("role", "muted")
        self.info.setAlignment(Qt.AlignmentFlag.AlignRight)
        self.all = QPushButton("Show all", self)
        self.all.setProperty("role", "flat")
        self.all.setToolTip(f"Back to all of it (Home)\n{MOUSE_AND_KEYS}")
        self.all.hide()
        self.export = ExportMenu(self._exportable, False, self)
        self.canvas = MapCanvas(tools.theme, self)
        self.line = LineCanvas(tools.theme, self)
        self.notice = Notice(self)
        self.about = ElidedLabel(Qt.TextElideMode.ElideRight, self)
        self.about.setAccessibleName("The element pointed at")
        self.legend = MapLegend(tools.theme, self)
        self._area = QStackedWidget(self)
        self.number = QLabel(self)
        self.number.setProperty("role", "title")
        self.number.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.number.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        for widget in (self.canvas, self.line, self.number, self.notice):
            self._area.addWidget(widget)
        lay_out(
            self,
            self.bar,
            (self.options, self.kernels, self.info, self.all, self.export),
            self.info,
            self._area,
            (self.about, self.legend),
        )
        self._later = QTimer(self, singleShot=True, interval=_WHOLE_AFTER_MS)
        self._later.timeout.connect(self._ask_whole)
        for canvas in (self.canvas, self.line):
            canvas.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)
            canvas.addActions([self.export.copy_picture, self.export.save_png, self.export.save_svg])
            canvas.pointed.connect(partial(self._tell, canvas))
            canvas.zoomed.connect(self.all.setVisible)
            self.all.clicked.connect(canvas.reset)
        self.canvas.looked_at.connect(self._look)
        self.line.looked_at.connect(self._look_along)
        self.options.colours_changed.connect(self._colour)
        self.options.reduce_changed.connect(self._read_anew)
        self.kernels.toggled.connect(self._turn_again)
        self.export.said.connect(self.about.set_text)
        self.notice.acted.connect(self._turn_again)
        self._range.known.connect(self._colour)
        choice.reset.connect(self._turn)
        choice.stepped.connect(self._step)
        tools.theme.changed.connect(self._restyle)
        self._restyle()

    # From the panel

    def show_node(self, document: int, checkpoint: Checkpoint, node: int) -> None:
        self._document = document
        self._tensor = tensor = checkpoint.tensor_of_node(node)
        assert tensor is not None
        self._name = checkpoint.path_of(node)
        self._shown = None
        self._range.turn_to(document, tensor.number)
        shape = value_shape(tensor)
        self.kernels.setVisible(len(shape) >= 3 and max(shape[-2:]) <= _KERNEL_UP_TO and min(shape[-2:]) > 0)
        self._choice.show((document, tensor.number), shape)
        if self._active:
            self._turn()

    def set_active(self, active: bool) -> None:
        self._active = active
        if active:
            self._turn()
        else:
            self._stop()

    def set_device(self, name: str) -> None:
        self._range.set_device(name)

    def clear(self) -> None:
        self._tensor = None
        self._shown = None
        self._stop()

    # Which slice

    @property
    def shows_kernels(self) -> bool:
        return self.kernels.isChecked() and not self.kernels.isHidden()

    def _turn(self) -> None:
        """Show the slice that is chosen, all of it."""
        tensor, choice = self._tensor, self._choice
        wanted = None if tensor is None else (self._document, tensor.number, choice.axes, self.shows_kernels)
        if tensor is None or not self._active or wanted == self._shown:
            return
        self._stop()
        self._shown = wanted
        self._whole_range = None
        self.legend.show_kinds([])
        self.info.set_text("")
        problem, shape = tensor_problem(tensor), choice.shape
        several = len(shape) > 1
        self.options.setVisible(several)
        self.bar.setVisible(not self.shows_kernels)
        if problem is not None or 0 in shape:
            self._say(f"✕ {problem}" if problem is not None else empty_sentence(tensor.shape))
        elif not shape:
            request = ReadSlice(self._document, tensor.number, choice.axes, 0, 1, 0, 1)
            self._whole_questions.ask(request, self._take_number, self._fail)
        elif not several:
            self._area.setCurrentWidget(self.line)
            self.line.set_length(shape[0])
        else:
            self._area.setCurrentWidget(self.canvas)
            pitch = (shape[-2] + 1, shape[-1] + 1) if self.shows_kernels else (1, 1)
            self.canvas.set_extent(*self._extent(), pitch)
            self.canvas.tell_looked_at()

    def _extent(self) -> tuple[int, int]:
        """Rows and columns of what the canvas shows: of the slice, or of all kernels with the gaps between them."""
        if not self.shows_kernels:
            return self._choice.rows, self._choice.columns
        *outer, height, width = self._choice.shape
        rows, columns = (1, outer[0]) if len(outer) == 1 else outer[:2]
        return rows * (height + 1) - 1, columns * (width + 1) - 1

    def _step(self) -> None:
        """Another index along an axis that is not shown: the same part of another slice."""
        tensor, choice = self._tensor, self._choice
        if tensor is None or not self._active or self._area.currentWidget() is not self.canvas:
            return
        self._shown = (self._document, tensor.number, choice.axes, self.shows_kernels)
        if self.shows_kernels:
            return
        self.canvas.forget_whole()
        self.canvas.tell_looked_at()
        if not self.canvas.shows_all:
            self._later.start()

    def _turn_again(self) -> None:
        self._shown = None
        self._turn()

    def _read_anew(self) -> None:
        if self._area.currentWidget() is self.canvas:
            self.canvas.tell_looked_at()

    def _stop(self) -> None:
        self._later.stop()
        self._part_questions.stop()
        self._whole_questions.stop()

    # Asking

    def _look(self, part: Part, height: int, width: int) -> None:
        """Read what is in view, in as many pixels as the screen has for it, and not more than there are elements."""
        tensor = self._tensor
        if tensor is None or not self._active:
            return
        rows = math.floor(part.top), math.ceil(part.bottom)
        columns = math.floor(part.left), math.ceil(part.right)
        if self.shows_kernels:
            self._look_at_kernels(tensor, rows, columns)
            return
        whole = self.canvas.shows_all
        request = ReadMap(
            self._document,
            tensor.number,
            self._choice.axes,
            height,
            width,
            self.options.reduce,
            None if whole else rows,
            None if whole else columns,
        )
        questions = self._whole_questions if whole else self._part_questions
        questions.ask(request, partial(self._take, self._document, whole), self._fail)

    def _ask_whole(self) -> None:
        """Read the whole slice while a part of it is in view: for the range of its colours, and to zoom out."""
        tensor, frame = self._tensor, self.canvas.frame
        if tensor is not None and self._active:
            request = ReadMap(
                self._document, tensor.number, self._choice.axes, frame.height, frame.width, self.options.reduce
            )
            self._whole_questions.ask(request, partial(self._take, self._document, True), self._fail)

    def _look_at_kernels(self, tensor: TensorRef, rows: tuple[int, int], columns: tuple[int, int]) -> None:
        """Read the kernels in view, each element a pixel, also where the screen has fewer pixels."""
        *outer, tall, wide = self._choice.shape
        fixed = (0,) * max(0, len(outer) - 2)
        request = ReadKernels(
            self._document,
            tensor.number,
            max(tall, min(rows[1] - rows[0] + tall, _KERNEL_PIXELS)),
            max(wide, min(columns[1] - columns[0] + wide, _KERNEL_PIXELS)),
            rows[0] // (tall + 1),
            columns[0] // (wide + 1),
            fixed,
        )
        whole = self.canvas.shows_all
        self._whole_questions.ask(request, partial(self._take, self._document, whole), self._fail)

    def _look_along(self, first: int, end: int, width: int) -> None:
        tensor = self._tensor
        if tensor is not None and self._active and self._area.currentWidget() is self.line:
            request = ReadLine(self._document, tensor.number, 0, width, (), (first, end))
            self._whole_questions.ask(request, self._take_line, self._fail)

    # Answers

    def _take(self, document: int, whole: bool, image: MapImage) -> None:
        tensor = self._tensor
        if tensor is None or (document, image.number) != (self._document, tensor.number):
            return
        if image.tiles is None and (image.axes.row_axis, image.axes.column_axis) != (
            self._choice.row_axis,
            self._choice.column_axis,
        ):
            return
        picture = Picture(image)
        if whole or self._whole_range is None:
            self._whole_range = None if image.min is None or image.max is None else (image.min, image.max)
        self._colour()
        if not (whole and not self.canvas.shows_all):
            self.canvas.show_picture(picture)
            frame, ratio = self.canvas.frame, self.canvas.devicePixelRatioF()
            is_small = image.height > frame.height * ratio or image.width > frame.width * ratio
            self.info.set_text(_info(picture) + (" · drawn smaller: zoom in to see all of them" if is_small else ""))
            self.legend.show_kinds(picture.kinds)

    def _take_line(self, line: LineEnvelope) -> None:
        if self._area.currentWidget() is self.line:
            self.line.show_line(line)
            self.legend.show_kinds(self.line.kinds)
            points = len(line.low)
            each = line.edges[-1] - line.edges[0] if points else 0
            self.info.set_text(
                f"{format_count(each)} elements, each a point"
                if points == each
                else f"{format_count(each)} elements: each point from the least to the largest of its "
                f"{format_count(each // points)}, with the mean"
            )

    def _take_number(self, block: ValueBlock) -> None:
        value, *others = exact_lines(block, 0, 0)[1:]
        self.number.setText(value)
        self._area.setCurrentWidget(self.number)
        self.about.set_text("   ".join(others))  # after the canvas, which has nothing pointed at any more

    def _fail(self, error: ViewerError) -> None:
        if not isinstance(error, Cancelled):
            self._say(*unread_words(self._tensor, error))

    def _say(self, text: str, action: str = "") -> None:
        self.about.set_text("")
        self.info.set_text("")
        self.all.hide()
        self.notice.show_notice(text, action)
        self._area.setCurrentWidget(self.notice)

    # Looks

    def _tell(self, canvas: QWidget, words: str) -> None:
        if canvas is self._area.currentWidget():
            self.about.set_text(words)

    def _colour(self) -> None:
        """Give the canvas the colours and the range that are chosen, as far as the range is known."""
        name = self.options.range_name
        if name != "slice" and not self._range.is_known and self._tensor is not None and self._active:
            self._range.ask()
        chosen = {"slice": None, "tensor": self._range.full, "inner": self._range.inner}[name] or self._whole_range
        low, high = (0.0, 1.0) if chosen is None else (float(chosen[0]), float(chosen[1]))
        colours = self.options.colours(low, high)
        self.canvas.set_colours(colours, levels_of(colours, low, high))

    def _exportable(self) -> Exportable | None:
        widget = self._area.currentWidget()
        if widget not in (self.canvas, self.line):
            return None
        assert widget is not None
        return Exportable(widget, self._name)

    def _restyle(self) -> None:
        for label in (self.about, self.info):
            label.setFont(self._theme.mono(-1))


def _info(picture: Picture) -> str:
    """What a pixel is, in words."""
    image = picture.image
    of = "" if image.of == "value" else f" · {image.of}"
    if image.tiles is not None:
        tiles = image.tiles
        shown = tiles.n_rows * tiles.n_columns
        total = tiles.rows * tiles.columns
        part = "" if shown == total else f"{format_count(shown)} of "
        return f"{part}{format_count(total)} kernels of {tiles.height}×{tiles.width}, each pixel one element{of}"
    if image.is_exact:
        return f"each pixel is one element{of}"
    first_row, end_row, first_column, end_column = picture.part
    down = math.ceil((end_row - first_row) / image.height)
    across = math.ceil((end_column - first_column) / image.width)
    return f"each pixel is {REDUCE_WORDS[image.reduce]} of up to {down}×{across} elements{of}"
