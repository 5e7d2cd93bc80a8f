"""Colours behind numbers: blue below zero, red above, deeper with the magnitude; safe for the colour-blind."""

from __future__ import annotations

import math
from typing import Final

from PySide6.QtGui import QColor

from viewer.gui.theme import Theme
from viewer.tensors.results import Scalar

_NEGATIVE: Final = "#2166AC"
_POSITIVE: Final = "#B2182B"
"""The ends of ColorBrewer's RdBu, which is safe for the colour-blind."""
_LEVELS: Final = 32
_DEEPEST: Final = {"light": 0.42, "dark": 0.62}
"""How much of the colour at most is mixed into the background: numbers must stay readable on it."""


class Shade:
    """Gives each value its colour.

    Parameters
    ----------
    largest
        The magnitude that gets the deepest colour.
    """

    def __init__(self, theme: Theme, largest: float) -> None:
        base = theme.color("base")
        deepest = _DEEPEST[theme.tokens.name]
        self._above = [_mixed(base, QColor(_POSITIVE), deepest * level / _LEVELS) for level in range(_LEVELS + 1)]
        self._below = [_mixed(base, QColor(_NEGATIVE), deepest * level / _LEVELS) for level in range(_LEVELS + 1)]
        self._others = {kind: _mixed(base, theme.color(kind), deepest) for kind in ("nan", "posinf", "neginf")}
        self._largest = largest if largest > 0 else 1.0

    def __call__(self, value: Scalar) -> QColor | None:
        x = abs(value) if isinstance(value, complex) else float(value)
        if math.isnan(x):
            return self._others["nan"]
        if math.isinf(x):
            return self._others["posinf" if x > 0 else "neginf"]
        level = round(min(abs(x) / self._largest, 1.0) * _LEVELS)
        if not level:
            return None
        return self._above[level] if x > 0 else self._below[level]


def _mixed(base: QColor, over: QColor, share: float) -> QColor:
    return QColor.fromRgbF(
        base.redF() + (over.redF() - base.redF()) * share,
        base.greenF() + (over.greenF() - base.greenF()) * share,
        base.blueF() + (over.blueF() - base.blueF()) * share,
    )
