"""Pairs of LoRA matrices among the entries of a model. Free of Qt."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.meaning.look import Look
from viewer.checkpoint.meaning.results import ROLES, StateDictFacts

_A: Final = ROLES.index("LoRA A")
_B: Final = ROLES.index("LoRA B")
_SIDES: Final = re.compile(r"lora_(A|down|embedding_A|B|up|embedding_B)(?=$|[._])")
_OTHER: Final = {
    "A": "B", "down": "up", "embedding_A": "embedding_B",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class LoraPair:
    """Two matrices whose product is added to a weight.

    Attributes
    ----------
    name
        What both names begin with: the module that is adapted.
    rank
        Extent that both share.
    a, b
        Nodes.
    shape_a, shape_b
        Of the two.
    """

    name: str
    rank: int
    a: int
    b: int
    shape_a: tuple[int, ...]
    shape_b: tuple[int, ...]


def lora_pairs(checkpoint: Checkpoint, facts: StateDictFacts) -> list[LoraPair]:
    """All pairs whose two names and ranks agree, in the model's order."""
    if _A not in facts.role:
        return []
    look = Look(checkpoint)
    node_of = dict(zip(facts.name, facts.entry, strict=True))
    pairs: list[LoraPair] = []
    for name, node, role in zip(facts.name, facts.entry, facts.role, strict=True):
        if role != _A or (match := _SIDES.search(name)) is None:
            continue
        other = f"{name[: match.start()]}lora_{_OTHER[match[1]]}{name[match.end() :]}"
        partner = node_of.get(other)
        first, second = look.shape(node), look.shape(partner)
        if (
            partner is not None
            and first
            and second
            and len(first) >= 2
            and len(second) >= 2
            and first[0] == second[1]
        ):
            pairs.append(LoraPair(name[: match.start()].rstrip("."), first[0], node, partner, first, second))
    return pairs
