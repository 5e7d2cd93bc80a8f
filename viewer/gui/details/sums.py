"""The sums over a part of the tree, as rows of tables."""

from __future__ import annotations

from typing import Final

from viewer.gui.details.cell import Cell
from viewer.gui.details.facts import Fact, size_fact
from viewer.gui.details.jump_table import JumpRow
from viewer.gui.details.subtree import SubtreeFacts
from viewer.gui.format import format_bytes, format_bytes_exact, format_count, format_percent


def subtree_fact_rows(sums: SubtreeFacts) -> list[Fact]:
    """Tensors, elements and bytes below a node; nothing where there is no tensor."""
    if not sums.tensors and not sums.loose_nbytes:
        return []
    facts = [Fact("tensors", format_count(sums.tensors))]
    if sums.names > sums.tensors:
        again = sums.names - sums.tensors
        facts.append(Fact("further names of them", format_count(again), f"{again} entries show a tensor once more"))
    facts.append(Fact("elements", format_count(sums.elements)))
    facts.append(size_fact("size", sums.nbytes))
    storages = f"{format_count(sums.storages)}, {format_bytes(sums.stored_nbytes)}"
    facts.append(Fact("storages", storages, f"{sums.storages} storages of {format_bytes_exact(sums.stored_nbytes)}"))
    if sums.parameters:
        facts.append(Fact("saved as Parameter", format_count(sums.parameters), f"{sums.parameters} tensors are so"))
    if sums.devices:
        devices = sorted(sums.devices.items(), key=_most_first)
        facts.append(Fact("saved on", ", ".join(f"{name} ({format_count(n)})" for name, n in devices)))
    return facts


DTYPE_HEADS: Final = ("dtype", "tensors", "elements", "size", "share")


def dtype_rows(sums: SubtreeFacts) -> list[JumpRow]:
    """One row for each dtype: its tensors, elements and bytes, and its share of the bytes."""
    whole = sum(share.nbytes for share in sums.by_dtype)
    return [
        JumpRow(
            (
                Cell(share.dtype.name),
                Cell(format_count(share.tensors), right=True),
                Cell(format_count(share.elements), right=True),
                Cell(format_bytes(share.nbytes), format_bytes_exact(share.nbytes), right=True),
                Cell(format_percent(share.nbytes, whole), right=True),
            ),
            share=share.nbytes / whole if whole else 0.0,
        )
        for share in sums.by_dtype
    ]


def _most_first(item: tuple[str, int]) -> tuple[int, str]:
    return -item[1], item[0]
