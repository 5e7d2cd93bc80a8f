"""Which parameter each optimizer entry belongs to, where the file does not keep the model's order.

safetensors writes tensors sorted by dtype and name (safetensors/src/tensor.rs: prepare), so of the model's order
there is left what the names tell: layers of a list that differ in their number alone come in its order (`ModuleList`
and `Sequential` number their modules as they are added). Everything else can be told by its shape only.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from viewer.checkpoint.meaning.assignment import ANY, Assignment, Misfit, Shapes, assign

_NUMBER: Final = re.compile(r"(?:(?<=\.)|^)[0-9]+(?=\.|$)")
_CANDIDATES: Final = 100
_LAST: Final = {"weight": 0, "bias": 1}


def assign_unordered(groups: Sequence[Shapes], places: Shapes, names: Sequence[str]) -> Assignment | Misfit:
    """Assignments by shape, and by the numbers in the names where these alone tell the places of a shape apart."""
    having: dict[int, list[int]] = defaultdict(list)
    for place, shape in enumerate(places):
        having[shape].append(place)
    wanted: dict[int, list[list[int]]] = {}  # by shape: entries of each group
    unknown: list[int] = []
    total = 0
    for number, group in enumerate(groups):
        for shape in group:
            if shape == ANY:
                unknown.append(total)
            else:
                wanted.setdefault(shape, [[] for _ in groups])[number].append(total)
            total += 1
    if total > len(places):
        return Misfit(len(places))
    found: list[Sequence[int]] = [()] * total
    for entry in unknown:
        found[entry] = range(len(places))
    for shape, by_group in wanted.items():
        entries = [entry for group in by_group for entry in group]
        own = having.get(shape, [])
        if len(entries) > len(own):
            return Misfit(entries[len(own)])
        if len(own) > 1 and _differ_in_numbers(names, own):
            _by_numbers(by_group, sorted(own, key=lambda place: numbers_of(names[place])), found)
        else:
            for entry in entries:
                found[entry] = own
    return Assignment([tuple(choices[:_CANDIDATES]) for choices in found], [len(choices) for choices in found])


def _differ_in_numbers(names: Sequence[str], places: list[int]) -> bool:
    """Whether the names of these places are one name with other numbers."""
    return len({_NUMBER.sub("#", names[place]) for place in places}) == 1


def numbers_of(name: str) -> tuple[int, ...]:
    return tuple([int(number) for number in _NUMBER.findall(name)])


def _by_numbers(by_group: list[list[int]], places: list[int], found: list[Sequence[int]]) -> None:
    """Entries of one shape over places whose order is known."""
    solved = assign([[0] * len(group) for group in by_group], [0] * len(places))
    assert isinstance(solved, Assignment)  # there are enough places, and all have the shape
    entries = [entry for group in by_group for entry in group]
    for entry, choices in zip(entries, solved.places, strict=True):
        found[entry] = [places[choice] for choice in choices]


def usual_order(names: Sequence[str]) -> list[int]:
    """Places as most models would have them: numbers by value, a weight before its bias. No more than likely."""
    keys = []
    for name in names:
        *stem, last = name.split(".")
        parts = [(int(part), "") if part.isdecimal() and len(part) < 10 else (-1, part) for part in stem]
        keys.append((parts, _LAST.get(last, 2), last))
    return sorted(range(len(names)), key=keys.__getitem__)


def is_order_lost(names: Sequence[str]) -> bool:
    """Whether names look sorted rather than as a model lists them: the bias of a module stands before its weight."""
    if any(name > following for name, following in pairwise(names)):
        return False
    return any(name.endswith("bias") and following == f"{name[:-4]}weight" for name, following in pairwise(names))
