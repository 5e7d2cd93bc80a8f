"""The sign and the word for what a way did."""

from __future__ import annotations

from viewer.roundtrip.results import WayResult


def verdict_of(result: WayResult) -> tuple[str, str]:
    """A sign and a word for one way.

    "≠ lost" where a way that should keep every bit did not, "≠ rounded" where rounding is what it does, "! changed"
    where something else did not come back that it is meant to keep, "= same" and "= kept" where all did, and
    "✕ failed".
    """
    if result.error:
        return "✕", "failed"
    if result.lost:
        return "≠", "lost"
    if not result.bits:
        return "≠", "rounded"
    if not result.ok:
        return "!", "changed"
    return "=", "kept" if result.changed else "same"
