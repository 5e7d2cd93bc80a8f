"""The comparison of two open checkpoints as one task: the structure as its first partial result, then the values."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import cast

from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.nodes import Kind
from viewer.compare.align import align
from viewer.compare.checksums import mark_same_checksums
from viewer.compare.comparison import Comparison
from viewer.compare.offers import rename_offers, renamed_pairs
from viewer.compare.overview import overview_of
from viewer.compare.renamed import renamed_by_content_task
from viewer.compare.results import CompareOptions, Note, Overview, PairResult, Status, Structure, ValueBatch
from viewer.compare.scalars import distance, same_number
from viewer.compare.steps import number_at, optimizer_steps
from viewer.compare.structure import StructureComparer
from viewer.compare.values import compare_values_task, unread, value_pairs
from viewer.errors import FileChanged, ViewerError
from viewer.task import Progress, Task


def compare_structure(a: Checkpoint, b: Checkpoint, options: CompareOptions) -> Structure:
    """Align two checkpoints and compare what needs no tensor data.

    Raises
    ------
    ViewerError
        BadPath when `options` selects what is not there; a rename rule that is none.
    """
    alignment = align(
        a, b, root_a=_selected(a, options.select_a), root_b=_selected(b, options.select_b), rules=options.rules
    )
    findings = StructureComparer(alignment).run()
    structure = Structure(a.path, b.path, a.container, b.container, options, alignment.rows, findings.notes)
    structure.same_numbers = {
        row for row, (_, numbers) in findings.same.items() if numbers and alignment.rows.status[row] == Status.KIND
    }
    structure.warnings = alignment.warnings
    structure.parameter_names = alignment.parameter_names
    mark_same_checksums(a, b, alignment.rows)
    structure.facts = _facts(a, b)
    structure.offers = rename_offers(alignment)
    structure.renamed = renamed_pairs(alignment)
    structure.value_nbytes = sum(pair.nbytes for pair in value_pairs(a, b, structure.rows))
    return structure


def structure_task(a: Checkpoint, b: Checkpoint, options: CompareOptions) -> Task[Structure]:
    """The structure alone; raises as `compare_structure` does."""
    yield Progress(0, 1, "comparisons")
    return compare_structure(a, b, options)


def compare_task(
    a: Checkpoint,
    b: Checkpoint,
    options: CompareOptions | None = None,
    *,
    with_structure: bool = True,
    keep: Callable[[Comparison], None] | None = None,
) -> Task[Overview]:
    """Compare two checkpoints, or two parts of one.

    The first partial result is the Structure; then come ValueBatches, each row with values once. Nothing of the
    structure waits for values. `Comparison` puts them together.

    Parameters
    ----------
    with_structure
        False to leave out the first.
    keep
        Gets the comparison at its beginning; it grows with each step.

    Raises
    ------
    ViewerError
        As `compare_structure`; FileChanged while values are read.
    """
    options = options or CompareOptions()
    structure = compare_structure(a, b, options)
    pairs = value_pairs(a, b, structure.rows)
    comparison = Comparison(a, b, structure)
    if keep is not None:
        keep(comparison)
    yield Progress(0, structure.value_nbytes, partial=_snapshot(structure) if with_structure else None)
    if not options.structure_only:
        numbers = ValueBatch(list(_tensors_against_numbers(comparison)))
        if numbers.results:
            comparison.add(numbers)
            yield Progress(0, structure.value_nbytes, partial=numbers)
        values = compare_values_task(a, b, pairs, options)
        for progress in values:
            if isinstance(progress.partial, ValueBatch):
                comparison.add(progress.partial)
            yield progress
        parts = ValueBatch(_from_parts(comparison))
        if parts.results:
            comparison.add(parts)
            yield Progress(structure.value_nbytes, structure.value_nbytes, partial=parts)
        renamed = yield from renamed_by_content_task(a, b, structure.rows)
        if renamed:
            yield Progress(1, 1, "searches", ValueBatch(renamed=renamed))
    comparison.overview = overview_of(comparison, optimizer_steps(comparison))
    return comparison.overview


def run_compare(
    a: Checkpoint, b: Checkpoint, options: CompareOptions | None = None
) -> Generator[Progress, None, Comparison]:
    """The same task for one's own process: its result is the whole Comparison."""
    task = compare_task(a, b, options)
    comparison: Comparison | None = None
    try:
        while True:
            progress = next(task)
            if isinstance(progress.partial, Structure):
                comparison = Comparison(a, b, progress.partial)
            elif isinstance(progress.partial, ValueBatch) and comparison is not None:
                comparison.add(progress.partial)
            yield progress
    except StopIteration as stop:
        assert comparison is not None
        comparison.overview = cast(Overview, stop.value)
        return comparison
    finally:
        task.close()


def _snapshot(structure: Structure) -> Structure:
    """The structure with statuses of its own: the task goes on changing its own ones."""
    from copy import copy
    from dataclasses import replace

    rows = copy(structure.rows)
    rows.status = structure.rows.status[:]
    return replace(structure, rows=rows)


def _selected(checkpoint: Checkpoint, path: str) -> int:
    try:
        return checkpoint.find(path)
    except ViewerError as error:
        raise error.about(checkpoint.path) from None


def _facts(a: Checkpoint, b: Checkpoint) -> list[Note]:
    """How the files differ as files."""
    facts = [Note("container", a.container, b.container)] if a.container != b.container else []
    for name in [*a.facts, *(name for name in b.facts if name not in a.facts)]:
        left, right = a.facts.get(name, ""), b.facts.get(name, "")
        if left != right:
            facts.append(Note(name, left, right))
    named_a, named_b = ({use.dotted for use in side.globals} for side in (a, b))
    if named_a != named_b:
        facts.append(
            Note("classes named", ", ".join(sorted(named_a - named_b)), ", ".join(sorted(named_b - named_a)))
        )
    return facts


def _tensors_against_numbers(comparison: Comparison) -> Generator[PairResult, None, None]:
    """Tensors of one element against plain numbers: another kind, with the numbers compared."""
    rows = comparison.rows
    for row, wanted in enumerate(rows.is_value):
        if not wanted:
            continue
        sides = ((comparison.a, rows.node_a[row]), (comparison.b, rows.node_b[row]))
        if all(checkpoint.nodes.kind[node] != Kind.SCALAR for checkpoint, node in sides):
            continue
        try:
            left, right = (number_at(checkpoint, node) for checkpoint, node in sides)
        except FileChanged:
            raise
        except ViewerError as error:
            yield unread(row, error)
        else:
            yield PairResult(row, Status.KIND, False, same_number(left, right))


def _from_parts(comparison: Comparison) -> list[PairResult]:
    """Sparse and other composed tensors, whose values are the rows below them: the worst of these."""
    rows = comparison.rows
    found: list[PairResult] = []
    for row in range(len(rows) - 1, -1, -1):
        if rows.status[row] != Status.UNREAD or rows.is_value[row] or not rows.n_children[row]:
            continue
        below = [comparison.status(child) for child in rows.children(row)]
        status = max(below)
        if status not in (Status.UNREAD, Status.IDENTICAL, Status.EQUAL, Status.CLOSE):
            status = Status.CHANGED
        if status == Status.UNREAD:
            continue
        numbers = status in (Status.IDENTICAL, Status.EQUAL)
        found.append(PairResult(row, status, status == Status.IDENTICAL, numbers))
        rows.status[row] = status
    return found


def difference_of_scalars(comparison: Comparison, row: int) -> float | int | None:
    """|a - b| of a row of two plain numbers."""
    rows = comparison.rows
    node_a, node_b = rows.node_a[row], rows.node_b[row]
    if node_a < 0 or node_b < 0:
        return None
    nodes_a, nodes_b = comparison.a.nodes, comparison.b.nodes
    if nodes_a.kind[node_a] != Kind.SCALAR or nodes_b.kind[node_b] != Kind.SCALAR:
        return None
    return distance(nodes_a.value[node_a], nodes_b.value[node_b])
