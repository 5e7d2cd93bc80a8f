"""A comparison as JSON, written piece by piece.

    {"file_a", "file_b", "container_a", "container_b", "sentence", "same_bits", "same_numbers", "close",
     "totals": {status: rows}, "tolerance", "rules", "offers", "renamed", "facts", "warnings", "entries": [...]}

`same_bits`, `same_numbers` and `close` are null while something is unread that could change them. Every row that
counts is an entry, in tree order:

* `path`: in a, or in b where the row was added; `path_b`: null where the row was removed;
* `status`: "identical", "equal" (other bits, same numbers), "close", "changed", "dtype", "shape", "kind", "added",
  "removed" or "unread"; `bits` and `numbers`: the two verdicts, null where they are not known;
* of tensors `dtype`, `shape` (and `dtype_b`, `shape_b`); of plain values `value`, `value_b` and `max_abs`;
* with measures: `count`, `count_differ`, `max_abs`, `max_abs_index`, `mean_abs`, `rms`, `rel_norm`, `cosine`,
  `max_ulp` and the further fields of `viewer.compare.results.Measures`;
* `notes`: {aspect: [a, b]}; `same_checksum` where an unread pair has equal checksums; `top`: the elements that differ
  most, where they were asked for; `problem`.

Numbers that JSON has none for are the strings "nan", "inf" and "-inf".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Final

from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.dtypes import DTYPES
from viewer.checkpoint.nodes import Kind
from viewer.compare.comparison import NOTHING, Comparison, status_name
from viewer.compare.pair_details import ElementDifference
from viewer.compare.results import Measures, Status
from viewer.compare.task import difference_of_scalars
from viewer.report.json_values import json_list, json_object, json_string, json_value

_RENAMED: Final = {"differ": "count_differ", "differ_bits": "count_differ_bits"}
_FIRST: Final = (
    "count", "differ", "max_abs", "max_abs_index", "mean_abs", "rms", "rel_norm", "cosine", "max_ulp",
)  # fmt: skip
_PLAIN: Final = frozenset({Kind.SCALAR, Kind.REFERENCE, Kind.TEXT})


def iter_diff_json(
    comparison: Comparison, top: Mapping[int, Sequence[ElementDifference]] | None = None
) -> Iterator[str]:
    """Pieces of the JSON text; together they end in a line feed.

    Parameters
    ----------
    top
        The elements that differ most, by row.
    """
    yield "{\n" + "".join(f"{json_string(name)}: {text},\n" for name, text in _head(comparison).items())
    yield '"entries": ['
    separator = "\n"
    for row in comparison.counted_rows():
        yield separator + json_object(_entry(comparison, row, (top or {}).get(row)))
        separator = ",\n"
    yield "\n]\n}\n"


def _head(comparison: Comparison) -> dict[str, str]:
    structure, overview = comparison.structure, comparison.overview
    bits, numbers, close = comparison.verdict()
    tolerance = structure.options.tolerance
    offers = [
        {
            "map": str(offer.rule),
            "matches": offer.matches,
            "same_shape": offer.same_shape,
            "example": list(offer.example),
        }
        for offer in structure.offers
    ]
    renamed = [
        {"path": comparison.path_a(pair.row_a), "path_b": comparison.path_b(pair.row_b), "reason": pair.reason}
        for pair in structure.renamed
    ]
    return {
        "file_a": json_string(str(structure.path_a)),
        "file_b": json_string(str(structure.path_b)),
        "container_a": json_string(structure.container_a),
        "container_b": json_string(structure.container_b),
        "sentence": json_value(None if overview is None else overview.sentence),
        "same_bits": json_value(bits),
        "same_numbers": json_value(numbers),
        "close": json_value(close),
        "totals": json_value({status_name(at): number for at, number in enumerate(comparison.totals())}),
        "tolerance": json_value(
            "preset"
            if structure.options.preset
            else None
            if tolerance is None
            else {"rtol": tolerance.rtol, "atol": tolerance.atol}
        ),
        "rules": json_value([str(rule) for rule in structure.options.rules]),
        "offers": json_value(offers),
        "renamed": json_value(renamed),
        "facts": json_value({note.aspect: [note.a, note.b] for note in structure.facts}),
        "warnings": json_value(structure.warnings),
    }


def _entry(comparison: Comparison, row: int, top: Sequence[ElementDifference] | None) -> dict[str, str]:
    rows = comparison.rows
    path_a, path_b = comparison.path_a(row), comparison.path_b(row)
    status = comparison.status(row)
    bits, numbers = comparison.verdicts(row)
    fields_: dict[str, str] = {
        "path": json_value(path_b if path_a is None else path_a),
        "path_b": json_value(path_b),
        "status": json_string(status_name(status)),
        "bits": json_value(bits),
        "numbers": json_value(numbers),
    }
    for suffix, checkpoint, node in (("", comparison.a, rows.node_a[row]), ("_b", comparison.b, rows.node_b[row])):
        if node != NOTHING:
            fields_ |= _side(checkpoint, node, suffix)
    measures = comparison.measures(row)
    if measures is not None:
        fields_ |= measure_fields(measures)
    else:
        difference = difference_of_scalars(comparison, row)
        if difference is not None:
            fields_["max_abs"] = json_value(difference)
    notes = comparison.notes(row)
    if notes:
        fields_["notes"] = json_value({note.aspect: [note.a, note.b] for note in notes})
    if rows.same_checksum[row] and status == Status.UNREAD:
        fields_["same_checksum"] = "true"
    if top is not None:
        fields_["top"] = json_list(map(_element, top))
    result = comparison.results.get(row)
    if result is not None and result.problem:
        fields_["problem"] = json_string(result.problem)
    return fields_


def _side(checkpoint: Checkpoint, node: int, suffix: str) -> dict[str, str]:
    nodes = checkpoint.nodes
    kind = nodes.kind[node]
    if kind == Kind.TENSOR:
        number = nodes.value[node]
        assert isinstance(number, int)
        tensors = checkpoint.tensors
        return {
            f"dtype{suffix}": json_string(DTYPES[tensors.dtype[number]].name),
            f"shape{suffix}": json_value(tensors.shape[number]),
        }
    found = {f"type{suffix}": json_string(nodes.type_name(node))}
    if kind in _PLAIN:
        found[f"value{suffix}"] = json_value(nodes.value[node])
    return found


def measure_fields(measures: Measures) -> dict[str, str]:
    """All measures as JSON text, the best known first."""
    names = [*_FIRST, *(field.name for field in fields(measures) if field.name not in _FIRST)]
    found = {_RENAMED.get(name, name): json_value(getattr(measures, name)) for name in names}
    found["changed_share"] = json_value(measures.changed_share)
    return found


def _element(element: ElementDifference) -> str:
    return json_object(
        {
            "index": json_value(element.index),
            "position": json_value(element.position),
            "a": json_value(element.a),
            "b": json_value(element.b),
            "difference": json_value(element.difference),
            "ulp": json_value(element.ulp),
        }
    )
