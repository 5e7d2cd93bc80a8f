"""Which entry of which optimizer belongs to a node: a parameter's, or a state's and all that is in it. Free of Qt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeVar

from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.meaning.results import OptimizerFacts, PartFacts, Recognition, StateDictFacts

_Found = TypeVar("_Found")
_BITS: Final = 32
"""Places are kept as ints, optimizer and entry: a hundred thousand objects would take the window 100 ms to make."""


@dataclass(frozen=True, slots=True)
class Place:
    """An entry of an optimizer."""

    optimizer: OptimizerFacts
    entry: int


class Counterparts:
    """Finds places by node; the indexes are made when they are first asked for."""

    def __init__(self, checkpoint: Checkpoint, recognition: Recognition) -> None:
        self.checkpoint = checkpoint
        self.recognition = recognition
        self._nodes = checkpoint.nodes
        self._optimizers = {facts.node: facts for facts in recognition.optimizers}
        self._models = {facts.node: facts for facts in recognition.state_dicts}
        self._parts = {part.node: part for part in recognition.parts}
        self._of_parameter: dict[int, int] | None = None
        self._of_state: dict[int, int] | None = None

    def optimizer_around(self, node: int) -> OptimizerFacts | None:
        """The optimizer that a node is, or is in."""
        return self._above(node, self._optimizers)

    def model_at(self, node: int) -> StateDictFacts | None:
        """The model that a node is."""
        return self._models.get(node)

    def part_at(self, node: int) -> PartFacts | None:
        """The scheduler, random state … that a node is."""
        return self._parts.get(node)

    def entry_of_state(self, node: int) -> Place | None:
        """The entry whose state a node is."""
        code = self._states().get(node)
        return None if code is None else self._place(code)

    def entry_around(self, node: int) -> Place | None:
        """The entry whose state a node is, or is in."""
        code = self._above(node, self._states())
        return None if code is None else self._place(code)

    def entry_of_parameter(self, node: int) -> Place | None:
        """The entry that is for a parameter."""
        if self._of_parameter is None:
            self._of_parameter = {}
            for nth, optimizer in reversed(list(enumerate(self.recognition.optimizers))):
                first = nth << _BITS
                found = optimizer.entries.parameter
                self._of_parameter.update(zip(found, range(first, first + len(found)), strict=True))
            self._of_parameter.pop(-1, None)
        code = self._of_parameter.get(node)
        return None if code is None else self._place(code)

    def state_for(self, node: int) -> int | None:
        """The state of the entry that is for a parameter; None where there is none."""
        place = self.entry_of_parameter(node)
        if place is None:
            return None
        entries = place.optimizer.entries
        state = entries.state[place.entry]
        if state >= 0:
            return state
        return next(iter(entries.parts.get(place.entry, {}).values()), None)

    def parameter_for(self, node: int) -> int | None:
        """The parameter of the entry whose state a node is in; None where it is not certain."""
        place = self.entry_around(node)
        if place is None:
            return None
        parameter = place.optimizer.entries.parameter[place.entry]
        return parameter if parameter >= 0 else None

    def _states(self) -> dict[int, int]:
        if self._of_state is None:
            self._of_state = {}
            for nth, optimizer in enumerate(self.recognition.optimizers):
                first = nth << _BITS
                entries = optimizer.entries
                self._of_state.update(zip(entries.state, range(first, first + len(entries)), strict=True))
                for entry, members in entries.parts.items():
                    self._of_state.update(dict.fromkeys(members.values(), first + entry))
            self._of_state.pop(-1, None)
        return self._of_state

    def _place(self, code: int) -> Place:
        return Place(self.recognition.optimizers[code >> _BITS], code & ((1 << _BITS) - 1))

    def _above(self, node: int, found: dict[int, _Found]) -> _Found | None:
        while node >= 0:
            if (thing := found.get(node)) is not None:
                return thing
            node = self._nodes.parent[node]
        return None
