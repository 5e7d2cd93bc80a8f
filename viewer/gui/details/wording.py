"""Sentences of the Distribution page. No Qt."""

from __future__ import annotations

from viewer.checkpoint.tensors import TensorRef
from viewer.errors import ViewerError
from viewer.gui.details.bins import Bins
from viewer.gui.format import format_count, format_number, format_shape
from viewer.tensors.results import Histogram, Statistics


def empty_sentence(shape: tuple[int, ...]) -> str:
    return f"This tensor is empty: the shape {format_shape(shape)} has no elements."


def nothing_finite(statistics: Statistics) -> str:
    """Why there is no histogram although there are elements."""
    if statistics.count == 1:
        kind = "NaN" if statistics.nan else "+inf" if statistics.posinf else "−inf"
        return f"The only element is {kind}: there is no finite value to draw."
    if statistics.nan == statistics.count:
        return f"All {format_count(statistics.count)} elements are NaN: there is no finite value to draw."
    return f"None of the {format_count(statistics.count)} elements is finite: {_kinds(statistics)}."


def left_out(statistics: Statistics, histogram: Histogram, *, complete: bool = True) -> str:
    """What the plot does not show, and what else needs saying about it; "" for nothing."""
    parts = [] if complete else ["counts so far"]
    if statistics.finite and statistics.finite < statistics.count:
        parts.append(f"⚠ not in the plot: {_kinds(statistics)}")
    if statistics.finite > 1 and statistics.min is not None and statistics.min == statistics.max:
        finite = "finite " if statistics.finite < statistics.count else ""
        parts.append(f"All {format_count(statistics.finite)} {finite}elements are {format_number(statistics.min)}")
    elif statistics.finite and histogram.note:
        parts.append(histogram.note)
    return " · ".join(parts)


def info_words(bins: Bins, visible: tuple[float, float] | None) -> str:
    """256 bins · width 0.00374 · full range."""
    n_bins = len(bins.counts)
    if bins.constant is not None:
        return "one value"
    count = "1 bin" if n_bins == 1 else f"{format_count(n_bins)} bins"
    shown = "full range"
    if visible is not None:
        low, high = (bins.write(end) for end in visible)
        shown = f"{low} … {high}"
    return f"{count} · width {format_number(bins.bin_width, 3)} · {shown}"


def unread_words(tensor: TensorRef | None, error: ViewerError) -> tuple[str, str]:
    """What stands in the place of values that did not come, and what the button below it says; "" for no button."""
    if tensor is not None and tensor.storage is not None:
        return f"✕ {error}", "Try again"
    if tensor is None or tensor.problem is not None:
        return f"✕ {error}", ""
    # Nothing is wrong: the values are in other rows, or none are stored.
    return f"{error.fault[:1].upper()}{error.fault[1:]}.", ""


def _kinds(statistics: Statistics) -> str:
    kinds = (("NaN", statistics.nan), ("+inf", statistics.posinf), ("−inf", statistics.neginf))
    return ", ".join(f"{format_count(count)} {name}" for name, count in kinds if count)
