"""What was recognised, as the tree shows it: badges, and names of parameters beside numbers. Free of Qt."""

from __future__ import annotations

from dataclasses import dataclass

from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.meaning.results import Label, Recognition
from viewer.checkpoint.nodes import Kind
from viewer.gui.format import format_count
from viewer.gui.meaning.counterparts import Counterparts
from viewer.gui.meaning.optimizer_words import badge_words


@dataclass(frozen=True, slots=True)
class Badge:
    """What stands beside a name.

    Attributes
    ----------
    known
        False where it was inferred: drawn with an outline only.
    why
        The evidence, for hovering.
    """

    text: str
    known: bool
    why: str


class Marks:
    """Badges and names by node."""

    def __init__(self, checkpoint: Checkpoint, recognition: Recognition) -> None:
        self.places = Counterparts(checkpoint, recognition)
        self._nodes = checkpoint.nodes
        self._labels = recognition.labels
        self._kinds = {facts.node: badge_words(facts) for facts in recognition.optimizers}

    def badge(self, node: int) -> Badge | None:
        """What a node is; None where it was not recognised, or its name says it already."""
        label = self._labels.get(node)
        if label is None or self._says_it(node, label):
            return None
        return Badge(self._kinds.get(node, label.text), label.known, label.why)

    def name_beside(self, node: int) -> str:
        """The parameter that a state is for, or how many it may be for; "" for other nodes and for names known."""
        place = self.places.entry_of_state(node)
        if place is None:
            return ""
        entries, entry = place.optimizer.entries, place.entry
        if entries.state[entry] != node:
            return ""  # one of several members of a flat file, which has the name in its key
        name = entries.name[entry]
        if name is not None:
            return "" if name == entries.id[entry] else name
        count = entries.n_candidates[entry]
        return f"one of {format_count(count)}" if count > 1 else ""

    def names_of_states(self) -> dict[int, str]:
        """The parameter's name by the node of its state, where it is certain and not the state's own key."""
        return {
            state: name
            for optimizer in self.places.recognition.optimizers
            for state, key, name in zip(
                optimizer.entries.state, optimizer.entries.id, optimizer.entries.name, strict=True
            )
            if state >= 0 and name is not None and name != key
        }

    def name_reason(self, node: int) -> str:
        """What hovering a state tells of its name."""
        place = self.places.entry_of_state(node)
        if place is None or place.optimizer.entries.state[place.entry] != node:
            return ""
        entries, entry = place.optimizer.entries, place.entry
        name = entries.name[entry]
        if name is not None:
            return f"state of {name}"
        candidates = list(entries.candidates[entry][:8])
        if not candidates:
            return ""
        more = " …" if entries.n_candidates[entry] > len(candidates) else ""
        return f"state of one of: {', '.join(candidates)}{more}"

    def _says_it(self, node: int, label: Label) -> bool:
        key = self._nodes.key[node]
        return self._nodes.kind[node] == Kind.SCALAR and isinstance(key, str) and label.text in key.lower()
