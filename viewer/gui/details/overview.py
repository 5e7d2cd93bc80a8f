"""The Overview page: what a node is, what lies below it, and for the whole file what else there is to know."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from operator import attrgetter
from typing import Final, TypeVar

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QPushButton, QWidget

from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.nodes import Kind
from viewer.gui.details.cell import Cell
from viewer.gui.details.cell_table import CellTable
from viewer.gui.details.facts import Fact, file_facts, storage_facts, tensor_facts, tensor_problem
from viewer.gui.details.jump_table import JumpTable
from viewer.gui.details.lead import jump_words, lead_words, problem_words
from viewer.gui.details.node_list import NodeList
from viewer.gui.details.page import Page, SectionLabel, WordsLabel
from viewer.gui.details.problems import ProblemsSection
from viewer.gui.details.small_values import HEADS, small_value_rows
from viewer.gui.details.subtree import SubtreeFacts, names_task, subtree_task
from viewer.gui.details.sums import DTYPE_HEADS, dtype_rows, subtree_fact_rows
from viewer.gui.details.value_view import ValueView
from viewer.gui.details.values import value_words
from viewer.gui.details.whole_facts import WholeFacts, whole_task
from viewer.gui.details.whole_file import RecognisedParts, WholeFile
from viewer.gui.details.whole_rows import model_facts, tied_facts
from viewer.gui.format import format_count
from viewer.gui.recognition import RecognitionStore
from viewer.gui.slices import SliceRunner
from viewer.gui.theme import Theme

_Widget = TypeVar("_Widget", bound=QWidget)
_MOST_ROWS: Final = 300
"""Of warnings and of names: a file chooses how many it has."""
_CONTAINERS = frozenset({Kind.MAPPING, Kind.SEQUENCE, Kind.SET, Kind.OBJECT, Kind.GROUP})


class OverviewPage(Page):
    """Facts from the columns, and what the sources know; nothing is asked of the engine here.

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
        self._target: int | None = None
        self._is_whole = False  # the page shows the file as a whole
        self._facts: list[Fact] = []
        self._tied: list[Fact] = []
        self._recognition: RecognitionStore | None = None
        self._whole_runner = SliceRunner(self)

        self.problem = WordsLabel(theme, "error", self.body)
        self.lead = WordsLabel(theme, "muted", self.body)
        self.jump = QPushButton(self.body)
        self.jump.setProperty("role", "link")
        self.jump.clicked.connect(self._jump)
        # Before all else: a file that opened in part must not pass for a whole one.
        self._warnings_head, self.warnings = self._add("Warnings", WordsLabel(theme, "warning", self.body))
        self.problems = ProblemsSection(theme, self.body)
        self.value = ValueView(theme, self.body)
        self.facts = CellTable(theme, "Facts", self.body)
        for widget in (self.problem, self.lead):
            self.column.addWidget(widget)
        self.column.addWidget(self.problems)
        self.column.addWidget(self.jump, 0, Qt.AlignmentFlag.AlignLeft)
        self.column.addWidget(self.value, 1)
        self._facts_head = self.section("Contents")
        self.column.addWidget(self.facts)

        self.parts = RecognisedParts(theme, self.body)
        self.column.addWidget(self.parts)
        self._values_head, self.values = self._add("Values", CellTable(theme, "Values in this entry", self.body))
        self._dtype_head, self.dtypes = self._add("By dtype", JumpTable(theme, "Tensors by dtype", self.body))
        self.whole = WholeFile(theme, self.body)
        self.column.addWidget(self.whole)
        self._names_head, self.names = self._add("Also at", NodeList(theme, "Other names of this tensor", self.body))
        self._faults_head, self.faults = self._add(
            "Cannot be read", NodeList(theme, "Entries with problems", self.body)
        )
        self._file_head, self.file = self._add("File", CellTable(theme, "Facts about the file", self.body))
        self.content_name = QPushButton("Content name (SHA-256) …", self.body)
        self.content_name.setProperty("role", "link")
        self.content_name.setToolTip("Compute the hash of the content, which no name, format or device changes")
        self.content_name.clicked.connect(self._name_content)
        self.column.addWidget(self.content_name, 0, Qt.AlignmentFlag.AlignLeft)
        self._globals_head, self.globals = self._add(
            "Classes and functions that the file names", CellTable(theme, "Names in the file's pickles", self.body)
        )
        self.column.addStretch(0)
        self._optional: tuple[QWidget, ...] = (
            *(self.problem, self.lead, self.jump, self.value, self.facts),
            *(self.problems, self._facts_head, self.parts, self._values_head, self.values, self.whole),
            *(self._dtype_head, self.dtypes, self._names_head, self.names, self._faults_head, self.faults),
            *(self._file_head, self.file, self.content_name),
            *(self._warnings_head, self.warnings, self._globals_head, self.globals),
        )
        self.names.node_requested.connect(self.node_requested)
        self.faults.node_requested.connect(self.node_requested)
        self.problems.node_requested.connect(self.node_requested)
        self.parts.node_requested.connect(self.node_requested)
        self.whole.node_requested.connect(self.node_requested)

    def set_recognition(self, store: RecognitionStore) -> None:
        """Show what this store knows about the document; called once."""
        self._recognition = store
        store.changed.connect(self._show_recognition)

    def show_node(self, checkpoint: Checkpoint, node: int) -> None:
        """Show one node."""
        self._begin(checkpoint)
        nodes = checkpoint.nodes
        kind = Kind(nodes.kind[node])
        self.problem.show_words(problem_words(checkpoint, node))
        self.lead.show_words(lead_words(checkpoint, node))
        facts: list[Fact] = []
        if kind == Kind.LINK:
            target = nodes.value[node]
            assert isinstance(target, int)
            self._target = target
            self.jump.setText(jump_words(checkpoint, target))
            self.jump.show()
        elif kind in (Kind.SCALAR, Kind.TEXT):
            self.value.show_value(value_words(nodes.value[node]), nodes.type_name(node), code=kind == Kind.TEXT)
            self.value.show()
        elif kind == Kind.TENSOR:
            tensor = checkpoint.tensor_of_node(node)
            assert tensor is not None
            if (problem := tensor_problem(tensor)) is not None:
                self.problem.show_words(f"✕ {problem}")
            facts = tensor_facts(checkpoint, node, tensor)
            wanted = frozenset({tensor.number})
            self._runner.start(names_task(checkpoint, wanted, besides=node), self._show_names)
        elif kind == Kind.STORAGE:
            number = nodes.value[node]
            assert isinstance(number, int)
            facts = storage_facts(checkpoint, checkpoint.storage(number))
        self._show_facts(facts)
        if kind in _CONTAINERS:
            facts.append(Fact("type", nodes.type_name(node)))
            self._sum_up([node], [*facts, Fact("entries", format_count(nodes.n_children[node]))])
            rows, n_more = small_value_rows(checkpoint, node)
            if n_more:
                rows.append((Cell(f"… and {format_count(n_more)} more", muted=True), Cell(""), Cell("")))
            self._show_section(self._values_head, self.values, bool(rows))
            self.values.show_rows(rows, HEADS)
        if node == 0:
            self._is_whole = True
            self._show_file(checkpoint)
            self._show_recognition()
            self._whole_runner.start(whole_task(checkpoint), self._show_whole)

    def show_group(self, checkpoint: Checkpoint, name: str, nodes: Sequence[int]) -> None:
        """Show a group that only the tree knows: entries whose names begin alike."""
        self._begin(checkpoint)
        self.lead.show_words(f"Entries whose names begin with {name}")
        self._sum_up(nodes, [Fact("entries", format_count(len(nodes)))])

    def clear(self) -> None:
        """Show nothing, and stop what runs."""
        self._runner.stop()
        self._whole_runner.stop()
        self._checkpoint = None
        self._is_whole = False

    def _begin(self, checkpoint: Checkpoint) -> None:
        self.clear()
        self._checkpoint = checkpoint
        self._target = None
        self._tied = []
        for widget in self._optional:
            widget.hide()
        self.verticalScrollBar().setValue(0)

    def _show_facts(self, facts: list[Fact]) -> None:
        self._facts = facts
        found = self._recognition.recognition if self._is_whole and self._recognition is not None else None
        if found is not None and self._checkpoint is not None:
            facts = facts + model_facts(self._checkpoint, found)
        if self._is_whole:
            facts = facts + self._tied
        self.facts.setVisible(bool(facts))
        self.facts.show_facts(facts)

    def _show_recognition(self) -> None:
        if not self._is_whole or self._checkpoint is None or self._recognition is None:
            return
        self.parts.show()
        if (found := self._recognition.recognition) is not None:
            self.parts.show_recognition(self._checkpoint, found)
            self._show_facts(self._facts)
        elif (error := self._recognition.failure) is not None:
            self.parts.show_failure(error)
        else:
            self.parts.show_waiting()

    def _show_whole(self, facts: WholeFacts) -> None:
        assert self._checkpoint is not None
        self.problems.setVisible(bool(facts.tensors))
        self._facts_head.setVisible(bool(facts.tensors))
        self.problems.show_checkpoint(self._checkpoint, facts.node_of)
        self.whole.setVisible(bool(facts.tensors))
        self.whole.show_facts(self._checkpoint, facts)
        self._tied = tied_facts(facts)
        self._show_facts(self._facts)

    def _sum_up(self, roots: Sequence[int], facts: list[Fact]) -> None:
        assert self._checkpoint is not None
        self._show_facts([*facts, Fact("tensors", "adding up …", plain=True)])
        self._runner.start(subtree_task(self._checkpoint, roots), partial(self._show_sums, facts))

    def _show_sums(self, facts: list[Fact], sums: SubtreeFacts) -> None:
        assert self._checkpoint is not None
        self._show_facts(facts + subtree_fact_rows(sums))
        self._show_section(self._dtype_head, self.dtypes, bool(sums.by_dtype))
        self.dtypes.show_jumps(dtype_rows(sums), DTYPE_HEADS)
        self._show_section(self._faults_head, self.faults, bool(sums.problems))
        self.faults.show_nodes(self._checkpoint, sums.problems)

    def _show_names(self, nodes: list[int]) -> None:
        self.names.show_nodes(self._checkpoint, nodes)
        self._show_section(self._names_head, self.names, bool(nodes))

    def _show_file(self, checkpoint: Checkpoint) -> None:
        self._show_section(self._file_head, self.file, True)
        self.file.show_facts(file_facts(checkpoint))
        self.content_name.show()
        self._warnings_head.setVisible(bool(checkpoint.warnings))
        warnings = [f"⚠ {warning}" for warning in checkpoint.warnings[:_MOST_ROWS]]
        if (n_more := len(checkpoint.warnings) - _MOST_ROWS) > 0:
            warnings.append(f"… and {format_count(n_more)} more")
        self.warnings.show_words("\n".join(warnings))
        self._show_section(self._globals_head, self.globals, bool(checkpoint.globals))
        rows = [
            (
                Cell(use.dotted),
                Cell(format_count(use.count), right=True),
                Cell("plain data or tensors" if use.harmless else "⚠ not known; not imported", plain=True),
            )
            for use in sorted(checkpoint.globals, key=attrgetter("harmless"))[:_MOST_ROWS]
        ]
        if (n_more := len(checkpoint.globals) - _MOST_ROWS) > 0:
            rows.append((Cell(f"… and {format_count(n_more)} more", plain=True), Cell(""), Cell("")))
        self.globals.show_rows(rows, ("name", "times", "what it makes"))

    def _name_content(self) -> None:
        """As the action of the menu does, where the window has it."""
        if (action := self.window().findChild(QAction, "content_name")) is not None:
            action.trigger()

    def _jump(self) -> None:
        if self._target is not None:
            self.node_requested.emit(self._target)

    def _show_section(self, head: QWidget, body: QWidget, shown: bool) -> None:
        head.setVisible(shown)
        body.setVisible(shown)

    def _add(self, title: str, widget: _Widget) -> tuple[SectionLabel, _Widget]:
        head = self.section(title)
        self.column.addWidget(widget)
        return head, widget
