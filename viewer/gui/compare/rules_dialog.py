"""Rules that rewrite names before they are matched, one a line; what they would do is said before that."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from PySide6.QtCore import Qt, QTimer
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QLabel, QPlainTextEdit, QVBoxLayout, QWidget

from viewer.compare.comparison import NOTHING
from viewer.compare.names import parse_rule
from viewer.compare.results import CompareOptions, RenameRule, Structure
from viewer.engine.protocol import CompareStructure
from viewer.errors import ViewerError
from viewer.gui.compare.bars import side_words
from viewer.gui.engine_bridge import EngineBridge
from viewer.gui.format import format_count
from viewer.gui.theme import Theme

_SETTLES_MS: Final = 300
_HELP: Final = (
    "One rule a line: REGEX=>REPLACEMENT, in order, for the names of both sides; "
    "a: or b: before it for the left or the right alone.\n"
    "Example: a:^module\\.=> takes “module.” away on the left."
)


class RulesDialog(QDialog):
    """Calls back with the rules."""

    def __init__(
        self,
        bridge: EngineBridge,
        theme: Theme,
        documents: tuple[int, int],
        options: CompareOptions,
        apply: Callable[[tuple[RenameRule, ...]], None],
        parent: QWidget,
    ) -> None:
        super().__init__(parent)
        self._bridge = bridge
        self._documents = documents
        self._options = options
        self._apply = apply
        self.setWindowTitle("Rename rules")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        help_ = QLabel(_HELP, self)
        help_.setWordWrap(True)
        help_.setProperty("role", "muted")
        self.editor = QPlainTextEdit("\n".join(map(str, options.rules)), self)
        self.editor.setFont(theme.mono())
        self.editor.setAccessibleName("Rename rules")
        self.editor.setPlaceholderText(r"^module\.=>")
        self.editor.setStyleSheet(f"QPlainTextEdit {{ border: 1px solid {theme.color('border').name()}; }}")
        self.told = QLabel(self)
        self.told.setWordWrap(True)
        self.told.setTextFormat(Qt.TextFormat.PlainText)
        self.told.setMinimumHeight(3 * self.fontMetrics().lineSpacing())
        self.told.setAlignment(Qt.AlignmentFlag.AlignTop)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel, self)
        self.go = buttons.addButton("Apply", QDialogButtonBox.ButtonRole.AcceptRole)
        self.go.setDefault(True)
        buttons.accepted.connect(self.accept)
        buttons.rejected.connect(self.reject)
        column = QVBoxLayout(self)
        column.setSpacing(10)
        for widget in (help_, self.editor, self.told, buttons):
            column.addWidget(widget)
        self.resize(560, 340)
        self._settle = QTimer(self, singleShot=True, interval=_SETTLES_MS)
        self._settle.timeout.connect(self._ask)
        self.editor.textChanged.connect(self._look)
        self.accepted.connect(self._tell)
        self.finished.connect(self._release)
        self._look()

    def rules(self) -> tuple[RenameRule, ...]:
        """The rules as they are written; raises ViewerError."""
        lines = (line.strip() for line in self.editor.toPlainText().splitlines())
        return tuple(parse_rule(line) for line in lines if line)

    def _look(self) -> None:
        try:
            self.rules()
        except ViewerError as error:
            self.told.setText(str(error))
            self.go.setEnabled(False)
            self._settle.stop()
            return
        self.go.setEnabled(True)
        self.told.setText("Looking what these rules match …")
        self._settle.start()

    def _ask(self) -> None:
        self._bridge.submit(
            CompareStructure(*self._documents, replace(self._options, rules=self.rules())),
            owner=self,
            on_result=self._take,
            on_failure=self._fail,
            supersede="rules",
        )

    def _take(self, structure: Structure) -> None:
        rows = structure.rows
        leaves = [row for row in range(len(rows)) if not rows.n_children[row]]
        left = sum(rows.node_b[row] == NOTHING for row in leaves)
        right = sum(rows.node_a[row] == NOTHING for row in leaves)
        pairs = len(leaves) - left - right
        text = (
            f"With these rules {format_count(pairs)} entries stand on both sides, {format_count(left)} only on the "
            f"left, {format_count(right)} only on the right."
        )
        self.told.setText("\n".join([text, *(f"⚠ {side_words(warning)}" for warning in structure.warnings)]))

    def _fail(self, error: ViewerError) -> None:
        self.told.setText(str(error))

    def _tell(self) -> None:
        self._apply(self.rules())

    def _release(self) -> None:
        self._settle.stop()
        self._bridge.release(self)
