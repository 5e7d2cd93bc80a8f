"""What has to be said, above the documents and never in the way: a sentence, its details, and a way out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from PySide6.QtCore import QSize, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QColor, QGuiApplication, QPainter, QPaintEvent
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLabel,
    QPlainTextEdit,
    QPushButton,
    QSizePolicy,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from viewer.engine.faults import EngineFault
from viewer.errors import ViewerError
from viewer.gui.icons import IconSet, tinted
from viewer.gui.override import override
from viewer.gui.theme import Theme
from viewer.report.wording import printable

MessageKind: TypeAlias = Literal["info", "ok", "warning", "error"]
MAX_MESSAGES: Final = 3
"""More would push the document off a small screen; the oldest goes."""
_LEFT_TO_RIGHT: Final = "\u200e"
_INFO_MS: Final = 8_000
_MAX_DETAILS: Final = 20_000
_COLORS: Final[dict[str, str]] = {"info": "accent", "ok": "ok", "warning": "warning", "error": "error"}


@dataclass(frozen=True, slots=True)
class Message:
    """Something to say.

    Attributes
    ----------
    kind
        Infos go by themselves after some seconds, but for those that offer something.
    text
        One or two sentences.
    details
        Longer text, shown on request; "" for none.
    action, on_action
        A way out ("Retry") and what it does; "" and None for none. The message goes when it is taken.
    key
        A newer message with the same key takes the older one's place; "" for none.
    report
        True for faults of the program: a report can be copied.
    """

    kind: MessageKind
    text: str
    details: str = ""
    action: str = ""
    on_action: Callable[[], object] | None = None
    key: str = ""
    report: bool = False

    @classmethod
    def of(
        cls, error: ViewerError, *, action: str = "", on_action: Callable[[], object] | None = None, key: str = ""
    ) -> Message:
        """An error as a message; its details are the whole path, and of a bug the traceback."""
        parts = ["" if error.path is None else str(error.path)]
        if isinstance(error, EngineFault):
            parts.append(error.details)
        details = "\n".join(filter(None, parts))
        return cls(
            "error",
            "\n".join(map(printable, str(error).split("\n"))),
            details,
            action,
            on_action,
            key,
            report=isinstance(error, EngineFault),
        )


class MessageBar(QWidget):
    """Holds up to MAX_MESSAGES messages, the newest on top; takes no room when there are none.

    Signals
    -------
    report_asked
        Carries the Message about a fault whose report is wanted.
    """

    report_asked = Signal(object)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._rows: list[_Row] = []
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(0)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Minimum)
        self.hide()

    @property
    def messages(self) -> list[Message]:
        """What is being said, the newest first."""
        return [row.message for row in self._rows]

    def say(self, message: Message) -> None:
        """Show a message. Focus stays where it is."""
        for row in list(self._rows):
            if message.key and row.message.key == message.key:
                self._remove(row)
        row = _Row(self._theme, message, self)
        row.dismissed.connect(self._remove)
        row.report_asked.connect(self.report_asked)
        self._rows.insert(0, row)
        self._column.insertWidget(0, row)
        for surplus in self._rows[MAX_MESSAGES:]:
            self._remove(surplus)
        self.show()

    def dismiss(self, key: str) -> None:
        """Take back the message with this key."""
        for row in list(self._rows):
            if row.message.key == key:
                self._remove(row)

    @Slot(object)
    def _remove(self, row: _Row) -> None:
        if row in self._rows:
            self._rows.remove(row)
            self._column.removeWidget(row)
            row.hide()
            row.deleteLater()
            self.setVisible(bool(self._rows))


class _Row(QWidget):
    dismissed = Signal(object)
    report_asked = Signal(object)

    def __init__(self, theme: Theme, message: Message, parent: QWidget) -> None:
        super().__init__(parent)
        self.message = message
        self._theme = theme
        self._icon = QLabel(self)
        # The sentence runs from left to right also where it begins with a name that does not.
        self._text = QLabel(message.text if message.text[:1].isascii() else f"{_LEFT_TO_RIGHT}{message.text}", self)
        self._text.setTextFormat(Qt.TextFormat.PlainText)  # names in the file are not markup
        self._text.setWordWrap(True)
        self._text.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        policy = QSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)  # as the label said before: a long text takes more lines
        self._text.setSizePolicy(policy)
        self._close = QToolButton(self)
        self._close.setProperty("role", "flat")
        self._close.setIconSize(QSize(14, 14))
        self._close.setAccessibleName("Dismiss")
        self._close.setToolTip("Dismiss")
        self._close.clicked.connect(self._dismiss)
        self._details: QPlainTextEdit | None = None
        line = QHBoxLayout()
        line.setContentsMargins(16, 6, 8, 6)
        line.setSpacing(8)
        line.addWidget(self._icon, 0, Qt.AlignmentFlag.AlignVCenter)
        line.addWidget(self._text, 1)
        if message.action and message.on_action is not None:
            line.addWidget(self._button(message.action, self._act))
        if message.details:
            self._details_button = self._button("Details", self._toggle_details)
            self._details_button.setCheckable(True)
            line.addWidget(self._details_button)
        if message.report:
            report = self._button("Copy report", self._ask_report)
            report.setToolTip("Copy versions, platform, what happened, and facts about the open files without values")
            line.addWidget(report)
        elif message.kind != "info":
            line.addWidget(self._button("Copy", self._copy))
        line.addWidget(self._close)
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 1)
        self._column.setSpacing(0)
        self._column.addLayout(line)
        self.setAccessibleName(message.text)
        theme.changed.connect(self._take_theme)
        self._take_theme()
        if message.kind in ("info", "ok") and not message.action:
            self._expiry = QTimer(self, singleShot=True, interval=_INFO_MS)  # goes with the row, unlike a static shot
            self._expiry.timeout.connect(self._dismiss)
            self._expiry.start()

    def _button(self, text: str, on_click: Callable[[], None]) -> QPushButton:
        button = QPushButton(text, self)
        button.setProperty("role", "flat")
        button.clicked.connect(on_click)
        return button

    @Slot()
    def _dismiss(self) -> None:
        self.dismissed.emit(self)

    @Slot()
    def _ask_report(self) -> None:
        self.report_asked.emit(self.message)

    @Slot()
    def _act(self) -> None:
        on_action = self.message.on_action
        self.dismissed.emit(self)
        if on_action is not None:
            on_action()

    @Slot()
    def _copy(self) -> None:
        QGuiApplication.clipboard().setText("\n".join(filter(None, (self.message.text, self.message.details))))

    @Slot()
    def _toggle_details(self) -> None:
        if self._details is None:
            self._details = QPlainTextEdit(self.message.details[:_MAX_DETAILS], self)
            self._details.setReadOnly(True)
            self._details.setFont(self._theme.mono(-1))
            lines = min(10, self.message.details.count("\n") + 2)
            self._details.setFixedHeight(lines * self._details.fontMetrics().lineSpacing() + 16)
            self._details.setAccessibleName("Details of the message")
            self._details.setProperty("role", "message")
            self._column.addWidget(self._details)
            self._details.show()
        else:
            self._details.setVisible(not self._details.isVisibleTo(self))

    @Slot()
    def _take_theme(self) -> None:
        tokens = self._theme.tokens
        color = getattr(tokens, _COLORS[self.message.kind])
        self._icon.setPixmap(tinted(self.message.kind, color, 16, self.devicePixelRatioF()))
        self._close.setIcon(IconSet(tokens).icon("close", "muted"))
        self.update()

    @override
    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: ARG002
        painter = QPainter(self)
        color = QColor(self._theme.color(_COLORS[self.message.kind]))
        painter.fillRect(self.rect(), self._theme.color("base"))
        tint = QColor(color)
        tint.setAlphaF(0.10)
        painter.fillRect(self.rect(), tint)
        painter.fillRect(0, 0, 4, self.height(), color)
        painter.fillRect(0, self.height() - 1, self.width(), 1, self._theme.color("border"))
