"""Which task answers which request about a comparison; the comparisons made last are kept for reports of them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from viewer.checkpoint.document import Checkpoint
from viewer.compare.options import CompareOptions
from viewer.engine.compare_requests import MapPair, ReportComparison, ReportFormat
from viewer.engine.protocol import Compare, ComparePair, CompareStructure, Request
from viewer.errors import ViewerError
from viewer.task import Progress, Task

if TYPE_CHECKING:
    from viewer.compare.comparison import Comparison

_KEPT: Final = 2
"""Comparisons that are kept with their checkpoints, also after these are closed."""

_PIECES: Final = 64
"""Pieces of a report between two looks for cancel; a piece is a row."""


class KeptComparisons:
    """The last comparisons, by the checkpoints themselves and how they were compared."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[int, int, CompareOptions], Comparison] = OrderedDict()

    def keep(self, comparison: Comparison) -> None:
        """Remember a comparison; it may still grow. One of the same that was cancelled makes room."""
        key = self._key(comparison.a, comparison.b, comparison.structure.options)
        self._kept.pop(key, None)
        self._kept[key] = comparison
        while len(self._kept) > _KEPT:
            self._kept.popitem(last=False)

    def get(self, a: Checkpoint, b: Checkpoint, options: CompareOptions) -> Comparison | None:
        return self._kept.get(self._key(a, b, options))

    def _key(self, a: Checkpoint, b: Checkpoint, options: CompareOptions) -> tuple[int, int, CompareOptions]:
        # A kept comparison holds its checkpoints, so no other one can have their ids.
        return id(a), id(b), options


KEPT: Final = KeptComparisons()


def compare_structure(request: CompareStructure, a: Checkpoint, b: Checkpoint) -> Task[Any]:
    from viewer.compare.task import structure_task

    return structure_task(a, b, request.options)


def compare(request: Compare, a: Checkpoint, b: Checkpoint) -> Task[Any]:
    from viewer.compare.task import compare_task

    return compare_task(a, b, request.options, with_structure=request.with_structure, keep=KEPT.keep)


def compare_pair(request: ComparePair, a: Checkpoint, b: Checkpoint) -> Task[Any]:
    from viewer.compare.details import pair_details_task

    return pair_details_task(
        a,
        request.node_a,
        b,
        request.node_b,
        bins=request.bins,
        largest=request.largest,
        tolerance=request.tolerance,
        value_range=request.value_range,
    )


def map_pair(request: MapPair, a: Checkpoint, b: Checkpoint) -> Task[Any]:
    from viewer.compare.pair_map import pair_map_task

    return pair_map_task(
        a,
        request.node_a,
        b,
        request.node_b,
        height=request.height,
        width=request.width,
        row_range=request.row_range,
        column_range=request.column_range,
    )


def report(request: ReportComparison, a: Checkpoint, b: Checkpoint) -> Task[str | None]:
    from viewer.compare.task import run_compare
    from viewer.report.writing import write_text_file

    target = request.target
    if target is not None:
        _refuse_sources(target, (a, b))
    comparison = KEPT.get(a, b, request.options)
    if comparison is None:
        comparison = yield from run_compare(a, b, request.options)
        KEPT.keep(comparison)
    pieces: list[str] = []
    for number, piece in enumerate(_pieces(comparison, request.format)):
        pieces.append(piece)
        if number % _PIECES == 0:
            yield Progress(number, max(number, len(comparison.rows)), "rows")
    if target is None:
        return "".join(pieces)
    write_text_file(target, pieces)
    return None


def _pieces(comparison: Comparison, format: ReportFormat) -> Iterable[str]:  # noqa: A002  # as the request calls it
    from viewer.report.diff_csv import iter_diff_csv
    from viewer.report.diff_html import iter_diff_html
    from viewer.report.diff_json import iter_diff_json
    from viewer.report.diff_text import iter_diff_text

    made: dict[str, Callable[[Comparison], Iterable[str]]] = {
        "html": iter_diff_html,
        "json": iter_diff_json,
        "csv": iter_diff_csv,
        "text": iter_diff_text,
    }
    return made[format](comparison)


def _refuse_sources(target: Path, sides: tuple[Checkpoint, Checkpoint]) -> None:
    """A report must not take the place of what it reports on."""
    paths = {file.path.resolve() for file in chain.from_iterable(side.files for side in sides)}
    if target.resolve() in paths or target.resolve() in {side.path.resolve() for side in sides}:
        raise ViewerError("this is one of the files compared", path=target, advice="Choose another name")


COMPARE_HANDLERS: Final[Mapping[type[Request], Callable[..., Task[Any]]]] = {
    CompareStructure: compare_structure,
    Compare: compare,
    ComparePair: compare_pair,
    MapPair: map_pair,
    ReportComparison: report,
}
