"""The export dialog: what to write and where, what that would do, and what was written."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from PySide6.QtCore import Qt, QTimer, Signal, Slot
from PySide6.QtGui import QIcon
from PySide6.QtWidgets import (
    QDialogButtonBox,
    QFileDialog,
    QFrame,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QMessageBox,
    QPushButton,
    QSizePolicy,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.meaning.results import Recognition
from viewer.engine.export_requests import CountCasts, Export, PlanExport, RemoveAbandoned
from viewer.errors import Cancelled, EngineLost, ViewerError
from viewer.export.options import Cast, ExportPlan, ExportResult
from viewer.gui.details.page import WordsLabel
from viewer.gui.dialogs import without_icons
from viewer.gui.engine_bridge import EngineBridge
from viewer.gui.export.choices import given_target, part_choices, proposed_target, target_state, with_flavour
from viewer.gui.export.form import ExportForm
from viewer.gui.export.job_dialog import JobDialog
from viewer.gui.export.parts import ListingPage
from viewer.gui.export.result_view import ResultView
from viewer.gui.export.rows import CAST_HEADS, CAST_OPTIONAL, cast_listing, cast_words, finding_listings, plan_words
from viewer.gui.override import override
from viewer.gui.theme import Theme
from viewer.report.wording import printable
from viewer.task import Progress

_PLAN_AFTER_MS: Final = 150
"""A plan reads the file's structure again: not for every letter of a prefix."""
_FORM_WIDTH: Final = 340


class ExportDialog(JobDialog):
    """Chooses, shows the plan as it changes, writes, and shows the result.

    Parameters
    ----------
    node
        What is current in the tree.
    at_node
        True where that is what is to be written.

    Signals
    -------
    path_requested
        Carries a path of the document that the person wants to see.
    open_asked
        Carries the Path that was written.
    compare_asked
        Carries the Paths of the source and of what was written.
    """

    path_requested = Signal(str)
    open_asked = Signal(object)
    compare_asked = Signal(object, object)

    def __init__(
        self,
        bridge: EngineBridge,
        theme: Theme,
        document: int,
        checkpoint: Checkpoint,
        node: int | None,
        parent: QWidget,
        *,
        at_node: bool = False,
    ) -> None:
        super().__init__(bridge, theme, f"Export {printable(checkpoint.path.name)}", parent)
        self._document, self._checkpoint, self._node = document, checkpoint, node
        self._recognition: Recognition | None = None
        self._proposed = self._shown = ""
        self._folder: Path | None = None
        self._counting = False
        self.plan: ExportPlan | None = None
        self.written_file: ExportResult | None = None
        choices = part_choices(checkpoint, None, node)
        self.form = ExportForm(theme, choices, self)
        self.plan_title = QLabel(self)
        self.plan_line = WordsLabel(theme, "muted", self)
        self.findings = ListingPage(theme, self)
        self.target = QLineEdit(self)
        self.browse = QPushButton("Browse…", self)
        self.fault = WordsLabel(theme, "error", self)
        self.notice = WordsLabel(theme, "muted", self)
        for label in (self.fault, self.notice):
            label.hide()
        self.written = ResultView(theme, self)
        self._plan_later = QTimer(self, singleShot=True, interval=_PLAN_AFTER_MS)
        self._stack = QStackedWidget(self)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close, self)
        self.go = buttons.addButton("Export", QDialogButtonBox.ButtonRole.ActionRole)
        self._lay_out(without_icons(buttons))
        self._connect(buttons)
        if at_node and len(choices) > 1:
            self.form.set_choices(choices, 1)
        self._options_changed()

    def set_recognition(self, recognition: Recognition | None) -> None:
        """Offer what was recognised, too."""
        self._recognition = recognition
        self.form.set_choices(part_choices(self._checkpoint, recognition, self._node))

    def renew(self, document: int, checkpoint: Checkpoint) -> None:
        """The file was read again: go on with what it holds now."""
        self._document, self._checkpoint, self._node = document, checkpoint, None
        self.set_recognition(None)
        self._options_changed()

    # Planning

    @Slot()
    def _options_changed(self) -> None:
        options = self.form.options
        if self.target.text() == self._shown:
            self._proposed = str(proposed_target(self._checkpoint.path, self.form.choice, options.flavour))
            self.target.setText(self._proposed)
            self._shown = self.target.text()
        else:
            self.target.setText(with_flavour(self.target.text(), options.flavour))
        self.plan = None
        self._say("")
        self._look()
        self.plan_title.setText("Looking at what would be written …")
        self._plan_later.start()

    @Slot()
    def _ask_plan(self) -> None:
        self._bridge.submit(
            PlanExport(self._document, self.form.options),
            owner=self,
            on_result=self._take_plan,
            on_failure=self._no_plan,
            supersede="plan",
        )

    def _take_plan(self, plan: ExportPlan) -> None:
        if plan.options != self.form.options:
            return  # of choices that were changed meanwhile
        self.plan = plan
        title, line = plan_words(plan)
        self.plan_title.setText(title)
        self.plan_line.show_words(line)
        self.findings.clear()
        for listing in finding_listings(plan.findings):
            self.findings.add_listing(listing)
        if plan.options.cast:
            self.findings.add_words(
                f"Floating-point tensors become {plan.options.cast}. How many values change, and the largest error, "
                "are counted while they are written; to know before, count now."
            )
            self.findings.add(self._count_button())
        if not plan.findings and not plan.options.cast:
            self.findings.add_words("Nothing is left out, changed or separated.")
        self._look()

    def _count_button(self) -> QPushButton:
        button = QPushButton("Count &now", self.findings.body)
        button.setToolTip("Read what is to be cast, and count what changes; nothing is written")
        button.setAutoDefault(False)
        button.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        button.clicked.connect(self.count_casts)
        return button

    @Slot()
    def count_casts(self) -> None:
        """Have the engine count what the cast changes, without writing."""
        if self.plan is None or self.plan.obstacles or self.is_running:
            return
        self._say("")
        self._counting = True
        self.run(CountCasts(self._document, self.plan.options), "Counting", self._take_casts, self._not_counted)
        self._look()

    def _take_casts(self, casts: list[Cast]) -> None:
        self._counting = False
        if self.plan is not None:
            self.findings.clear()
            self.findings.add_title("Cast")
            self.findings.add_words(cast_words(casts) or "There is no floating-point tensor to cast.", "text")
            if casts:
                self.findings.add_listing(cast_listing(casts), CAST_HEADS, CAST_OPTIONAL)
            for listing in finding_listings(self.plan.findings):
                self.findings.add_listing(listing)
        self._look()

    def _not_counted(self, error: ViewerError) -> None:
        self._counting = False
        if isinstance(error, Cancelled):
            self.notice.show_words("Cancelled. Nothing was counted.")
        else:
            self._say(str(error))
        self._look()

    def _no_plan(self, error: ViewerError) -> None:
        if isinstance(error, Cancelled):
            return
        self.plan_title.setText("This cannot be written")
        self.plan_line.show_words(str(error))
        self.findings.clear()

    @Slot()
    def _look(self) -> None:
        """Which buttons can be pressed."""
        ready = self.plan is not None and not self.plan.obstacles and bool(self.target.text().strip())
        self.go.setEnabled(ready and not self.is_running)
        for widget in (self.form, self.target, self.browse):
            widget.setEnabled(not self.is_running)

    # Writing

    @Slot()
    def _start(self) -> None:
        if self.written_file is not None:
            self._choose_again()
            return
        self._say("")
        target = given_target(self.target.text(), self._proposed, self._shown)
        state = target_state(target, self._checkpoint.files)
        if state == "source":
            self._say("This is the file that is being read, by this or another name. Choose another.")
        elif state == "there":
            self._ask_to_replace(target)
        else:
            self.write(target, force=False)

    def _ask_to_replace(self, target: Path) -> None:
        box = QMessageBox(self)
        box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        box.setIcon(QMessageBox.Icon.NoIcon)
        box.setWindowTitle("Replace the file?")
        box.setTextFormat(Qt.TextFormat.PlainText)
        box.setText(f"{target.name} is there already.")
        box.setInformativeText(f"In {target.parent}. It stays as it is until the new file is complete and verified.")
        replace = box.addButton("Replace", QMessageBox.ButtonRole.AcceptRole)
        cancel = box.addButton(QMessageBox.StandardButton.Cancel)
        cancel.setIcon(QIcon())
        box.setDefaultButton(cancel)

        def chosen() -> None:
            if box.clickedButton() is replace:
                self.write(target, force=True)

        box.finished.connect(chosen)
        box.open()

    def write(self, target: Path, *, force: bool) -> None:
        """Have the engine write what is chosen."""
        self._say("")
        self._folder = target.parent
        self.run(
            Export(self._document, target, self.form.options, force), "Writing", self._take_result, self._not_written
        )
        self._look()

    def _take_result(self, result: ExportResult) -> None:
        self.written_file = result
        self.written.show_result(result)
        self._stack.setCurrentWidget(self.written)
        self.go.setText("Export again…")
        self.go.setEnabled(True)

    def _not_written(self, error: ViewerError) -> None:
        if isinstance(error, EngineLost) and self._folder is not None:
            # It could not tidy up itself.
            self._bridge.submit(RemoveAbandoned(self._folder), owner=self, on_result=_ignore, on_failure=_ignore)
        if isinstance(error, Cancelled):
            self.notice.show_words("Cancelled. Nothing was written.")
        else:
            self._say(str(error))
        self._look()

    def _say(self, fault: str) -> None:
        """Say why nothing is written; "" forgets what was said."""
        self.fault.show_words(fault)
        self.notice.show_words("")

    @override
    def _progress(self, progress: Progress) -> None:
        # The bytes count twice: written, and read back to be compared.
        if self._counting:
            super()._progress(progress)
        elif self.running.cancel.isEnabled():
            self.running.take(progress, "Verifying" if 2 * progress.done > progress.total else "Writing")

    def _choose_again(self) -> None:
        self.written_file = None
        self.go.setText("Export")
        self._stack.setCurrentIndex(0)
        self._look()

    @override
    def reject(self) -> None:
        """Escape stops a job first, and closes then."""
        if self.is_running:
            self.cancel()
        else:
            super().reject()

    # Putting together

    @Slot()
    def _browse(self) -> None:
        dialog = QFileDialog(self, "Export to", str(Path(self.target.text()).parent))
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setFileMode(QFileDialog.FileMode.AnyFile)
        dialog.setOption(QFileDialog.Option.DontConfirmOverwrite)  # the export asks, whichever way the name came
        dialog.selectFile(Path(self.target.text()).name)
        dialog.fileSelected.connect(self.target.setText)
        dialog.open()

    @Slot()
    def _ask_open(self) -> None:
        if self.written_file is not None:
            self.open_asked.emit(self.written_file.path)

    @Slot()
    def _ask_compare(self) -> None:
        if self.written_file is not None:
            self.compare_asked.emit(self._checkpoint.path, self.written_file.path)

    def _connect(self, buttons: QDialogButtonBox) -> None:
        self.form.changed.connect(self._options_changed)
        self.target.textChanged.connect(self._look)
        self.browse.clicked.connect(self._browse)
        self.go.clicked.connect(self._start)
        buttons.rejected.connect(self.reject)
        self._plan_later.timeout.connect(self._ask_plan)
        self.findings.path_requested.connect(self.path_requested)
        self.written.path_requested.connect(self.path_requested)
        self.written.open_asked.connect(self._ask_open)
        self.written.compare_asked.connect(self._ask_compare)

    def _lay_out(self, buttons: QDialogButtonBox) -> None:
        self.go.setDefault(True)
        self.target.setFont(self._theme.mono())
        self.target.setAccessibleName("File to write")
        font = self.plan_title.font()
        font.setWeight(font.Weight.DemiBold)
        self.plan_title.setFont(font)
        for label in (self.plan_title, self.plan_line):
            label.setContentsMargins(16, 0, 16, 0)  # where the findings' text begins
        planned = QFrame(self)
        planned.setProperty("role", "panel")
        right = QVBoxLayout(planned)
        right.setContentsMargins(0, 12, 0, 0)
        right.setSpacing(4)
        right.addWidget(self.plan_title)
        right.addWidget(self.plan_line)
        right.addWidget(self.findings, 1)
        self.form.setFixedWidth(_FORM_WIDTH)
        halves = QHBoxLayout()
        halves.setSpacing(16)
        halves.addWidget(self.form, 0, Qt.AlignmentFlag.AlignTop)
        halves.addWidget(planned, 1)
        where = QHBoxLayout()
        where.setSpacing(8)
        label = QLabel("Write &to", self)
        label.setBuddy(self.target)
        where.addWidget(label)
        where.addWidget(self.target, 1)
        where.addWidget(self.browse)
        choosing = QWidget(self)
        column = QVBoxLayout(choosing)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(12)
        column.addLayout(halves, 1)
        column.addLayout(where)
        self._stack.addWidget(choosing)
        self._stack.addWidget(self.written)
        whole = QVBoxLayout(self)
        whole.setContentsMargins(16, 16, 16, 16)
        whole.setSpacing(12)
        whole.addWidget(self._stack, 1)
        whole.addWidget(self.fault)
        whole.addWidget(self.notice)
        whole.addWidget(self.running)
        whole.addWidget(buttons)
        self.resize(920, 560)


def _ignore(_answer: object) -> None:
    """Of what nobody waits for: the next export into that folder does the same."""
