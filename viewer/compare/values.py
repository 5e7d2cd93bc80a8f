"""The values of many pairs, by a few threads: large tensors block by block, small ones many to a job."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.nodes import Kind
from viewer.checkpoint.tensors import TensorFlag, TensorRef
from viewer.compare.crew import Crew
from viewer.compare.pair import PairComparer, Rooms
from viewer.compare.results import CompareOptions, PairResult, Rows, Status, Tolerance, ValueBatch
from viewer.compare.small import SmallPairs
from viewer.compare.structure import value_nbytes
from viewer.compare.tally import Tally
from viewer.compare.tolerance import preset
from viewer.errors import FileChanged, ViewerError
from viewer.formats.storage_bytes import StorageReader
from viewer.task import Progress, Task
from viewer.tensors.workers import WORKERS

_LARGE: Final = 8 << 20
"""Bytes of both sides from which a pair is spread over the threads."""

_BATCH: Final = 256
"""Small pairs of one job, at most."""

_RUN: Final = 4
"""Blocks of one job: some milliseconds, after which a task can be stopped."""

_HELP_FROM: Final = 256 << 20
"""Bytes of both sides from which processes may help: they take a fifth of a second to start."""


@dataclass(frozen=True, slots=True)
class ValuePair:
    """A row whose values are to be compared.

    Attributes
    ----------
    nbytes
        That reading both sides takes.
    """

    row: int
    node_a: int
    node_b: int
    nbytes: int


def value_pairs(a: Checkpoint, b: Checkpoint, rows: Rows) -> list[ValuePair]:
    """The pairs of tensors, in row order; those against a plain number are settled elsewhere."""
    pairs: list[ValuePair] = []
    nodes_a, nodes_b, tensor = a.nodes, b.nodes, int(Kind.TENSOR)
    for row, wanted in enumerate(rows.is_value):
        if not wanted:
            continue
        node_a, node_b = rows.node_a[row], rows.node_b[row]
        kind_a, kind_b = nodes_a.kind[node_a], nodes_b.kind[node_b]
        if kind_a == tensor == kind_b:
            number_a, number_b = nodes_a.value[node_a], nodes_b.value[node_b]
            assert isinstance(number_a, int)
            assert isinstance(number_b, int)
            if a.tensors.stride[number_a] == b.tensors.stride[number_b]:
                nbytes = value_nbytes(a, number_a) + value_nbytes(b, number_b)
            else:  # walked in logical order, element by element
                nbytes = a.tensor(number_a).nbytes + b.tensor(number_b).nbytes
        elif kind_a == Kind.STORAGE == kind_b:
            nbytes = 2 * a.storage(int(nodes_a.value[node_a])).nbytes  # type: ignore[call-overload]
        else:
            continue
        pairs.append(ValuePair(row, node_a, node_b, nbytes))
    return pairs


def tensor_at_node(checkpoint: Checkpoint, node: int) -> TensorRef | None:
    """The tensor of a node; a storage saved by itself as a flat one."""
    if checkpoint.nodes.kind[node] != Kind.STORAGE:
        return checkpoint.tensor_of_node(node)
    number = checkpoint.nodes.value[node]
    assert isinstance(number, int)
    storage = checkpoint.storage(number)
    count = storage.nbytes // storage.dtype.itemsize
    return TensorRef(-1, storage.dtype, (count,), (1,), storage, 0, TensorFlag(0), "strided", {}, None)


def tolerance_of(options: CompareOptions, a: TensorRef, b: TensorRef) -> Tolerance | None:
    return preset(a.dtype.name, b.dtype.name) if options.preset else options.tolerance


def compare_values_task(
    a: Checkpoint, b: Checkpoint, pairs: list[ValuePair], options: CompareOptions, *, workers: int = WORKERS
) -> Task[None]:
    """Compare pairs; results come as partials (`ValueBatch`), each row once and in the order of `pairs`.

    A pair that cannot be read is UNREAD with its problem.

    Raises
    ------
    FileChanged
        When a file is not the one any more that was opened.
    """
    total = sum(pair.nbytes for pair in pairs)
    done = 0
    yield Progress(0, total)
    sides = (a, b) if total >= _HELP_FROM else None
    with StorageReader(a) as reader_a, StorageReader(b) as reader_b, Crew(workers, sides) as crew:

        def open_pair(pair: ValuePair) -> PairComparer:
            left, right = tensor_at_node(a, pair.node_a), tensor_at_node(b, pair.node_b)
            assert left is not None
            assert right is not None
            return PairComparer(
                (a, left, reader_a),
                (b, right, reader_b),
                tolerance_of(options, left, right),
                count_steps=options.count_steps,
            )

        small = SmallPairs((a, reader_a), (b, reader_b), options=options)

        for large, group in _grouped(pairs):
            if large:
                (pair,) = group
                result = None
                for step in _large_pair(crew, open_pair, pair):
                    if isinstance(step, PairResult):
                        result = step
                    else:
                        yield Progress(min(done + step, done + pair.nbytes), total)
                assert result is not None
                done += pair.nbytes
                yield Progress(done, total, partial=ValueBatch([result]))
                continue
            results = crew.answers(lambda batch: _small_pairs(crew, small, open_pair, batch), _batches(group))
            for batch, found in results:
                done += sum(pair.nbytes for pair in batch)
                yield Progress(done, total, partial=ValueBatch(found))


def _grouped(pairs: Iterable[ValuePair]) -> Iterator[tuple[bool, list[ValuePair]]]:
    """Large pairs one by one, and runs of small ones."""
    small: list[ValuePair] = []
    for pair in pairs:
        if pair.nbytes < _LARGE:
            small.append(pair)
            continue
        if small:
            yield False, small
            small = []
        yield True, [pair]
    if small:
        yield False, small


def _batches(pairs: list[ValuePair]) -> Iterator[list[ValuePair]]:
    batch: list[ValuePair] = []
    nbytes = 0
    for pair in pairs:
        batch.append(pair)
        nbytes += pair.nbytes
        if nbytes >= _LARGE or len(batch) == _BATCH:
            yield batch
            batch, nbytes = [], 0
    if batch:
        yield batch


def _small_pairs(
    crew: Crew, small: SmallPairs, open_pair: Callable[[ValuePair], PairComparer], batch: list[ValuePair]
) -> tuple[list[ValuePair], list[PairResult]]:
    """The results of several pairs, in this thread."""
    results: list[PairResult] = []
    with crew.rooms.one() as rooms:
        for pair in batch:
            try:
                same = small.if_identical(pair.row, pair.node_a, pair.node_b)
                results.append(same or _whole_pair(open_pair(pair), pair.row, rooms))
            except FileChanged:
                raise
            except ViewerError as error:
                results.append(unread(pair.row, error))
    return batch, results


def _whole_pair(comparer: PairComparer, row: int, rooms: Rooms) -> PairResult:
    for start in comparer.walk.starts:
        comparer.add(start, comparer.tally_block(start, rooms))
    if comparer.needs_norms:
        for start in list(comparer.skipped):
            comparer.add_norms(comparer.tally_block(start, rooms, norms_only=True))
    return comparer.result(row)


def unread(row: int, error: ViewerError) -> PairResult:
    return PairResult(row, Status.UNREAD, None, None, problem=error.fault)


def _large_pair(
    crew: Crew, open_pair: Callable[[ValuePair], PairComparer], pair: ValuePair
) -> Generator[int | PairResult, None, None]:
    """One pair by all workers: yields bytes done, and the result at last."""
    try:
        comparer = open_pair(pair)
        walk = comparer.walk
        done = 0

        def tallies(starts: Sequence[int]) -> list[Tally | None]:
            return crew.tallies(comparer, pair.row, starts)

        def norms(starts: Sequence[int]) -> list[Tally | None]:
            return crew.tallies(comparer, pair.row, starts, norms_only=True)

        for starts, found in zip(_runs(walk.starts), crew.answers(tallies, _runs(walk.starts)), strict=True):
            for start, tally in zip(starts, found, strict=True):
                comparer.add(start, tally)
                done += walk.nbytes_of(start)
            if comparer.differs:
                crew.want_help()
            yield done
        if comparer.needs_norms:
            for found in crew.answers(norms, _runs(comparer.skipped)):
                for tally in found:
                    comparer.add_norms(tally)
                yield done
        yield comparer.result(pair.row)
    except FileChanged:
        raise
    except ViewerError as error:
        yield unread(pair.row, error)


def _runs(starts: Sequence[int]) -> Iterator[Sequence[int]]:
    """Blocks in groups of a few, which are one job."""
    for at in range(0, len(starts), _RUN):
        yield starts[at : at + _RUN]
