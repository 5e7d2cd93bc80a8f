"""What the structure of two aligned checkpoints tells of each row, without reading tensor data."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.dtypes import DTYPES
from viewer.checkpoint.nodes import Kind
from viewer.checkpoint.paths import format_path
from viewer.checkpoint.tensors import NO_STORAGE, UNREADABLE, TensorFlag, numel_of
from viewer.compare.align import NOTHING, Alignment
from viewer.compare.results import Note, Rows, Status
from viewer.compare.scalars import same_bits, same_number, short_text

_CONTAINERS = frozenset({Kind.MAPPING, Kind.SEQUENCE, Kind.SET, Kind.OBJECT, Kind.GROUP})
_NUMBER_TYPES = (bool, int, float, complex)


@dataclass(slots=True)
class Findings:
    """What is known of the rows before values are read.

    Attributes
    ----------
    same
        The verdicts by row, where they are settled: (bits, numbers).
    """

    notes: dict[int, tuple[Note, ...]] = field(default_factory=dict)
    same: dict[int, tuple[bool, bool]] = field(default_factory=dict)


class StructureComparer:
    """Fills the status columns of aligned rows."""

    def __init__(self, alignment: Alignment) -> None:
        self._rows: Rows = alignment.rows
        self._a: Checkpoint = alignment.a.checkpoint
        self._b: Checkpoint = alignment.b.checkpoint
        self._partner = alignment.a.partner
        self._parameters_a, self._parameters_b = alignment.parameters_a, alignment.parameters_b
        self._notes: dict[int, list[Note]] = {}
        self.findings = Findings()
        self._row_of_b: dict[int, int] = {}

    def run(self) -> Findings:
        """Decide every row that needs no values."""
        rows = self._rows
        nodes_a, nodes_b = self._a.nodes, self._b.nodes
        kind_a, kind_b = nodes_a.kind, nodes_b.kind
        tensor = int(Kind.TENSOR)
        for row, (node_a, node_b) in enumerate(zip(rows.node_a, rows.node_b, strict=True)):
            if node_a == NOTHING or node_b == NOTHING:
                rows.status[row] = Status.ADDED if node_a == NOTHING else Status.REMOVED
                rows.counted[row] = not rows.n_children[row]
            elif kind_a[node_a] == tensor and kind_b[node_b] == tensor:
                self._tensors(row, node_a, node_b)
            else:
                self._others(row, node_a, node_b)
        self._one_sided_containers()
        self._sharing()
        self._names()
        self.findings.notes = {row: tuple(notes) for row, notes in self._notes.items()}
        return self.findings

    def _note(self, row: int, aspect: str, a: object, b: object) -> None:
        self._notes.setdefault(row, []).append(Note(aspect, str(a), str(b)))

    def _settle(self, row: int, status: Status, *, bits: bool, numbers: bool) -> None:
        self._rows.status[row] = status
        self.findings.same[row] = bits, numbers

    def _tensors(self, row: int, node_a: int, node_b: int) -> None:
        a, b = self._a, self._b
        number_a, number_b = a.nodes.value[node_a], b.nodes.value[node_b]
        assert isinstance(number_a, int)
        assert isinstance(number_b, int)
        left, right, rows = a.tensors, b.tensors, self._rows
        rows.counted[row] = 1
        shape, other_shape = left.shape[number_a], right.shape[number_b]
        dtype, other_dtype = left.dtype[number_a], right.dtype[number_b]
        if dtype != other_dtype:
            self._note(row, "dtype", DTYPES[dtype], DTYPES[other_dtype])
        layout, other_layout = left.layout.get(number_a, "strided"), right.layout.get(number_b, "strided")
        if layout != other_layout:
            self._note(row, "layout", layout, other_layout)
        flags, other_flags = left.flags[number_a], right.flags[number_b]
        if flags != other_flags:
            self._flags(row, flags, other_flags)
        if a.nodes.type_name(node_a) != b.nodes.type_name(node_b):
            self._note(row, "type", a.nodes.type_name(node_a), b.nodes.type_name(node_b))
        self._places(row, number_a, number_b)
        if shape != other_shape:
            self._note(row, "shape", shape, other_shape)
            self._settle(row, Status.SHAPE, bits=False, numbers=False)
            return
        stride, other_stride = left.stride[number_a], right.stride[number_b]
        if stride != other_stride and layout == other_layout:
            self._note(row, "stride", stride, other_stride)
        rows.status[row] = Status.UNREAD
        if layout != other_layout:
            self._settle(row, Status.KIND, bits=False, numbers=False)
            return
        problem_a, problem_b = tensor_problem(a, number_a), tensor_problem(b, number_b)
        if problem_a or problem_b:
            self._note(row, "problem", problem_a, problem_b)
            if dtype != other_dtype:
                self._settle(row, Status.DTYPE, bits=False, numbers=False)
            elif left.storage[number_a] == NO_STORAGE and right.storage[number_b] == NO_STORAGE:
                self._without_values(row, node_a, node_b)
            return
        rows.is_value[row] = 1

    def _without_values(self, row: int, node_a: int, node_b: int) -> None:
        """Two tensors without values of their own: meta tensors are what they say; sparse and nested ones are their
        parts, which are rows below."""
        device_a = self._a.tensor_of_node(node_a)
        device_b = self._b.tensor_of_node(node_b)
        if device_a is not None and device_b is not None and device_a.device == device_b.device == "meta":
            self._settle(row, Status.IDENTICAL, bits=True, numbers=True)
        elif self._rows.n_children[row]:
            self._rows.counted[row] = 0

    def _flags(self, row: int, flags: int, other: int) -> None:
        for flag, aspect in (
            (TensorFlag.REQUIRES_GRAD, "requires_grad"),
            (TensorFlag.PARAMETER, "parameter"),
            (TensorFlag.CONJ, "conjugate bit"),
            (TensorFlag.NEG, "negative bit"),
        ):
            if (flags ^ other) & flag:
                self._note(row, aspect, bool(flags & flag), bool(other & flag))

    def _places(self, row: int, number_a: int, number_b: int) -> None:
        storage_a, storage_b = self._a.tensors.storage[number_a], self._b.tensors.storage[number_b]
        if storage_a == NO_STORAGE or storage_b == NO_STORAGE:
            return
        device_a, device_b = self._a.storages.location[storage_a], self._b.storages.location[storage_b]
        if device_a != device_b:
            self._note(row, "device", device_a, device_b)

    def _others(self, row: int, node_a: int, node_b: int) -> None:
        """Two nodes of which one at least is no tensor."""
        nodes_a, nodes_b = self._a.nodes, self._b.nodes
        kind_a, kind_b = Kind(nodes_a.kind[node_a]), Kind(nodes_b.kind[node_b])
        type_a, type_b = nodes_a.type_name(node_a), nodes_b.type_name(node_b)
        value_a, value_b = nodes_a.value[node_a], nodes_b.value[node_b]
        if kind_a in _CONTAINERS and kind_b in _CONTAINERS:
            self._containers(row, node_a, node_b)
            return
        self._rows.counted[row] = 1
        if kind_a != kind_b:
            if Kind.PROBLEM in (kind_a, kind_b):
                self._note(
                    row,
                    "problem",
                    *(str(v) if k == Kind.PROBLEM else "" for v, k in ((value_a, kind_a), (value_b, kind_b))),
                )
            self._note(row, "kind", type_a, type_b)
            self._settle(row, Status.KIND, bits=False, numbers=False)
            if {kind_a, kind_b} == {Kind.TENSOR, Kind.SCALAR}:
                self._tensor_against_scalar(row, node_a, node_b)
        elif kind_a == Kind.PROBLEM:
            self._note(row, "problem", value_a, value_b)
            self._rows.status[row] = Status.UNREAD
        elif kind_a == Kind.LINK:
            self._links(row, value_a, value_b)
        elif kind_a == Kind.STORAGE:
            self._storages(row, value_a, value_b)
        else:
            parameter = self._parameters_a.get(node_a)
            if parameter is not None and parameter == self._parameters_b.get(node_b) and value_a != value_b:
                self._note(row, "value", value_a, value_b)
                self._settle(row, Status.EQUAL, bits=False, numbers=True)
            else:
                self._values(row, (type_a, type_b), value_a, value_b)

    def _values(self, row: int, types: tuple[str, str], a: object, b: object) -> None:
        numbers = same_number(a, b)
        if types[0] != types[1]:
            self._note(row, "kind", *types)
            if not numbers:
                self._note(row, "value", short_text(a), short_text(b))
            self._settle(row, Status.KIND, bits=False, numbers=numbers)
            return
        bits = same_bits(a, b)
        if not bits:
            self._note(row, "value", short_text(a), short_text(b))
        status = Status.IDENTICAL if bits else Status.EQUAL if numbers else Status.CHANGED
        self._settle(row, status, bits=bits, numbers=numbers)

    def _containers(self, row: int, node_a: int, node_b: int) -> None:
        nodes_a, nodes_b = self._a.nodes, self._b.nodes
        kind_a, kind_b = nodes_a.kind[node_a], nodes_b.kind[node_b]
        type_a, type_b = nodes_a.type_name(node_a), nodes_b.type_name(node_b)
        self._settle(row, Status.IDENTICAL, bits=True, numbers=True)
        if type_a != type_b or kind_a != kind_b:
            self._note(row, "kind", type_a, type_b)
            # The root says which container the file is: of a safetensors file there is no dict to speak of.
            if row or self._a.container == self._b.container:
                self._settle(row, Status.KIND, bits=False, numbers=kind_a == kind_b)
                self._rows.counted[row] = 1
        elif not (nodes_a.n_children[node_a] or nodes_b.n_children[node_b]):
            self._rows.counted[row] = 1
        if nodes_a.value[node_a] != nodes_b.value[node_b]:
            self._note(row, "value", nodes_a.value[node_a], nodes_b.value[node_b])
        if kind_a == kind_b == Kind.MAPPING:
            self._order(row)

    def _order(self, row: int) -> None:
        """Note where the keys that both sides have stand in another order."""
        order = [
            node_b
            for child in self._rows.children(row)
            if (node_b := self._rows.node_b[child]) != NOTHING
            and self._rows.node_a[child] != NOTHING
            and node_b not in self._partner
        ]
        if any(later < earlier for earlier, later in pairwise(order)):
            keys = self._b.nodes.key
            in_b = sorted(order)
            at = next(i for i, (left, right) in enumerate(zip(order, in_b, strict=True)) if left != right)
            self._note(row, "order", f"{keys[order[at]]} at {at}", f"{keys[in_b[at]]} at {at}")

    def _links(self, row: int, target_a: object, target_b: object) -> None:
        path_a = format_path(self._a.nodes.keys_to(int(target_a)))  # type: ignore[call-overload]
        path_b = format_path(self._b.nodes.keys_to(int(target_b)))  # type: ignore[call-overload]
        if not self._row_of_b:
            self._row_of_b = {node: at for at, node in enumerate(self._rows.node_b) if node != NOTHING}
        other = self._row_of_b.get(int(target_b))  # type: ignore[call-overload]
        same = other is not None and self._rows.node_a[other] == target_a
        if not same:
            self._note(row, "value", path_a or "the root", path_b or "the root")
        self._settle(row, Status.IDENTICAL if same else Status.CHANGED, bits=same, numbers=same)

    def _storages(self, row: int, number_a: object, number_b: object) -> None:
        assert isinstance(number_a, int)
        assert isinstance(number_b, int)
        left, right = self._a.storage(number_a), self._b.storage(number_b)
        if left.dtype.name != right.dtype.name:
            self._note(row, "dtype", left.dtype, right.dtype)
            self._settle(row, Status.DTYPE, bits=False, numbers=False)
        elif left.nbytes != right.nbytes:
            self._note(row, "shape", left.nbytes // left.dtype.itemsize, right.nbytes // right.dtype.itemsize)
            self._settle(row, Status.SHAPE, bits=False, numbers=False)
        else:
            self._rows.status[row] = Status.UNREAD
            problem_a, problem_b = left.problem or "", right.problem or ""
            if problem_a or problem_b or UNREADABLE in (left.encoding, right.encoding):
                self._note(row, "problem", problem_a, problem_b)
            else:
                self._rows.is_value[row] = 1

    def _tensor_against_scalar(self, row: int, node_a: int, node_b: int) -> None:
        """A tensor of one element against a plain number: another kind, and the number is compared all the same."""
        for side, other, node, partner in ((self._a, self._b, node_a, node_b), (self._b, self._a, node_b, node_a)):
            tensor = side.tensor_of_node(node)
            if tensor is None or tensor.shape != () or tensor_problem(side, tensor.number):
                continue
            if isinstance(other.nodes.value[partner], _NUMBER_TYPES):
                self._rows.is_value[row] = 1

    def _one_sided_containers(self) -> None:
        """A container of a alone whose leaves found partners under other names is no difference by itself."""
        rows = self._rows
        for row in range(len(rows) - 1, -1, -1):
            if rows.status[row] != Status.REMOVED or not rows.n_children[row]:
                continue
            if any(rows.status[child] != Status.REMOVED for child in rows.children(row)):
                self._settle(row, Status.IDENTICAL, bits=True, numbers=True)

    def _sharing(self) -> None:
        """Note rows whose storage is shared with other rows than it is on the other side."""
        first_a, first_b = self._first_rows(is_a=True), self._first_rows(is_a=False)
        for row in first_a.keys() | first_b.keys():
            if self._rows.node_a[row] == NOTHING or self._rows.node_b[row] == NOTHING:
                continue
            left, right = first_a.get(row, row), first_b.get(row, row)
            if left != right:
                self._note(row, "sharing", self._shares(row, left, is_a=True), self._shares(row, right, is_a=False))

    def _first_rows(self, *, is_a: bool) -> dict[int, int]:
        """For each row of a tensor that shares its storage, the first row that does."""
        rows, checkpoint = self._rows, self._a if is_a else self._b
        nodes, storage_of = checkpoint.nodes, checkpoint.tensors.storage
        first: dict[int, int] = {}
        shared: dict[int, int] = {}
        tensor = int(Kind.TENSOR)
        for row, node in enumerate(rows.node_a if is_a else rows.node_b):
            if node == NOTHING or nodes.kind[node] != tensor:
                continue
            number = nodes.value[node]
            storage = storage_of[number]  # type: ignore[call-overload]
            if storage == NO_STORAGE:
                continue
            found = first.setdefault(storage, row)
            if found != row:
                shared[row] = found
                shared[found] = found
        return shared

    def _shares(self, row: int, first: int, *, is_a: bool) -> str:
        if row == first:
            return "its own storage"
        checkpoint, node = (self._a, self._rows.node_a[first]) if is_a else (self._b, self._rows.node_b[first])
        return f"shares the storage of {checkpoint.path_of(node)}"

    def _names(self) -> None:
        """Note pairs that stand under other names."""
        if not self._partner:
            return
        for row, (node_a, node_b) in enumerate(zip(self._rows.node_a, self._rows.node_b, strict=True)):
            if node_a != NOTHING and self._partner.get(node_a) == node_b != NOTHING:
                self._note(row, "name", self._a.path_of(node_a), self._b.path_of(node_b))


def tensor_problem(checkpoint: Checkpoint, number: int) -> str:
    """Why a tensor has no values to read; "" where it has."""
    tensors = checkpoint.tensors
    problem = tensors.problem.get(number)
    if problem is not None:
        return problem
    storage = tensors.storage[number]
    if storage == NO_STORAGE or number in tensors.layout:
        return f"it has no values of its own (layout {tensors.layout.get(number, 'strided')})"
    if checkpoint.storages.encoding[storage] == UNREADABLE:
        return checkpoint.storages.problem.get(storage, "its storage cannot be read")
    return ""


def value_nbytes(checkpoint: Checkpoint, number: int) -> int:
    """Bytes that reading a tensor takes: those of its elements, or of its storage where it shows them repeatedly."""
    tensors, storages = checkpoint.tensors, checkpoint.storages
    nbytes = numel_of(tensors.shape[number]) * DTYPES[tensors.dtype[number]].itemsize
    return min(nbytes, storages.nbytes[tensors.storage[number]])
