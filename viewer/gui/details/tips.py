"""Text from a file, made fit to show: a file chooses its names, and Qt takes a tip that looks like HTML for HTML."""

from __future__ import annotations

import html
from typing import Final

from PySide6.QtGui import Qt

from viewer.report.wording import printable

_LONGEST: Final = 2_000


def cut_middle(text: str, longest: int = _LONGEST) -> str:
    """The text, or its two ends where it is so long that laying it out would take time."""
    half = longest // 2
    return text if len(text) <= longest else f"{text[:half]} … {text[-half:]}"


def plain_tip(text: str) -> str:
    """The text as a tip that shows it as it is, cut where it would fill the screen."""
    text = "\n".join(map(printable, cut_middle(text).split("\n")))
    if Qt.mightBeRichText(text):
        return f"<qt>{html.escape(text).replace(chr(10), '<br>')}</qt>"
    return text
