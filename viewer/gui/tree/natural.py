"""Natural order: numbers inside names ascend (`layer2` before `layer10`), names stay as the file has them.

A state_dict lists its modules in the order in which the model defines them, and that order says more than the
alphabet. So only siblings that differ in nothing but their numbers are put in order, in the places that they hold.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Generator, Sequence
from functools import lru_cache
from typing import Final, TypeAlias

_NUMBER: Final = re.compile(r"[0-9]+")
_SLICE: Final = 4096
"""Names looked at between two yields; about 5 ms."""

# A number as its length and its digits: compares like the number without ever being converted (a key may hold
# 10,000 digits).
_Numbers: TypeAlias = tuple[tuple[int, str], ...]
_Member: TypeAlias = tuple[_Numbers, int]


@lru_cache(maxsize=65_536)  # the same few hundred names come again in every layer
def split_numbers(name: str) -> tuple[str, _Numbers]:
    """The name with its numbers left out, and the numbers in a form that compares by value."""
    numbers = [digits.lstrip("0") for digits in _NUMBER.findall(name)]
    if not numbers:
        return name, ()
    return _NUMBER.sub("0", name), tuple((len(digits), digits) for digits in numbers)


def natural_order_task(names: Sequence[str]) -> Generator[None, None, list[int] | None]:
    """The order in which to show siblings, as positions in `names`; None where it is as it is.

    Yields now and then; two names that differ only in leading zeros keep their order.
    """
    families: dict[str, list[_Member]] = {}
    disordered: set[str] = set()
    for position, name in enumerate(names):
        stem, numbers = split_numbers(name)
        if numbers:
            members = families.get(stem)
            if members is None:
                members = families[stem] = []
            elif members[-1][0] > numbers:
                disordered.add(stem)
            members.append((numbers, position))
        if position % _SLICE == _SLICE - 1:
            yield
    if not disordered:
        return None
    order = list(range(len(names)))
    for stem in disordered:
        members = families[stem]
        in_order = yield from _sorted_in_slices(members)
        for (_, slot), (_, position) in zip(members, in_order, strict=True):
            order[slot] = position
    return order


def natural_order(names: Sequence[str]) -> list[str]:
    """The names in natural order, at once."""
    task = natural_order_task(names)
    while True:
        try:
            next(task)
        except StopIteration as stop:
            order: list[int] | None = stop.value
            return list(names) if order is None else [names[position] for position in order]


def _sorted_in_slices(members: list[_Member]) -> Generator[None, None, list[_Member]]:
    # One sort of a million tuples holds the interpreter for a second; short runs that are merged do not.
    if len(members) <= _SLICE:
        return sorted(members)
    runs = []
    for start in range(0, len(members), _SLICE):
        runs.append(sorted(members[start : start + _SLICE]))
        yield
    merged: list[_Member] = []
    for member in heapq.merge(*runs):
        merged.append(member)
        if len(merged) % _SLICE == 0:
            yield
    return merged
