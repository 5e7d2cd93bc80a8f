"""The words and figures of a row, made when a row is painted and never before. Free of Qt."""

from __future__ import annotations

from typing import Final

from viewer.checkpoint.dtypes import DTYPES
from viewer.checkpoint.nodes import Kind
from viewer.checkpoint.tensors import NO_STORAGE
from viewer.gui.format import NO_VALUE, format_bytes, format_bytes_exact, format_count, format_exact, format_shape
from viewer.gui.tree import grouping
from viewer.gui.tree.columns import Column
from viewer.gui.tree.display import DisplayTable
from viewer.gui.tree.scan_cells import scan_cell, scan_tooltip

_MAX_SHOWN: Final = 200
"""Characters of a value in its row; no column is wider."""
_MAX_HOVERED: Final = 2_000

_SPANNING: Final = frozenset({Kind.SCALAR, Kind.REFERENCE, Kind.LINK, Kind.PROBLEM, Kind.TEXT})
_CONTAINERS: Final = frozenset({Kind.MAPPING, Kind.SEQUENCE, Kind.SET, Kind.OBJECT, Kind.GROUP})
_TYPE_WORDS: Final = {Kind.LINK: "link", Kind.PROBLEM: "problem", Kind.TEXT: "text", Kind.STORAGE: "storage"}


def spans(table: DisplayTable, row: int) -> bool:
    """True where the row has one value, written over the columns from SHAPE to SIZE, instead of figures."""
    return table.kind(row) in _SPANNING


def name_spans(table: DisplayTable, row: int) -> bool:
    """True where the columns TYPE and SHAPE are empty, so that the name may reach over them."""
    return table.kind(row) in _CONTAINERS


def cell(table: DisplayTable, row: int, column: int) -> str:
    """The text of a cell. A spanning value is the text of its last column."""
    if column == Column.NAME:
        return table.label[row]
    if column > Column.SIZE:
        return scan_cell(table, row, column)
    kind = table.kind(row)
    if column == Column.TYPE:
        return _type_cell(table, row, kind)
    if kind in _SPANNING:
        return value_text(table, row) if column == Column.SIZE else ""
    if column == Column.SHAPE:
        return format_shape(_shape(table, row)) if kind == Kind.TENSOR else ""
    if column == Column.ELEMENTS:
        return format_count(table.elements[row]) if table.n_tensors[row] else ""
    if kind == Kind.TENSOR and not _has_storage(table, row) and not table.nbytes[row]:
        return NO_VALUE
    return format_bytes(table.nbytes[row]) if table.n_tensors[row] or table.nbytes[row] else ""


def badge(table: DisplayTable, row: int) -> str:
    """What a row was recognised as, or what container it is, in a word or two beside its name; "" for others."""
    node = table.node[row]
    if node < 0:
        return ""
    if table.marks is not None and (found := table.marks.badge(node)) is not None:
        return found.text
    nodes = table.checkpoint.nodes
    kind, count = nodes.kind[node], nodes.n_children[node]
    name = nodes.type_name(node)
    short = name.rpartition(".")[2] or name
    if kind == Kind.MAPPING:
        return "state_dict" if is_state_dict(table, node) else f"{short} · {format_count(count)}"
    if kind in (Kind.SEQUENCE, Kind.SET):
        return f"{short} · {format_count(count)}"
    if kind == Kind.OBJECT:
        return short
    if kind == Kind.TENSOR and name not in ("tensor", "Tensor"):
        return short
    return ""


def is_inferred(table: DisplayTable, row: int) -> bool:
    """True where the badge is what the row is taken for, and nothing in the file says it is."""
    node = table.node[row]
    found = None if node < 0 or table.marks is None else table.marks.badge(node)
    return found is not None and not found.known


def name_beside(table: DisplayTable, row: int) -> str:
    """The parameter's name beside the number of an optimizer's entry; "" for other rows."""
    node = table.node[row]
    return "" if node < 0 or table.marks is None else table.marks.name_beside(node)


def is_state_dict(table: DisplayTable, node: int) -> bool:
    """True for a mapping from names, some of them dotted, to tensors alone."""
    nodes = table.checkpoint.nodes
    first, count = nodes.first_child[node], nodes.n_children[node]
    keys = nodes.key[first : first + count]
    count = grouping.count_entries(keys)
    if not count or nodes.kind[first : first + count].tobytes().count(Kind.TENSOR) != count:
        return False
    joined = grouping.join_names(keys[:count])
    return joined is not None and grouping.is_dotted(joined)


def value_text(table: DisplayTable, row: int, limit: int = _MAX_SHOWN) -> str:
    """The value of a row that has one, on one line."""
    node = table.node[row]
    if node < 0:
        return ""
    value = table.checkpoint.nodes.value[node]
    kind = table.kind(row)
    if kind == Kind.SCALAR:
        return _shortened(value, limit)
    if kind == Kind.LINK:
        assert isinstance(value, int)
        return f"→ {table.checkpoint.path_of(value) or 'the root'}"
    if kind == Kind.TEXT:
        assert isinstance(value, str)
        return f"{format_count(value.count(chr(10)) + 1)} lines"
    return "" if value is None else _one_line(str(value), limit)


def problem_of(table: DisplayTable, row: int) -> str | None:
    """What is wrong with a row; None where nothing is."""
    node = table.node[row]
    if node < 0:
        return None
    checkpoint = table.checkpoint
    value = checkpoint.nodes.value[node]
    kind = table.kind(row)
    if kind == Kind.PROBLEM:
        return str(value)
    if kind == Kind.TENSOR:
        assert isinstance(value, int)
        if (problem := checkpoint.tensors.problem.get(value)) is not None:
            return problem
        return checkpoint.storages.problem.get(checkpoint.tensors.storage[value])
    if kind == Kind.STORAGE:
        assert isinstance(value, int)
        return checkpoint.storages.problem.get(value)
    return None


def tooltip(table: DisplayTable, row: int, column: int) -> str:
    """The whole of what a cell may have cut short, exactly."""
    if column > Column.SIZE:
        return scan_tooltip(table, row, column)
    kind = table.kind(row)
    problem = problem_of(table, row)
    if column == Column.NAME:
        parts = (_full_name(table, row), _name_reason(table, row), _badge_reason(table, row), problem)
        return "\n".join(part for part in parts if part)
    if kind in _SPANNING:
        return problem or _whole_value(table, row)
    if column == Column.TYPE:
        return _type_tooltip(table, row, kind)
    if column == Column.SHAPE:
        return repr(_shape(table, row)) if kind == Kind.TENSOR else ""
    if not table.n_tensors[row] and not table.nbytes[row]:
        return ""
    if kind == Kind.TENSOR:
        return _tensor_sums(table, row)
    return (
        f"{format_count(table.n_tensors[row])} tensors with {format_count(table.elements[row])} elements, "
        f"{format_bytes_exact(table.nbytes[row])}\nA tensor with several names counts once."
    )


def _tensor_sums(table: DisplayTable, row: int) -> str:
    if not _has_storage(table, row):
        return f"{format_count(table.elements[row])} elements; no storage of its own"
    sums = f"{format_count(table.elements[row])} elements, {format_bytes_exact(table.nbytes[row])} packed densely"
    number = table.checkpoint.nodes.value[table.node[row]]
    assert isinstance(number, int)
    storage = table.checkpoint.tensors.storage[number]
    stored = table.checkpoint.storages.nbytes[storage]
    return sums if stored == table.nbytes[row] else f"{sums}\nIts storage has {format_bytes_exact(stored)}."


def _full_name(table: DisplayTable, row: int) -> str:
    node = table.node[row]
    if node >= 0:
        return table.checkpoint.path_of(node) or table.label[row]
    return table.label[row] if row in table.ranges else group_name(table, row)


def group_name(table: DisplayTable, row: int) -> str:
    """The parts that all dotted names inside a group begin with ("layer1.0")."""
    parts = [table.label[row]]
    for above in table.ancestors(row):
        if table.is_prefix(above):
            parts.append(table.label[above])
        elif above not in table.ranges:
            break
    return ".".join(reversed(parts))


def _name_reason(table: DisplayTable, row: int) -> str:
    node = table.node[row]
    return "" if node < 0 or table.marks is None else table.marks.name_reason(node)


def _badge_reason(table: DisplayTable, row: int) -> str:
    node = table.node[row]
    if node < 0:
        return ""
    name = table.checkpoint.nodes.type_name(node)
    if table.marks is not None and (found := table.marks.badge(node)) is not None:
        return f"{found.text}, {'known' if found.known else 'inferred'}: {found.why}\n{name}"
    if badge(table, row) == "state_dict":
        return f"{name}, taken for a state_dict: names, some of them dotted, and nothing but tensors"
    return name if table.kind(row) in (Kind.MAPPING, Kind.SEQUENCE, Kind.SET, Kind.OBJECT) else ""


def _type_cell(table: DisplayTable, row: int, kind: Kind) -> str:
    if kind == Kind.TENSOR:
        return DTYPES[table.checkpoint.tensors.dtype[_tensor(table, row)]].short
    if kind in _TYPE_WORDS:
        return _TYPE_WORDS[kind]
    if kind in (Kind.SCALAR, Kind.REFERENCE):
        return table.checkpoint.nodes.type_name(table.node[row]).rpartition(".")[2]
    return ""


def _type_tooltip(table: DisplayTable, row: int, kind: Kind) -> str:
    if kind == Kind.TENSOR:
        tensors = table.checkpoint.tensors
        number = _tensor(table, row)
        layout = tensors.layout.get(number)
        return DTYPES[tensors.dtype[number]].name + (f", {layout}" if layout else "")
    return table.checkpoint.nodes.type_name(table.node[row]) if table.node[row] >= 0 else ""


def _tensor(table: DisplayTable, row: int) -> int:
    number = table.checkpoint.nodes.value[table.node[row]]
    assert isinstance(number, int)
    return number


def _shape(table: DisplayTable, row: int) -> tuple[int, ...]:
    return table.checkpoint.tensors.shape[_tensor(table, row)]


def _has_storage(table: DisplayTable, row: int) -> bool:
    return table.checkpoint.tensors.storage[_tensor(table, row)] != NO_STORAGE


def _whole_value(table: DisplayTable, row: int) -> str:
    value = table.checkpoint.nodes.value[table.node[row]]
    if table.kind(row) == Kind.SCALAR:
        return _shortened(value, _MAX_HOVERED)
    return value_text(table, row, _MAX_HOVERED)


def _shortened(value: object, limit: int) -> str:
    """The value as Python writes it, its middle left out where it is long."""
    if isinstance(value, (str, bytes)) and len(value) > limit:
        # The text of the whole is never made: it may be many megabytes.
        unit = "characters" if isinstance(value, str) else "bytes"
        return f"{value[:limit]!r} … ({format_count(len(value))} {unit})"
    text = format_exact(value)
    return text if len(text) <= limit else f"{text[: limit // 2]}…{text[-limit // 2 :]}"


def _one_line(text: str, limit: int) -> str:
    line = " ".join(text[: limit + 1].split())
    return line if len(text) <= limit else f"{line[:limit]}…"
