"""What is known of a whole file, as rows of tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.meaning.results import Label, Recognition
from viewer.gui.details.cell import Cell
from viewer.gui.details.facts import Fact
from viewer.gui.details.jump_table import JumpRow
from viewer.gui.details.whole_facts import Sum, WholeFacts
from viewer.gui.format import (
    format_bytes,
    format_bytes_exact,
    format_count,
    format_percent,
    format_shape,
)
from viewer.report.wording import printable

SUM_HEADS: Final = ("tensors", "size", "share")
LARGEST_HEADS: Final = ("name", "dtype", "shape", "size", "share")
WASTE_HEADS: Final = ("storage of", "tensors", "used", "stored", "unused")
LABEL_HEADS: Final = ("entry", "what it is", "", "because")
_MOST_PARTS: Final = 12
_MOST_LABELS: Final = 40
KNOWN: Final = "● known"
INFERRED: Final = "○ inferred"
_HOW: Final = {
    True: "The file itself says so: a class name, or a key that nothing else has",
    False: "Inferred from names and shapes; the file does not say so",
}


def sum_rows(sums: Sequence[Sum], whole: int) -> list[JumpRow]:
    """Name, tensors, bytes and share of each; what comes after the first dozen as one row."""
    rows = [_sum_row(total, whole) for total in sums[:_MOST_PARTS]]
    if rest := sums[_MOST_PARTS:]:
        others = Sum(
            f"{format_count(len(rest))} more",
            None,
            sum(total.tensors for total in rest),
            sum(total.elements for total in rest),
            sum(total.nbytes for total in rest),
        )
        rows.append(_sum_row(others, whole))
    return rows


def _sum_row(total: Sum, whole: int) -> JumpRow:
    return JumpRow(
        (
            Cell(total.name, total.name),
            Cell(format_count(total.tensors), right=True),
            Cell(format_bytes(total.nbytes), format_bytes_exact(total.nbytes), right=True),
            Cell(format_percent(total.nbytes, whole), right=True),
        ),
        total.node,
        total.nbytes / whole if whole else 0.0,
    )


def largest_rows(checkpoint: Checkpoint, facts: WholeFacts) -> list[JumpRow]:
    """The largest tensors."""
    rows = []
    for node, nbytes in facts.largest:
        tensor = checkpoint.tensor_of_node(node)
        assert tensor is not None
        path = checkpoint.path_of(node) or printable(checkpoint.path.name)
        cells = (
            Cell(path, path),
            Cell(tensor.dtype.short, tensor.dtype.name),
            Cell(format_shape(tensor.shape), repr(tensor.shape), right=True),
            Cell(format_bytes(nbytes), format_bytes_exact(nbytes), right=True),
            Cell(format_percent(nbytes, facts.nbytes), right=True),
        )
        rows.append(JumpRow(cells, node, nbytes / facts.nbytes if facts.nbytes else 0.0))
    return rows


def waste_words(facts: WholeFacts) -> str:
    """How much of the storages no tensor shows; "" where the file has no tensor."""
    if not facts.tensors:
        return ""
    if not facts.n_wasteful:
        return "None: every byte of the storages belongs to a tensor."
    n = facts.n_wasteful
    storages = "One storage holds" if n == 1 else f"{format_count(n)} storages hold"
    exact = format_bytes_exact(facts.wasted)
    return (
        f"{storages} at least {format_bytes(facts.wasted)} ({exact}) that no tensor shows: views were saved with all "
        "of what they look into. A clone() before saving leaves it out."
    )


def waste_rows(checkpoint: Checkpoint, facts: WholeFacts) -> list[JumpRow]:
    """The storages with most unused bytes."""
    rows = []
    for waste in facts.wasteful:
        path = checkpoint.path_of(waste.node) or printable(checkpoint.path.name)
        cells = (
            Cell(path, path),
            Cell(format_count(waste.tensors), right=True),
            Cell(format_bytes(waste.used), format_bytes_exact(waste.used), right=True),
            Cell(format_bytes(waste.stored), format_bytes_exact(waste.stored), right=True),
            Cell(format_percent(waste.wasted, waste.stored), format_bytes_exact(waste.wasted), right=True),
        )
        rows.append(JumpRow(cells, waste.node, waste.wasted / waste.stored))
    return rows


def tied_facts(facts: WholeFacts) -> list[Fact]:
    """Names that show the same elements as another; nothing where there is none."""
    if not facts.tied:
        return []
    shown = f"{format_count(facts.tied)}; without them {format_count(facts.elements)} elements"
    return [Fact("tied tensors", shown, f"{facts.tied} names show the same elements as a name before them")]


def model_facts(checkpoint: Checkpoint, recognition: Recognition) -> list[Fact]:
    """Parameters of each model, tied ones once."""
    facts = []
    for model in recognition.state_dicts:
        if not model.numel:
            continue
        path = checkpoint.path_of(model.node)
        certain = KNOWN if model.parameters_known else INFERRED
        shown = format_count(model.n_parameters)
        how = "the file tells parameters from buffers" if model.parameters_known else "by names and dtypes"
        buffers = model.numel - model.n_parameters
        if buffers:
            shown += f" and {format_count(buffers)} in buffers"
        exact = f"{model.n_parameters} ({how}; tied ones once), {format_bytes_exact(model.parameter_nbytes)}"
        label = f"parameters of {path}" if path else "parameters"
        facts.append(Fact(label, f"{shown} · {certain}", exact))
    return facts


def label_rows(checkpoint: Checkpoint, recognition: Recognition) -> list[JumpRow]:
    """What each part was recognised as, whether the file says so, and why."""
    rows = []
    for node, label in sorted(recognition.labels.items())[:_MOST_LABELS]:
        path = checkpoint.path_of(node)
        rows.append(JumpRow(_label_cells(path or "the whole file", label), node if path else None))
    if (n_more := len(recognition.labels) - _MOST_LABELS) > 0:
        rows.append(JumpRow((Cell(f"… and {format_count(n_more)} more", plain=True), Cell(""), Cell(""), Cell(""))))
    return rows


def _label_cells(path: str, label: Label) -> tuple[Cell, ...]:
    return (
        Cell(path, path),
        Cell(label.text, label.text, plain=True),
        Cell(KNOWN if label.known else INFERRED, _HOW[label.known], plain=True, muted=True),
        Cell(label.why, label.why, plain=True, muted=True),
    )
