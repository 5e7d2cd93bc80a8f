"""The assignment that most scripts would make, where more than one fits: shown as likely, never as a name."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import chain

from viewer.checkpoint.meaning.assignment import ANY, Assignment, assign
from viewer.checkpoint.meaning.assignment_unordered import usual_order


def likely_places(
    codes: tuple[list[list[int]], list[int]], names: Sequence[str], *, ordered: bool
) -> list[int | None]:
    """A place for each entry over all groups, where one stands out; else None.

    Parameters
    ----------
    codes
        Shapes of the entries by group, and of the places.
    names
        Of the places.
    ordered
        Whether the places are in the model's order.

    With the order known: all groups follow one another in it, or the entries are exactly one submodule. With the
    order lost: the parameters of one shape, if all of them are in one group, have the order that most models have.
    """
    groups, places = codes
    if not ordered:
        return _in_usual_order(groups, places, names)
    row = list(chain.from_iterable(groups))
    found = assign([row], places)
    if isinstance(found, Assignment) and found.is_certain:
        return [first for (first,) in found.places]
    return _one_submodule(row, places, names) or [None] * len(row)


def _in_usual_order(groups: list[list[int]], places: list[int], names: Sequence[str]) -> list[int | None]:
    having: dict[int, list[int]] = defaultdict(list)
    for place in usual_order(names):
        having[places[place]].append(place)
    total = Counter(chain.from_iterable(groups))
    found: list[int | None] = []
    for group in groups:
        own = Counter(group)
        left = {shape: iter(having[shape]) for shape in own if own[shape] == total[shape] == len(having[shape])}
        found += [next(left[shape]) if shape in left else None for shape in group]
    return found


def _one_submodule(row: list[int], places: list[int], names: Sequence[str]) -> list[int | None] | None:
    """The places of the only submodule whose parameters are the entries, one by one."""
    blocks: dict[str, list[int]] = {}
    for place, name in enumerate(names):
        at = name.find(".")
        while at >= 0:
            block = blocks.setdefault(name[:at], [place, place])
            block[1] = place
            at = name.find(".", at + 1)
    found = {
        (first, last)
        for first, last in blocks.values()
        if last - first + 1 == len(row)
        and all(code in (ANY, place) for code, place in zip(row, places[first : last + 1], strict=True))
    }
    if len(found) != 1:
        return None
    ((first, last),) = found
    return list(range(first, last + 1))
