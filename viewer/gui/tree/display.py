"""What the tree shows, as columns of numbers: the nodes of a checkpoint with dotted names folded into groups.

Rows are numbered breadth first like the nodes they show, so the children of a row are consecutive and a parent comes
before its children. Free of Qt; `layout.py` builds it.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, MutableSequence, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.nodes import Key, Kind, OtherKey
from viewer.task import Progress, Task
from viewer.tensors.scan_results import ScanRow

if TYPE_CHECKING:
    from viewer.gui.meaning.marks import Marks

_SLICE: Final = 8192


@dataclass(frozen=True, slots=True)
class DisplayOptions:
    """How the tree is to be shown.

    Attributes
    ----------
    grouped
        Fold dotted names into a module tree; else every name is one row.
    natural
        Numbers inside names ascend; else the order in the file.
    """

    grouped: bool = True
    natural: bool = True


@dataclass(slots=True)
class DisplayTable:
    """Columns over all rows; index = row number. Row 0 is the invisible parent of the top rows.

    Attributes
    ----------
    checkpoint
        Whose nodes are shown.
    node
        Number of the node; -1 for a group of ours.
    label
        What the name column says.
    parent, first_child, n_children
        As in NodeTable, in row numbers.
    elements, nbytes, n_tensors
        Of a tensor its own, of other rows the sum over the tensors inside, each tensor once however many names it
        has. Bytes are those of the elements packed densely; tensors without a storage have none of their own.
    row_of_node
        The row that shows a node; -1 for the root where it is invisible.
    ranges
        Rows that are a range of siblings; their labels are no part of any name.
    row_of_tensor
        By tensor number, the first row that shows it; -1 for none.
    more_rows
        By tensor number, all rows that show it, where there are several.
    scan
        By tensor number, what a scan of the values found so far; it fills while a scan runs.
    nan_inside
        By row, of rows that hold tensors: how many NaN a scan found inside, each tensor once.
    marks
        What was recognised; None until it is known.
    """

    checkpoint: Checkpoint
    node: array[int] = field(default_factory=lambda: array("q"))
    label: list[str] = field(default_factory=list)
    parent: array[int] = field(default_factory=lambda: array("q"))
    first_child: array[int] = field(default_factory=lambda: array("q"))
    n_children: array[int] = field(default_factory=lambda: array("q"))
    elements: MutableSequence[int] = field(default_factory=list)
    nbytes: MutableSequence[int] = field(default_factory=list)
    n_tensors: MutableSequence[int] = field(default_factory=list)
    row_of_node: array[int] = field(default_factory=lambda: array("q"))
    ranges: set[int] = field(default_factory=set)
    row_of_tensor: array[int] = field(default_factory=lambda: array("q"))
    more_rows: dict[int, list[int]] = field(default_factory=dict)
    scan: Mapping[int, ScanRow] = field(default_factory=dict)
    nan_inside: dict[int, int] = field(default_factory=dict)
    marks: Marks | None = None

    def __len__(self) -> int:
        return len(self.label)

    def children(self, row: int) -> range:
        first = self.first_child[row]
        return range(first, first + self.n_children[row])

    def kind(self, row: int) -> Kind:
        """The kind of the row's node; GROUP for a group of ours."""
        node = self.node[row]
        return Kind.GROUP if node < 0 else Kind(self.checkpoint.nodes.kind[node])

    def tensor(self, row: int) -> int | None:
        """The number of the tensor that a row shows; None for other rows."""
        node = self.node[row]
        nodes = self.checkpoint.nodes
        if node < 0 or nodes.kind[node] != Kind.TENSOR:
            return None
        number = nodes.value[node]
        assert isinstance(number, int)
        return number

    def rows_of_tensor(self, number: int) -> Sequence[int]:
        """The rows that show a tensor."""
        if (rows := self.more_rows.get(number)) is not None:
            return rows
        row = self.row_of_tensor[number] if number < len(self.row_of_tensor) else -1
        return () if row < 0 else (row,)

    def is_prefix(self, row: int) -> bool:
        """True where the row stands for the first parts of dotted names."""
        return row > 0 and self.node[row] < 0 and row not in self.ranges

    def labels_to(self, row: int) -> list[str]:
        """The labels from the top row to `row`: what stays the same when the tree is built anew."""
        labels = []
        while row > 0:
            labels.append(self.label[row])
            row = self.parent[row]
        return labels[::-1]

    def row_at(self, labels: Sequence[str]) -> int | None:
        """The row that these labels lead to."""
        row = 0
        for label in labels:
            found = next((child for child in self.children(row) if self.label[child] == label), None)
            if found is None:
                return None
            row = found
        return row

    def ancestors(self, row: int) -> Iterator[int]:
        """The rows above, nearest first, without the invisible one."""
        row = self.parent[row]
        while row > 0:
            yield row
            row = self.parent[row]


def entries_task(table: DisplayTable, row: int) -> Task[list[int]]:
    """The nodes that a group of ours holds together, in the order of their rows."""
    entries: list[int] = []
    level = [row]
    seen = 0
    while level:
        inside: list[int] = []
        for group in level:
            for child in table.children(group):
                node = table.node[child]
                if node >= 0:
                    entries.append(node)
                else:
                    inside.append(child)
                seen += 1
                if seen % _SLICE == 0:
                    yield Progress(seen, len(table), "rows")
        level = inside
    return entries


def label_of(key: Key) -> str:
    """What the name column says of a key: names as they are, numbers in brackets, others by their repr."""
    if isinstance(key, str):
        return key if key and key.isprintable() else repr(key)
    if isinstance(key, OtherKey):
        return key.text if key.nth == 1 else f"{key.text} ({key.nth})"
    return f"[{key}]" if key.bit_length() < 4000 else f"[{hex(key)}]"
