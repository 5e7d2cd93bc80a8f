"""What there is to say about an optimizer above its tables. Free of Qt."""

from __future__ import annotations

from typing import Final

from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.meaning.results import NamedBy, OptimizerFacts
from viewer.gui.format import format_bytes, format_count, format_number

_SHOWN: Final = 4
MOST_GROUPS: Final = 200
"""Groups that get a column; a file may have one for each parameter."""

_LEADS: Final[dict[NamedBy, str]] = {
    "param_names": "Names are in the file",
    "state_dict": "Names are those of the model",
    "key": "Names are in the file",
    "none": "Entries have no certain names",
}


def short_kind(optimizer: OptimizerFacts) -> str:
    """Its class in a word or two."""
    return "optimizer" if optimizer.kind == "unknown" else optimizer.kind


def badge_words(optimizer: OptimizerFacts) -> str:
    """What the tree says beside it: "Adam · 2 groups"."""
    count = len(optimizer.groups)
    return f"{short_kind(optimizer)} · {format_count(count)} {'group' if count == 1 else 'groups'}"


def head_words(checkpoint: Checkpoint, optimizer: OptimizerFacts) -> str:
    """What it is, how sure that is, and how large it is against the model."""
    sure = "known" if optimizer.kind_known else "inferred"
    what = "An optimizer of a kind that is not known here" if optimizer.kind == "unknown" else optimizer.kind
    lines = [f"{what} ({sure}: {optimizer.why})" if optimizer.why else what]
    entries, groups = len(optimizer.entries), len(optimizer.groups)
    sizes = f"{format_count(entries)} {_plural(entries, 'entry', 'entries')} in "
    sizes += f"{format_count(groups)} {_plural(groups, 'group', 'groups')} · "
    sizes += f"{format_bytes(optimizer.state_nbytes)} of state"
    if optimizer.model >= 0 and optimizer.model_nbytes:
        where = checkpoint.path_of(optimizer.model) or "the root"
        times = format_number(optimizer.state_nbytes / optimizer.model_nbytes, 3)
        sizes += f", {times} times the {format_bytes(optimizer.model_nbytes)} of parameters of {where}"
    return "\n".join([*lines, sizes])


def naming_words(optimizer: OptimizerFacts) -> str:
    """How the names were found, or why they were not."""
    told, lead = optimizer.naming, _LEADS[optimizer.named_by]
    return f"{lead}, {told}." if told.startswith("inferred") else f"{lead}: {told}." if told else f"{lead}."


def note_words(optimizer: OptimizerFacts) -> str:
    """What a person should read before resuming."""
    lines = [f"⚠ {note}" for note in optimizer.notes]
    if len(optimizer.groups) > MOST_GROUPS:
        lines.append(f"The first {MOST_GROUPS} of {format_count(len(optimizer.groups))} groups have a column")
    if optimizer.strangers:
        lines.append(f"✕ State for {_listed(optimizer.strangers)} that the model does not have")
    if optimizer.unstated:
        lines.append(f"○ No entry for {_listed(optimizer.unstated)} of the model: frozen, or left out")
    return "\n".join(lines)


def _listed(names: list[str]) -> str:
    shown = ", ".join(names[:_SHOWN]) + (" …" if len(names) > _SHOWN else "")
    return f"{format_count(len(names))} {_plural(len(names), 'parameter', 'parameters')} ({shown})"


def _plural(count: int, one: str, many: str) -> str:
    return one if count == 1 else many
