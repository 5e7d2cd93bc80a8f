"""How far an optimizer went: the step that it counts in each of its entries, a number or a tensor of one element."""

from __future__ import annotations

from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.nodes import Kind
from viewer.compare.comparison import NOTHING, Comparison
from viewer.compare.largest import element_at
from viewer.compare.pairs import SideReader
from viewer.compare.results import Status
from viewer.errors import ViewerError
from viewer.formats.storage_bytes import StorageReader


def optimizer_steps(comparison: Comparison) -> tuple[float, float] | None:
    """The steps of the first entry of an optimizer whose step is another; None where there is none."""
    rows = comparison.rows
    for row, key in enumerate(rows.key):
        if key != "step" or rows.status[row] != Status.CHANGED or not _is_of_entry(comparison, row):
            continue
        try:
            left = number_at(comparison.a, rows.node_a[row])
            right = number_at(comparison.b, rows.node_b[row])
        except ViewerError:
            return None  # the row says what is wrong with it
        if isinstance(left, (int, float)) and isinstance(right, (int, float)):
            return left, right
    return None


def number_at(checkpoint: Checkpoint, node: int) -> object:
    """A plain value, or the element of a tensor that has one."""
    if checkpoint.nodes.kind[node] == Kind.SCALAR:
        return checkpoint.nodes.value[node]
    tensor = checkpoint.tensor_of_node(node)
    assert tensor is not None
    with StorageReader(checkpoint) as reader:
        return element_at(SideReader(checkpoint, tensor, reader), 0)


def _is_of_entry(comparison: Comparison, row: int) -> bool:
    """Whether a row stands in an entry of a "state", and is one number on both sides."""
    rows = comparison.rows
    entry = rows.parent[row]
    state = rows.parent[entry] if entry > 0 else 0
    if state <= 0 or rows.key[state] != "state":
        return False
    for checkpoint, node in ((comparison.a, rows.node_a[row]), (comparison.b, rows.node_b[row])):
        if node == NOTHING:
            return False
        if checkpoint.nodes.kind[node] == Kind.SCALAR:
            continue
        tensor = checkpoint.tensor_of_node(node)
        if tensor is None or tensor.numel != 1:
            return False
    return True
