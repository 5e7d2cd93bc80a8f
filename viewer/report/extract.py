"""What a report is about: a checkpoint or a part of it, and how much of the values goes with it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.nodes import Kind
from viewer.checkpoint.tensors import NO_STORAGE

if TYPE_CHECKING:
    from viewer.tensors.results import TensorSummary

MAX_LEVELS: Final = 1000
"""Nodes this far below the first one shown are listed without what is below them.

A path names every level, so the paths of a chain of n nodes take n² characters: a hostile file of 2 MB with a million
nested lists would make 3 TB of them. What is not listed is said, and `--path` goes on from there. Real checkpoints
stay below a hundred levels.
"""

TOO_DEEP: Final = f"what is below lies more than {MAX_LEVELS:,} levels deep and is not listed"


@dataclass(slots=True)
class Measures:
    """Summaries of tensors, by tensor number; a tensor that cannot be read has a problem instead.

    The histograms in them are empty: a report does not show them, and a file may have a million tensors.

    Attributes
    ----------
    damaged
        By tensor number: what is wrong with bytes that were read and measured all the same.
    """

    summaries: dict[int, TensorSummary] = field(default_factory=dict)
    problems: dict[int, str] = field(default_factory=dict)
    damaged: dict[int, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Extract:
    """A part of a checkpoint to report on.

    Attributes
    ----------
    root
        Only this node and what is below it.
    measures
        Statistics to show; None for none.
    n_elements
        How many leading elements of each tensor to show; None for none.
    device
        Where the elements are read to.
    """

    checkpoint: Checkpoint
    root: int = 0
    measures: Measures | None = None
    n_elements: int | None = None
    device: str = "cpu"

    def problem_of(self, node: int) -> str | None:
        """Why a node, or the values of its tensor, cannot be read; None where nothing is wrong."""
        nodes = self.checkpoint.nodes
        if nodes.kind[node] == Kind.PROBLEM:
            return str(nodes.value[node])
        number = nodes.value[node]
        if nodes.kind[node] == Kind.TENSOR and isinstance(number, int):
            measures = self.measures or Measures()
            found = tensor_problem(self.checkpoint, number) or measures.problems.get(number)
            return found or measures.damaged.get(number)
        if nodes.kind[node] == Kind.STORAGE and isinstance(number, int):
            return self.checkpoint.storages.problem.get(number)
        return None


def nearby_path(checkpoint: Checkpoint, node: int) -> str | None:
    """The path of a node; None where it lies too deep to be named."""
    above = node
    for _ in range(MAX_LEVELS):
        if above < 0:
            return checkpoint.path_of(node)
        above = checkpoint.nodes.parent[above]
    return None


def tensor_problem(checkpoint: Checkpoint, number: int) -> str | None:
    """What the reader found wrong with a tensor or with its storage."""
    tensors = checkpoint.tensors
    return tensors.problem.get(number) or checkpoint.storages.problem.get(tensors.storage[number])


def distinct_tensors(checkpoint: Checkpoint, root: int = 0) -> Iterator[int]:
    """The numbers of the tensors at and below a node, in tree order, each once."""
    nodes = checkpoint.nodes
    seen: set[int] = set()
    for node in nodes.tree_order(root):
        if nodes.kind[node] == Kind.TENSOR:
            number = nodes.value[node]
            assert isinstance(number, int)
            if number not in seen:
                seen.add(number)
                yield number


class ProblemTally:
    """Counts the problems met while a report goes through its nodes, for one closing sentence."""

    def __init__(self, extract: Extract) -> None:
        self._extract = extract
        self._count = 0
        self._first: tuple[int, str] | None = None
        self._damaged: list[int] = []

    def add(self, node: int, problem: str) -> None:
        if self._is_kept_in_parts(node):
            return  # the row says so, and nothing is wrong with it
        measures = self._extract.measures
        if measures is not None and problem in measures.damaged.values():
            self._damaged.append(node)
            return
        self._count += 1
        if self._first is None:
            self._first = node, problem

    def sentences(self) -> list[str]:
        """The checkpoint's own warnings, and one more where entries cannot be read."""
        sentences = list(self._extract.checkpoint.warnings)
        if self._first is not None:
            node, problem = self._first
            where = self._name(node)
            if self._count == 1:
                sentences.append(f"{where} cannot be read: {problem}")
            else:
                sentences.append(f"{self._count:,} entries cannot be read; the first is {where}: {problem}")
        if self._damaged:
            first = self._name(self._damaged[0])
            which = (
                first if len(self._damaged) == 1 else f"{len(self._damaged):,} entries, the first of which is {first}"
            )
            sentences.append(f"checksum mismatch: the bytes of {which} are not those that were written")
        return sentences

    def _is_kept_in_parts(self, node: int) -> bool:
        """Whether a node is a sound tensor whose values are in the rows below it (sparse, nested, a wrapper)."""
        checkpoint = self._extract.checkpoint
        number = checkpoint.nodes.value[node]
        if checkpoint.nodes.kind[node] != Kind.TENSOR or not isinstance(number, int):
            return False
        has_parts = checkpoint.nodes.n_children[node] > 0 and checkpoint.tensors.storage[number] == NO_STORAGE
        return has_parts and number not in checkpoint.tensors.problem

    def _name(self, node: int) -> str:
        path = self._extract.checkpoint.path_of(node)
        return "the root" if not path else path if len(path) <= 200 else f"{path[:100]} … {path[-97:]}"
