"""What a scheduler, a random state, a scaler … is called, and its values that people look for first. Free of Qt."""

from __future__ import annotations

from typing import Final

from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.meaning.look import Look
from viewer.checkpoint.meaning.results import Label, PartFacts
from viewer.gui.details.facts import Fact

TAB_TITLES: Final = {
    "scheduler": "Scheduler",
    "scaler": "Scaler",
    "rng": "Random state",
    "loop": "Loops",
    "callback": "Callbacks",
    "hyperparameters": "Hyperparameters",
    "trainer": "Trainer",
}
"""The tab of a part by its kind; a metric is one value and has none."""

_NESTED: Final = ("hyperparameters", "loop", "callback")
"""Kinds whose members are often containers."""
_WORDS: Final = {
    "last_epoch": "last epoch",
    "_last_lr": "last learning rate",
    "base_lrs": "base learning rates",
    "_step_count": "steps made",
    "growth_factor": "growth factor",
    "backoff_factor": "backoff factor",
    "growth_interval": "steps without overflow before it grows",
    "_growth_tracker": "steps without overflow so far",
    "num_bad_epochs": "epochs without improvement",
}
"""Field names in words; others stand as the file has them."""


def part_words(part: PartFacts, label: Label | None) -> str:
    """What it is, how sure that is, and why."""
    title = f"{part.title[:1].upper()}{part.title[1:]}"
    if label is None:
        return title
    return f"{title} ({'known' if label.known else 'inferred'}: {label.why})"


def first_facts(checkpoint: Checkpoint, part: PartFacts) -> list[Fact]:
    """The values looked for first, each with the file's own name for it."""
    look = Look(checkpoint)
    members = look.named(part.node) if look.is_mapping(part.node) else {}
    facts = []
    for name, text in part.values:
        node = members.get(name)
        if part.kind in _NESTED and node is not None and look.is_container(node):
            continue  # open in the tree below
        value = look.scalar(node)
        exact = repr(value) if isinstance(value, float) else ""
        words = _WORDS.get(name)
        facts.append(Fact(name if words is None else f"{words} ({name})", " ".join(text.split()), exact))
    return facts
