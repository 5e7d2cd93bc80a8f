"""How much each layer changed, in the order of the model: which were trained, and which stood still. Free of Qt."""

from __future__ import annotations

from dataclasses import dataclass

from viewer.compare.results import SAME_NUMBERS, Status
from viewer.gui.compare.rollups import is_floating
from viewer.gui.compare.table import GROUP, CompareTable
from viewer.task import Progress, Task

_SLICE = 256


@dataclass(slots=True)
class Layer:
    """The tensors of one module.

    Attributes
    ----------
    row
        Of its first tensor.
    tensors, changed, unread
        How many there are on both sides, how many of them are other numbers, and how many are not compared.
    left, right, other
        How many stand on one side alone, and how many have another shape or are of another kind.
    rel_norm
        The largest ‖a−b‖/‖a‖ of a tensor; None where none is known.
    """

    name: str
    row: int
    tensors: int = 0
    changed: int = 0
    unread: int = 0
    left: int = 0
    right: int = 0
    other: int = 0
    rel_norm: float | None = None

    @property
    def alone(self) -> int:
        """Tensors without a partner to be compared with."""
        return self.left + self.right + self.other

    @property
    def is_frozen(self) -> bool:
        return bool(self.tensors) and not self.changed and not self.unread and not self.alone


def layers_task(table: CompareTable) -> Task[list[Layer]]:
    """The layers of everything but the entries of optimizers, whose tensors are of no layer of their own.

    Counters and other integers are left out: they always change.
    """
    comparison = table.comparison
    layers: dict[tuple[int, str], Layer] = {}
    stack = [0]
    seen = 0
    while stack:
        entry = stack.pop()
        row = table.row[entry]
        seen += 1
        if seen % _SLICE == 0:
            yield Progress(seen, len(table), "rows")
        if row > 0 and _is_state(table, row):
            continue
        stack.extend(reversed(table.children(entry)))
        if row == GROUP or not is_floating(comparison, row):
            continue
        parent = table.parent[entry]
        head, _, last = table.label[entry].rpartition(".")
        if not head and parent == 0:  # of no module
            head = last
        layer = layers.get((parent, head))
        if layer is None:
            layer = layers[parent, head] = Layer(_layer_name(table, entry, head), row)
        status = comparison.status(row)
        if status in (Status.ADDED, Status.REMOVED, Status.SHAPE, Status.KIND):
            layer.left += status == Status.REMOVED
            layer.right += status == Status.ADDED
            layer.other += status in (Status.SHAPE, Status.KIND)
            continue
        layer.tensors += 1
        _, numbers = comparison.verdicts(row)
        layer.unread += status == Status.UNREAD
        layer.changed += status != Status.UNREAD and status not in SAME_NUMBERS and not numbers
        measures = comparison.measures(row)
        relative = 0.0 if status in SAME_NUMBERS else None if measures is None else measures.rel_norm
        if relative is not None:
            layer.rel_norm = max(relative, layer.rel_norm or 0.0)
    return list(layers.values())


def _layer_name(table: CompareTable, entry: int, head: str) -> str:
    path = table.name_of(entry)
    cut = path.rpartition(".")[0] if head else path.rpartition("/")[0] or path.rpartition(".")[0]
    return cut or path


def _is_state(table: CompareTable, row: int) -> bool:
    """Whether a row is the "state" of an optimizer."""
    rows = table.comparison.rows
    if rows.key[row] != "state":
        return False
    return any(rows.key[sibling] == "param_groups" for sibling in rows.children(rows.parent[row]))
