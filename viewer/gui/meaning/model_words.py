"""What there is to say about a model above its tree. Free of Qt."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.meaning.results import Label, StateDictFacts
from viewer.gui.format import format_bytes, format_count, format_shape
from viewer.gui.meaning.lora import LoraPair

_SHOWN: Final = 4


def model_words(facts: StateDictFacts, label: Label | None) -> str:
    """What it is, how sure that is, and how much."""
    lines = []
    if label is not None:
        sure = "known" if label.known else "inferred"
        lines.append(f"{label.text[:1].upper()}{label.text[1:]} ({sure}: {label.why})")
    sums = f"{format_count(len(facts.entry))} tensors · {format_count(facts.numel)} elements · "
    sums += format_bytes(facts.nbytes)
    kind = "parameters" if facts.parameters_known else "parameters (inferred)"
    if facts.n_parameters != facts.numel:
        sums += f" · {format_count(facts.n_parameters)} of them {kind}"
    lines.append(sums)
    if not facts.ordered:
        lines.append("The file does not keep the model's own order: it is sorted by name")
    if facts.versions:
        shown = ", ".join(
            f"{name or 'the model'} {version}" for name, version in list(facts.versions.items())[:_SHOWN]
        )
        more = " …" if len(facts.versions) > _SHOWN else ""
        lines.append(f"Versions of modules in _metadata: {shown}{more}")
    return "\n".join(lines)


def tied_words(checkpoint: Checkpoint, facts: StateDictFacts) -> str:
    """Names that are one tensor."""
    if not facts.tied:
        return ""
    name_of = dict(zip(facts.entry, facts.name, strict=True))
    groups = [" = ".join(name_of.get(node, checkpoint.path_of(node)) for node in group.nodes) for group in facts.tied]
    more = f" … and {format_count(len(groups) - _SHOWN)} more" if len(groups) > _SHOWN else ""
    return f"Tied, one tensor under several names: {'; '.join(groups[:_SHOWN])}{more}"


def pair_words(pairs: Sequence[LoraPair]) -> str:
    """LoRA pairs with their ranks."""
    if not pairs:
        return ""
    ranks = Counter(pair.rank for pair in pairs)
    told = ", ".join(
        f"rank {rank}" + (f" ({count})" if len(ranks) > 1 else "") for rank, count in ranks.most_common()
    )
    shown = "; ".join(
        f"{pair.name} {format_shape(pair.shape_b)} · {format_shape(pair.shape_a)}" for pair in pairs[:_SHOWN]
    )
    more = " …" if len(pairs) > _SHOWN else ""
    count = f"{format_count(len(pairs))} LoRA {'pair' if len(pairs) == 1 else 'pairs'}"
    return f"{count} (inferred), {told}: {shown}{more}"
