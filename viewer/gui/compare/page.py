"""The tab of a comparison: shows the structure at once and the values as they come."""

from __future__ import annotations

import gc
import html
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, TypeAlias

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QFileDialog, QHBoxLayout, QLabel, QPushButton, QSplitter, QVBoxLayout, QWidget

from viewer.compare.comparison import Comparison
from viewer.compare.results import WHOLE_FILES, CompareOptions, RenameRule
from viewer.errors import Cancelled, ViewerError
from viewer.gui.compare.bars import CompareBars
from viewer.gui.compare.details import PairPanel
from viewer.gui.compare.exporting import ReportExporter
from viewer.gui.compare.header import SidesHeader
from viewer.gui.compare.session import ComparisonSession, Side
from viewer.gui.compare.told import told_text
from viewer.gui.compare.tolerance_dialog import tolerance_words
from viewer.gui.compare.tree import CompareTree
from viewer.gui.compare.watch import FileWatch
from viewer.gui.engine_bridge import EngineBridge
from viewer.gui.export.explain_panel import ExplainStack
from viewer.gui.file_dialogs import OPEN_FILTERS
from viewer.gui.message_bar import Message
from viewer.gui.theme import Theme
from viewer.gui.tree.display import DisplayOptions
from viewer.report.wording import printable

Choices: TypeAlias = Callable[[], Sequence[tuple[str, Path]]]
"""What could stand on a side: headings ("Open documents", "Recent files") and paths."""

_FREEZE_FROM: Final = 10_000
"""Rows, as for documents."""
_SHARES: Final = 62, 38
"""Of the height: the tree, and the details."""


class ComparePage(QWidget):
    """Two files side by side. Left is `a`, right is `b`.

    Signals
    -------
    retitled
        The sides are others, or were swapped.
    said
        Carries a Message.
    opened
        Carries the Path of a file that could be opened.
    finished
        The comparison is complete, and shown.
    """

    retitled = Signal()
    said = Signal(object)
    opened = Signal(object)
    finished = Signal()

    def __init__(
        self,
        bridge: EngineBridge,
        theme: Theme,
        a: Side,
        b: Side,
        choices: Choices,
        display: DisplayOptions,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._bridge = bridge
        self._theme = theme
        self._ignored: set[RenameRule] = set()
        self._changed = ""
        self._ended = ""
        self._was_laid_out = False
        self.session = ComparisonSession(bridge, a, b, WHOLE_FILES, self)
        self.watch = FileWatch(self)
        self.header = SidesHeader(theme, choices, self)
        self.exporter = ReportExporter(bridge, self.session, self.header.export)
        self.sentence = QLabel(self)
        self.note = QLabel(self)
        self.again = QPushButton("Compare again", self)
        self.stop = QPushButton("Stop", self)
        self.why = QPushButton("Why do the bytes differ?", self)
        self.bars = CompareBars(theme, self)
        self.tree = CompareTree(theme, display, self)
        self.details = PairPanel(bridge, theme, self)
        self._lay_out()
        self._connect()
        self._show_sides()

    @property
    def title(self) -> str:
        """Both names: "a.pth ⇄ b.pth"."""
        return self.session.title

    @property
    def sides(self) -> tuple[Side, Side]:
        return self.session.sides[0], self.session.sides[1]

    @property
    def comparison(self) -> Comparison | None:
        return self.session.comparison

    @property
    def figures(self) -> tuple[int, float] | None:
        """Bytes that were read of both files, and the seconds that it took; None while it is not complete."""
        if self.is_running or self.comparison is None or self.comparison.overview is None:
            return None
        return self.comparison.structure.value_nbytes, self.session.seconds

    @property
    def is_running(self) -> bool:
        return self.session.is_running

    @Slot()
    def start(self) -> None:
        """Open both files, or open them again, and compare."""
        self._changed = ""
        self._ready("Opening both files …")
        self.session.start()
        self.retitled.emit()

    @Slot()
    def swap(self) -> None:
        """Exchange left and right, and compare again: differences are those of right against left."""
        self._ready("Comparing …")
        self.session.swap()
        self._show_sides()

    @Slot(int, object)
    def set_side(self, number: int, path: Path) -> None:
        """Put another file on one side."""
        self._ignored.clear()
        self._ready(f"Opening {printable(path.name)} …")
        self.session.set_side(number, Side(path))
        self._show_sides()

    def set_options(self, options: CompareOptions) -> None:
        """Compare another way."""
        self._ready("Comparing …")
        self.session.compare(options)
        self._show_sides()

    def set_display(self, display: DisplayOptions) -> None:
        """Show the tree another way."""
        self.tree.set_display(display)

    def next_difference(self) -> None:
        """Go to the next shown row that differs."""
        self.tree.next_difference()

    def previous_difference(self) -> None:
        self.tree.previous_difference()

    def sort_by_change(self) -> None:
        """Siblings by how much they changed, or back in natural order."""
        self.tree.toggle_sorting()

    @Slot()
    def show_overview(self) -> None:
        """Go to the entry for everything."""
        self.tree.go_to_row(0)

    @Slot()
    def edit_rules(self) -> None:
        """Edit the rename rules."""
        from viewer.gui.compare.rules_dialog import RulesDialog

        if (documents := self.session.documents) is not None:
            options = self.session.full_options()
            RulesDialog(self._bridge, self._theme, documents, options, self._set_rules, self).open()

    @Slot()
    def choose_tolerance(self) -> None:
        """Choose how close numbers have to be."""
        from viewer.gui.compare.tolerance_dialog import ToleranceDialog

        ToleranceDialog(self._theme, self.session.options, self.comparison, self.set_options, self).open()

    @Slot()
    def explain(self) -> None:
        """Say why the two files differ in bytes."""
        if (documents := self.session.documents) is not None:
            self.pages.explain(*documents)
        else:
            self.said.emit(Message("info", "Both files have to be open first", key="comparison"))

    def close_document(self) -> None:
        """Forget everything in the engine; the page is about to go."""
        self.pages.release()
        self.watch.stop()
        self.tree.release()
        self.details.release()
        self.exporter.release()
        self.session.close()
        gc.unfreeze()

    # What comes

    @Slot()
    def _take_structure(self) -> None:
        comparison = self.comparison
        assert comparison is not None
        self.watch.watch(self.session.checkpoints)
        self._show_bars()
        self._show_sentence()
        self.tree.set_comparison(comparison)

    @Slot()
    def _laid_out(self) -> None:
        documents, table, rollups = self.session.documents, self.tree.table, self.tree.rollups
        if documents is None or table is None or rollups is None:
            return
        self.details.set_table(table, rollups, documents, self.session.options.tolerance)
        if not self._was_laid_out:
            self._was_laid_out = True
            self.tree.view.setFocus()  # once: later the keys may be wanted elsewhere
        self.details.show_entry(self.tree.view.current_entry)
        self._show_end()

    @Slot()
    def _refreshed(self) -> None:
        if self.comparison is not None and len(self.comparison.rows) >= _FREEZE_FROM:
            gc.freeze()  # results live as long as the tab, and a collection that walks them stops the window
        self._show_sentence()
        self.details.refresh()

    @Slot()
    def _finish(self) -> None:
        self.tree.refresh()
        self._show_end()

    def _show_end(self) -> None:
        """The comparison is complete and laid out, whichever came last."""
        comparison, table = self.comparison, self.tree.table
        if self.is_running or comparison is None or table is None or table.comparison is not comparison:
            return
        if comparison.overview is not None:
            self.stop.hide()
            self.header.export.setEnabled(True)
            self._show_sentence()
            self.details.refresh()
            self.finished.emit()

    @Slot(object)
    def _fail(self, error: ViewerError) -> None:
        self.tree.refresh()
        self.stop.hide()
        self.again.show()
        self.header.export.setEnabled(self.comparison is not None and self.session.documents is not None)
        self._ended = "Cancelled" if isinstance(error, Cancelled) else "Stopped"
        self._show_sentence()
        self.details.refresh()
        if not isinstance(error, Cancelled):
            self.said.emit(Message.of(error, key=f"compare {self.title}"))

    @Slot(object)
    def _file_changed(self, paths: list[Path]) -> None:
        names = " and ".join(printable(path.name) for path in paths[:2]) + (" and more" if len(paths) > 2 else "")
        self._changed = f"{names} changed on disk since the comparison; what is shown is how it was"
        self._show_bars()

    # What is said

    def _ready(self, text: str) -> None:
        """Something is about to run."""
        self.pages.release()
        self.watch.stop()
        self._ended = ""
        self.again.hide()
        self.stop.show()
        self.header.export.setEnabled(False)
        self.sentence.setText(html.escape(text))

    def _show_sentence(self) -> None:
        self.sentence.setText(told_text(self.comparison, self._ended))

    def _show_bars(self) -> None:
        if (comparison := self.comparison) is not None:
            structure = comparison.structure
            offers = [offer for offer in structure.offers if offer.rule not in self._ignored]
            # Behind one that explains most, those that explain a few only lead astray.
            offers = [offer for offer in offers if 2 * offer.matches >= offers[0].matches]
            self.bars.show_state(structure.warnings, offers, structure.options.rules, self._changed)

    def _show_sides(self) -> None:
        self.header.show_sides(*self.sides)
        self.header.tolerance.setText(f"Tolerance: {tolerance_words(self.session.options)}")
        self.retitled.emit()

    # What is asked for

    @Slot(object)
    def _apply_rule(self, rule: RenameRule) -> None:
        self._set_rules((*self.session.options.rules, rule))

    @Slot(object)
    def _remove_rule(self, rule: RenameRule) -> None:
        self._set_rules(tuple(other for other in self.session.options.rules if other != rule))

    def _set_rules(self, rules: tuple[RenameRule, ...]) -> None:
        self.set_options(replace(self.session.options, rules=rules))

    @Slot(object)
    def _ignore_offer(self, rule: RenameRule) -> None:
        self._ignored.add(rule)
        self._show_bars()

    @Slot(int)
    def _browse(self, number: int) -> None:
        dialog = QFileDialog(self, "Choose a checkpoint", str(self.sides[number].path.parent))
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        dialog.setNameFilters(OPEN_FILTERS)

        def chosen(name: str) -> None:
            self.set_side(number, Path(name))

        dialog.fileSelected.connect(chosen)
        dialog.open()

    @Slot(object)
    def _show_note(self, text: str) -> None:
        self.note.setText(text)
        self.note.show()

    # Putting together

    def _connect(self) -> None:
        session, tree = self.session, self.tree
        self.header.swap.clicked.connect(self.swap)
        self.header.side_chosen.connect(self.set_side)
        self.header.browse_wanted.connect(self._browse)
        self.header.rules.clicked.connect(self.edit_rules)
        self.header.tolerance.clicked.connect(self.choose_tolerance)
        self.again.clicked.connect(self.start)
        self.why.clicked.connect(self.explain)
        self.stop.clicked.connect(session.cancel)
        session.opened.connect(self.opened)
        session.structured.connect(self._take_structure)
        session.compared.connect(tree.take_rows)
        session.finished.connect(self._finish)
        session.failed.connect(self._fail)
        tree.laid_out.connect(self._laid_out)
        tree.refreshed.connect(self._refreshed)
        tree.entry_changed.connect(self.details.show_entry)
        tree.entry_changed.connect(self.note.hide)
        tree.said.connect(self._show_note)
        self.details.row_wanted.connect(tree.go_to_row)
        self.bars.rule_applied.connect(self._apply_rule)
        self.bars.rule_removed.connect(self._remove_rule)
        self.bars.offer_ignored.connect(self._ignore_offer)
        self.bars.reload_wanted.connect(self.start)
        self.watch.changed.connect(self._file_changed)
        self.exporter.said.connect(self.said)

    def _lay_out(self) -> None:
        self.sentence.setTextFormat(Qt.TextFormat.RichText)  # escaped
        self.sentence.setWordWrap(True)
        self.sentence.setContentsMargins(12, 4, 12, 6)
        self.sentence.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.again.hide()
        self.note.hide()
        self.why.setProperty("role", "flat")
        self.note.setProperty("role", "muted")
        upper = QWidget(self)
        column = QVBoxLayout(upper)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        told = QHBoxLayout()
        told.setContentsMargins(0, 0, 12, 0)
        told.addWidget(self.sentence, 1)
        told.addWidget(self.note)
        for button in (self.again, self.stop, self.why):
            told.addWidget(button)
        column.addWidget(self.header)
        column.addLayout(told)
        column.addWidget(self.bars)
        column.addWidget(self.tree, 1)
        splitter = QSplitter(Qt.Orientation.Vertical, self)
        splitter.setChildrenCollapsible(False)
        splitter.setHandleWidth(1)
        splitter.addWidget(upper)
        splitter.addWidget(self.details)
        for number, share in enumerate(_SHARES):
            splitter.setStretchFactor(number, share)
        splitter.setSizes(list(_SHARES))
        self.pages = ExplainStack(self._bridge, self._theme, splitter, self)
        whole = QVBoxLayout(self)
        whole.setContentsMargins(0, 0, 0, 0)
        whole.addWidget(self.pages)
        for widget in (self, upper):
            widget.setProperty("role", "panel")
            widget.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
