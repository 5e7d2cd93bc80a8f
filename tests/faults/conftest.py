"""The theme of a window; what happens to it is in `tests.faults.stage`."""

from __future__ import annotations

from tests.gui.conftest import fusion, theme

__all__ = ["fusion", "theme"]
