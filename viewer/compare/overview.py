"""The verdict of a comparison in one sentence."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from viewer.checkpoint.nodes import Kind, OtherKey
from viewer.compare.comparison import Comparison
from viewer.compare.results import Overview, Status

_TELLING: Final = ("epoch", "global_step", "step", "lr", "best_acc", "best_acc1", "loss", "iteration", "iter")
"""Plain numbers whose change a person looks for first, in this order."""

_MAX_FACTS: Final = 4

_WORDS: Final = (
    (Status.CHANGED, "changed"),
    (Status.CLOSE, "close"),
    (Status.DTYPE, "of another dtype"),
    (Status.SHAPE, "of another shape"),
    (Status.KIND, "of another kind"),
    (Status.ADDED, "only on the right"),
    (Status.REMOVED, "only on the left"),
    (Status.EQUAL, "equal in number, not in bits"),
    (Status.IDENTICAL, "bit-identical"),
)
"""What is said of tensors, in this order."""

_NOTES: Final = "._metadata"
"""The key under which a state_dict keeps the version of each module; other formats have no place for it."""


def overview_of(comparison: Comparison, steps: tuple[float, float] | None = None) -> Overview:
    """Totals, verdicts and the sentence.

    Parameters
    ----------
    steps
        That the optimizer counts, of both sides, where they differ.
    """
    bits, numbers, close = comparison.verdict()
    return Overview(sentence(comparison, steps), comparison.totals(), bits, numbers, close)


def sentence(comparison: Comparison, steps: tuple[float, float] | None = None) -> str:
    """One line: how many tensors are the same, changed, added …; then steps, epochs and learning rates that moved."""
    tensors = _tensor_counts(comparison)
    parts = [_tensors_text(tensors, _unreadable_tensors(comparison))] if sum(tensors) else []
    others = [total - tensor for total, tensor in zip(comparison.totals(), tensors, strict=True)]
    different = sum(others[status] for status in Status if status > Status.UNREAD)
    notes = _different_notes(comparison) if different else 0
    if notes:
        parts.append(f"{_count(notes, 'note', 'notes')} on module versions ({_NOTES}) {_differ(notes)}")
    if rest := different - notes:
        parts.append(f"{_count(rest, 'other entry', 'other entries')} {_differ(rest)}")
    elif not different and any(others) and any(tensors):
        parts.append("all other entries the same")
    elif not different and any(others):
        parts.append(f"all {sum(others):,} entries the same" if sum(others) > 1 else "the only entry is the same")
    if steps is not None:
        way = "advanced" if steps[1] > steps[0] else "went back"
        parts.append(f"optimizer {way} from step {steps[0]:,.15g} to {steps[1]:,.15g}")
    parts += _told_changes(comparison, but="" if steps is None else "step")
    return "; ".join(parts) or "nothing to compare"


def _differ(number: int) -> str:
    return "differs" if number == 1 else "differ"


def _count(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"


def _tensors_text(counts: list[int], unreadable: int) -> str:
    matched = sum(counts[status] for status in Status if status not in (Status.ADDED, Status.REMOVED))
    if counts[Status.IDENTICAL] == sum(counts):
        return f"{_count(matched, 'tensor', 'tensors')}, all bit-identical"
    words = [(counts[status], word) for status, word in _WORDS]
    words += [(unreadable, "that cannot be read"), (counts[Status.UNREAD] - unreadable, "not compared yet")]
    told = [f"{count:,} {word}" for count, word in words if count]
    if len(told) == 1 and matched > 1:
        told = [f"all {word}" for count, word in words if count]
    lead = f"same {_count(matched, 'tensor', 'tensors')}"
    if counts[Status.ADDED] or counts[Status.REMOVED]:
        lead = f"{_count(matched, 'tensor', 'tensors')} on both sides"
    return ", ".join([lead, *told])


def _tensor_rows(comparison: Comparison) -> Iterator[int]:
    """Counted rows that are a tensor on one side at least."""
    rows = comparison.rows
    kind_a, kind_b = comparison.a.nodes.kind, comparison.b.nodes.kind
    tensor = int(Kind.TENSOR)
    for row, counted in enumerate(rows.counted):
        if not counted:
            continue
        node_a, node_b = rows.node_a[row], rows.node_b[row]
        if (node_a >= 0 and kind_a[node_a] == tensor) or (node_b >= 0 and kind_b[node_b] == tensor):
            yield row


def _tensor_counts(comparison: Comparison) -> list[int]:
    counts = [0] * len(Status)
    status = comparison.rows.status
    for row in _tensor_rows(comparison):
        counts[status[row]] += 1
    return counts


def _unreadable_tensors(comparison: Comparison) -> int:
    return sum(map(comparison.is_unreadable, _tensor_rows(comparison)))


def _different_notes(comparison: Comparison) -> int:
    """Entries about the versions of modules that are not the same on both sides."""
    rows = comparison.rows
    inside = bytearray(len(rows))
    count = 0
    for row in range(1, len(rows)):
        key = rows.key[row]
        inside[row] = inside[rows.parent[row]] or (isinstance(key, OtherKey) and key.text == _NOTES)
        count += bool(inside[row] and rows.counted[row] and rows.status[row] > Status.UNREAD)
    return count


def _told_changes(comparison: Comparison, but: str) -> list[str]:
    """Changes of well-known numbers, `but` one that was told: "epoch from 3 to 4"."""
    rows = comparison.rows
    found: dict[str, tuple[object, object]] = {}
    nodes_a, nodes_b = comparison.a.nodes, comparison.b.nodes
    for row, status in enumerate(rows.status):
        key = rows.key[row]
        if status != Status.CHANGED or not isinstance(key, str) or key not in _TELLING or key in found:
            continue
        node_a, node_b = rows.node_a[row], rows.node_b[row]
        if nodes_a.kind[node_a] == nodes_b.kind[node_b] == Kind.SCALAR:
            values = nodes_a.value[node_a], nodes_b.value[node_b]
            if all(isinstance(value, (int, float)) for value in values):
                found[key] = values
    told = [key for key in _TELLING if key in found and key != but]
    return [f"{key} from {found[key][0]:g} to {found[key][1]:g}" for key in told][:_MAX_FACTS]
