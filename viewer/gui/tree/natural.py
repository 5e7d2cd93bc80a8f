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

_NUMBER: Final = re.compile(r"([0-9]+)")
_SLICE: Final = 4096
"""Names looked at between two yields; about 5 ms."""
_FEW: Final = 1_000

_Member: TypeAlias = tuple[str, int]


def split_numbers(name: str) -> tuple[str, str]:
    """The name with its numbers left out, and the numbers in a form that compares by value; "" where it has none.

    A number is written as its length and its digits, so it compares right without ever being converted: a key may
    hold 10,000 digits.
    """
    parts = _NUMBER.split(name)
    if len(parts) == 1:
        return name, ""
    numbers = [digits.lstrip("0") for digits in parts[1::2]]
    return "0".join(parts[::2]), "".join([chr(len(digits)) + digits for digits in numbers])


# The same few hundred names come again in every layer.
_split_again = lru_cache(maxsize=16_384)(split_numbers)


def natural_order_task(names: Sequence[str]) -> Generator[None, None, list[int] | None]:
    """The order in which to show siblings, as positions in `names`; None where it is as it is.

    Yields now and then; two names that differ only in leading zeros keep their order.
    """
    split = _split_again if len(names) <= _FEW else split_numbers
    families: dict[str, list[_Member]] = {}
    disordered: set[str] = set()
    for position, name in enumerate(names):
        stem, numbers = split(name)
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
