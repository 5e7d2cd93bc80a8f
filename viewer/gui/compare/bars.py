"""Lines between the verdict and the tree: renames that are offered, rules that are applied, and what must be said."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QSizePolicy, QVBoxLayout, QWidget

from viewer.compare.results import RenameOffer, RenameRule
from viewer.gui.details.tips import plain_tip
from viewer.gui.format import format_count
from viewer.gui.icons import IconSet, tinted
from viewer.gui.theme import Theme

_MAX_OFFERS: Final = 2
"""Shown at a time: others come when these are applied or ignored."""
_SIDES: Final = {"a": "on the left", "b": "on the right", "": "on either side"}


def offer_words(offer: RenameOffer) -> str:
    """An offer as a sentence: "`module.` in front of 62 names on the left explains the mismatch"."""
    rule, count = offer.rule, format_count(offer.matches)
    names = f"{count} names" if offer.matches != 1 else "one name"
    text = re.sub(r"\\(.)", r"\1", rule.pattern.removeprefix("^"))
    where = _SIDES[rule.side]
    if rule.replacement:
        return f"“{rule.replacement}” in place of “{text}” {where} would pair {names}"
    place = "in front of" if rule.pattern.startswith("^") else "inside"
    return f"“{text}” {place} {names} {where} explains the mismatch"


def rule_words(rule: RenameRule) -> str:
    """A rule that is applied, for its chip: "left: ^module\\. → nothing"."""
    side = {"a": "left: ", "b": "right: ", "": ""}[rule.side]
    return f"{side}{rule.pattern} → {rule.replacement or 'nothing'}"


def side_words(text: str) -> str:
    """A sentence of the comparison, which calls the sides a and b, in the window's words."""
    names = {"a": "left", "b": "right"}
    text = re.sub(r"\bon side ([ab])\b", lambda found: f"on the {names[found[1]]}", text)
    text = re.sub(r"^([ab]) has an optimizer", lambda found: f"The {names[found[1]]} has an optimizer", text)
    return re.sub(r"\bthe model of ([ab])\b", lambda found: f"the model on the {names[found[1]]}", text)


class CompareBars(QWidget):
    """
    Signals
    -------
    rule_applied, rule_removed
        Carry the RenameRule.
    offer_ignored
        Carries the RenameRule that is not to be offered again.
    reload_wanted
        A file changed, and is to be read again.
    """

    rule_applied = Signal(object)
    rule_removed = Signal(object)
    offer_ignored = Signal(object)
    reload_wanted = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(0)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        self._lines: list[QWidget] = []
        self._state: tuple[tuple[str, ...], tuple[RenameOffer, ...], tuple[RenameRule, ...], str] = ((), (), (), "")
        theme.changed.connect(self._build)
        self.hide()

    def show_state(
        self,
        warnings: Sequence[str],
        offers: Sequence[RenameOffer],
        rules: Sequence[RenameRule],
        changed: str = "",
    ) -> None:
        """Show all lines there are.

        Parameters
        ----------
        changed
            The sentence about files that changed on disk; "" for none.
        """
        state = tuple(warnings), tuple(offers[:_MAX_OFFERS]), tuple(rules), changed
        if state != self._state:
            self._state = state
            self._build()

    def texts(self) -> list[str]:
        """The sentences and chips, from top to bottom."""
        labels = [label for line in self._lines for label in line.findChildren(QLabel) if label.text()]
        chips = [chip for line in self._lines for chip in line.findChildren(QPushButton) if chip.property("rule")]
        return [label.text() for label in labels] + [chip.text() for chip in chips]

    def button(self, text: str) -> QPushButton:
        """The first button with a text."""
        found = [button for line in self._lines for button in line.findChildren(QPushButton) if button.text() == text]
        return found[0]

    def _build(self) -> None:
        for line in self._lines:
            self._column.removeWidget(line)
            line.hide()
            line.deleteLater()
        self._lines = []
        warnings, offers, rules, changed = self._state
        if changed:
            self._add(self._line("warning", changed, (("Reload", self.reload_wanted.emit),)))
        for offer in offers:
            apply = partial(self.rule_applied.emit, offer.rule)
            ignore = partial(self.offer_ignored.emit, offer.rule)
            line = self._line("info", offer_words(offer), (("Apply", apply), ("Ignore", ignore)))
            line.setToolTip(
                plain_tip(f"{offer.example[0]} would be {offer.example[1]}; {offer.same_shape:,} of the same shape")
            )
            self._add(line)
        if rules:
            self._add(self._chips(rules))
        for warning in warnings:
            self._add(self._line("warning", side_words(warning), ()))
        self.setVisible(bool(self._lines))

    def _add(self, line: QWidget) -> None:
        self._lines.append(line)
        self._column.addWidget(line)

    def _line(self, kind: str, text: str, buttons: Sequence[tuple[str, Callable[[], object]]]) -> QWidget:
        line = QWidget(self)
        row = QHBoxLayout(line)
        row.setContentsMargins(12, 2, 12, 4)
        row.setSpacing(8)
        icon = QLabel(line)
        color = getattr(self._theme.tokens, "accent" if kind == "info" else kind)
        icon.setPixmap(tinted(kind, color, 16, self.devicePixelRatioF()))
        label = QLabel(text, line)
        label.setTextFormat(Qt.TextFormat.PlainText)
        label.setWordWrap(True)
        label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        row.addWidget(icon)
        row.addWidget(label, 1)
        for words, on_click in buttons:
            button = QPushButton(words, line)
            button.clicked.connect(on_click)
            row.addWidget(button)
        return line

    def _chips(self, rules: Sequence[RenameRule]) -> QWidget:
        line = QWidget(self)
        row = QHBoxLayout(line)
        row.setContentsMargins(12, 2, 12, 4)
        row.setSpacing(8)
        told = QLabel("Renamed:", line)
        told.setProperty("role", "muted")
        row.addWidget(told)
        close = IconSet(self._theme.tokens).icon("close", "muted")
        for rule in rules:
            chip = QPushButton(rule_words(rule), line)
            chip.setProperty("role", "chip")
            chip.setProperty("rule", True)
            chip.setIcon(close)
            chip.setIconSize(QSize(11, 11))
            chip.setLayoutDirection(Qt.LayoutDirection.RightToLeft)
            chip.setToolTip("Remove this rule")
            chip.setAccessibleName(f"Remove the rule {rule_words(rule)}")
            chip.clicked.connect(partial(self.rule_removed.emit, rule))
            row.addWidget(chip)
        row.addStretch(1)
        return line
