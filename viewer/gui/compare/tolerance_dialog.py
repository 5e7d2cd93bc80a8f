"""How close numbers have to be: not at all, a pair of one's own, or what fits each pair of dtypes."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QButtonGroup,
    QDialog,
    QDialogButtonBox,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QRadioButton,
    QVBoxLayout,
    QWidget,
)

from viewer.checkpoint.dtypes import DTYPES
from viewer.checkpoint.nodes import Kind
from viewer.compare.comparison import NOTHING, Comparison
from viewer.compare.results import CompareOptions, Tolerance
from viewer.compare.tolerance import preset
from viewer.gui.theme import Theme

_NONE, _PRESET, _OWN = range(3)
_MEANING: Final = (
    "Numbers are close when |a−b| ≤ atol + rtol · max(|a|, |b|): the same whichever file is left. "
    "What is close is marked ≈ and is no difference."
)
_MAX_PAIRS: Final = 6


def tolerance_words(options: CompareOptions) -> str:
    """For the button: "none", "by dtype", "rtol 1e-05, atol 1e-08"."""
    if options.preset:
        return "by dtype"
    if options.tolerance is None:
        return "none"
    return f"rtol {options.tolerance.rtol:g}, atol {options.tolerance.atol:g}"


def preset_lines(comparison: Comparison) -> list[str]:
    """What "by dtype" means for the dtypes that are compared: "float32 with bfloat16: rtol 0.016, atol 1e-05"."""
    rows = comparison.rows
    pairs: dict[tuple[str, str], None] = {}
    for row, is_value in enumerate(rows.is_value):
        if is_value and NOTHING not in (rows.node_a[row], rows.node_b[row]):
            nodes_a, nodes_b = comparison.a.nodes, comparison.b.nodes
            node_a, node_b = rows.node_a[row], rows.node_b[row]
            left, right = nodes_a.value[node_a], nodes_b.value[node_b]
            kinds = nodes_a.kind[node_a], nodes_b.kind[node_b]
            if kinds == (Kind.TENSOR, Kind.TENSOR) and isinstance(left, int) and isinstance(right, int):
                codes = comparison.a.tensors.dtype[left], comparison.b.tensors.dtype[right]
                pairs[DTYPES[codes[0]].name, DTYPES[codes[1]].name] = None
    lines = []
    for one, other in pairs:
        tolerance = preset(one, other)
        names = one if one == other else f"{one} with {other}"
        exact = tolerance.rtol == tolerance.atol == 0
        lines.append(f"{names}: " + ("exact" if exact else f"rtol {tolerance.rtol:g}, atol {tolerance.atol:g}"))
    return lines


class ToleranceDialog(QDialog):
    """Calls back with the new options."""

    def __init__(
        self,
        theme: Theme,
        options: CompareOptions,
        comparison: Comparison | None,
        apply: Callable[[CompareOptions], None],
        parent: QWidget,
    ) -> None:
        super().__init__(parent)
        self._options = options
        self._apply = apply
        self.setWindowTitle("Tolerance")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.choices = QButtonGroup(self)
        column = QVBoxLayout(self)
        column.setSpacing(10)
        for number, text in enumerate(("None: numbers are the same or they are not", "By dtype", "My own")):
            button = QRadioButton(text, self)
            self.choices.addButton(button, number)
            column.addWidget(button)
            if number == _PRESET and comparison is not None:
                lines = preset_lines(comparison)
                more = [f"and {len(lines) - _MAX_PAIRS} more"] if len(lines) > _MAX_PAIRS else []
                told = QLabel("\n".join([*lines[:_MAX_PAIRS], *more]) or "No tensors are compared", self)
                told.setFont(theme.mono(-1))
                told.setProperty("role", "muted")
                told.setIndent(24)
                column.addWidget(told)
        self.rtol, self.atol = QLineEdit(self), QLineEdit(self)
        fields = QHBoxLayout()
        fields.setContentsMargins(24, 0, 0, 0)
        own = options.tolerance or Tolerance(1e-5, 1e-8)
        for name, field, value in (("rtol", self.rtol, own.rtol), ("atol", self.atol, own.atol)):
            field.setText(f"{value:g}")
            field.setAccessibleName(name)
            field.textEdited.connect(self._edited)
            fields.addWidget(QLabel(name, self))
            fields.addWidget(field)
        column.addLayout(fields)
        meaning = QLabel(_MEANING, self)
        meaning.setWordWrap(True)
        meaning.setProperty("role", "muted")
        column.addWidget(meaning)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel, self)
        self.go = buttons.addButton("Compare", QDialogButtonBox.ButtonRole.AcceptRole)
        self.go.setDefault(True)
        buttons.accepted.connect(self.accept)
        buttons.rejected.connect(self.reject)
        column.addWidget(buttons)
        chosen = _PRESET if options.preset else _NONE if options.tolerance is None else _OWN
        self.choices.button(chosen).setChecked(True)
        self.choices.idClicked.connect(self._look)
        self.accepted.connect(self._tell)
        self.setMinimumWidth(440)

    @property
    def tolerance(self) -> Tolerance | None:
        """The person's own; None where a field holds no number from 0 on."""
        try:
            rtol, atol = float(self.rtol.text()), float(self.atol.text())
        except ValueError:
            return None
        fine = all(math.isfinite(value) and value >= 0 for value in (rtol, atol))
        return Tolerance(rtol, atol) if fine else None

    def _edited(self) -> None:
        self.choices.button(_OWN).setChecked(True)
        self._look()

    def _look(self) -> None:
        self.go.setEnabled(self.choices.checkedId() != _OWN or self.tolerance is not None)

    def _tell(self) -> None:
        chosen = self.choices.checkedId()
        own = self.tolerance if chosen == _OWN else None
        self._apply(replace(self._options, tolerance=own, preset=chosen == _PRESET))
