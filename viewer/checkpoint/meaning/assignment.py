"""Which parameter each optimizer entry belongs to, from order and shapes alone.

An optimizer numbers its parameters group by group. Within a group they come in the model's order (`parameters()`
filtered one way or another); frozen parameters and buffers are left out; the groups among each other may come in any
order. So an assignment is valid if it gives each entry a place of its own with the entry's shape, rising within each
group. An entry's name is certain where all valid assignments agree on its place.

Groups that share no shape do not concern each other. A group alone is solved exactly by matching from the left and
from the right. Groups that share shapes are solved exactly by going through the places once and keeping every state
that is still possible; where those become too many (twelve groups of equal layers), bounds are narrowed until nothing
changes. That may leave candidates that no whole assignment has, and never takes away one that it has.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Final, TypeAlias, overload

ANY: Final = -1
"""The shape of an entry whose moments do not tell it."""

Shapes: TypeAlias = Sequence[int]
"""A number for each distinct shape, or ANY."""

_MAX_GROUPS_EXACT: Final = 12
_MAX_STATES_AT_ONCE: Final = 2_000
_MAX_STATES: Final = 20_000  # beyond three for each place gone through
_MAX_ROUNDS: Final = 12
_ENTRIES_IN_ROUNDS: Final = 60_000
_CANDIDATES_IN_ALL: Final = 200_000


@dataclass(slots=True)
class Assignment:
    """The places of each entry, over all groups, entries in the groups' order.

    Attributes
    ----------
    places
        Possible places, rising; at most some dozens of them for each entry.
    counts
        How many there are.
    exact
        False where some of the candidates may belong to no whole assignment.
    """

    places: list[tuple[int, ...]] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    exact: bool = True

    @property
    def is_certain(self) -> bool:
        return all(count == 1 for count in self.counts)


@dataclass(frozen=True, slots=True)
class Misfit:
    """Why nothing fits.

    Attributes
    ----------
    entry
        The first entry, over all groups, for which no place is left.
    """

    entry: int


def assign(groups: Sequence[Shapes], places: Shapes) -> Assignment | Misfit:
    """All assignments of the entries of `groups` to `places`."""
    firsts: list[int] = []
    total = 0
    for group in groups:
        firsts.append(total)
        total += len(group)
    surplus = _surplus(groups, places)
    if surplus is not None:
        return Misfit(surplus)
    possible: _Choices = [()] * total
    exact = True
    for members in _components(groups):
        try:
            lists, solved_exactly = _solve([groups[number] for number in members], places)
        except _NoPlace as misfit:
            return Misfit(firsts[members[misfit.group]] + misfit.entry)
        exact = exact and solved_exactly
        for number, choices in zip(members, lists, strict=True):
            possible[firsts[number] : firsts[number] + len(choices)] = choices
    open_entries = sum(1 for choices in possible if len(choices) > 1)
    cap = max(8, min(100, _CANDIDATES_IN_ALL // max(open_entries, 1)))
    return Assignment([tuple(choices[:cap]) for choices in possible], [len(choices) for choices in possible], exact)


def _surplus(groups: Sequence[Shapes], places: Shapes) -> int | None:
    """The first entry of a shape that the places do not have often enough, whatever the order."""
    left = Counter(places)
    for entry, shape in enumerate(shape for group in groups for shape in group):
        if entry >= len(places):
            return entry
        if shape != ANY:
            left[shape] -= 1
            if left[shape] < 0:
                return entry
    return None


def _components(groups: Sequence[Shapes]) -> list[list[int]]:
    """Numbers of groups that share a shape, directly or through others."""
    if any(ANY in group for group in groups):
        return [list(range(len(groups)))]
    leader = list(range(len(groups)))

    def find(number: int) -> int:
        while leader[number] != number:
            leader[number] = leader[leader[number]]
            number = leader[number]
        return number

    first_with: dict[int, int] = {}
    for number, group in enumerate(groups):
        for shape in set(group):
            leader[find(number)] = find(first_with.setdefault(shape, number))
    together: dict[int, list[int]] = defaultdict(list)
    for number in range(len(groups)):
        together[find(number)].append(number)
    return list(together.values())


_Choices: TypeAlias = list[Sequence[int]]


class _NoPlace(Exception):
    """An entry for which no place is left."""

    def __init__(self, group: int, entry: int) -> None:
        super().__init__(group, entry)
        self.group = group
        self.entry = entry


def _solve(groups: list[Shapes], places: Shapes) -> tuple[list[_Choices], bool]:
    """Possible places by group and entry, and whether they are exact. Raises _NoPlace."""
    if 1 < len(groups) <= _MAX_GROUPS_EXACT:
        found = _by_states(groups, places)
        if found is not None:
            for number, choices in enumerate(found):
                if [] in choices:
                    raise _NoPlace(number, choices.index([]))
            return found, True
    having: dict[int, list[int]] = defaultdict(list)
    for place, shape in enumerate(places):
        having[shape].append(place)
    having[ANY] = list(range(len(places)))
    if len(groups) == 1:
        return [_between_bounds(groups[0], having, 0)], True
    return _narrowed(groups, having), False


class _Slice(Sequence[int]):
    """A part of a list, without a copy: a hundred thousand entries may each have as many candidates."""

    __slots__ = ("of", "start", "stop")

    def __init__(self, of: list[int], start: int, stop: int) -> None:
        self.of = of
        self.start = start
        self.stop = stop

    def __len__(self) -> int:
        return self.stop - self.start

    @overload
    def __getitem__(self, index: int) -> int: ...

    @overload
    def __getitem__(self, index: slice) -> list[int]: ...

    def __getitem__(self, index: int | slice) -> int | list[int]:
        if isinstance(index, slice):
            first, last, step = index.indices(len(self))
            return self.of[self.start + first : self.start + last : step]
        if not 0 <= index < len(self):
            raise IndexError(index)
        return self.of[self.start + index]


def _between_bounds(group: Shapes, having: dict[int, list[int]], number: int) -> _Choices:
    """Possible places of each entry of one group, were it alone: from the leftmost match to the rightmost."""
    lowest: list[int] = []
    at = -1
    for entry, shape in enumerate(group):
        places = having.get(shape, [])
        nth = bisect_right(places, at)
        if nth == len(places):
            raise _NoPlace(number, entry)
        at = places[nth]
        lowest.append(nth)
    choices: _Choices = [()] * len(group)
    above: int | None = None
    for entry in range(len(group) - 1, -1, -1):
        places = having[group[entry]]
        nth = len(places) - 1 if above is None else bisect_left(places, above) - 1
        above = places[nth]
        choices[entry] = (above,) if nth == lowest[entry] else _Slice(places, lowest[entry], nth + 1)
    return choices


def _narrowed(groups: list[Shapes], having: dict[int, list[int]]) -> list[_Choices]:
    """Bounds of groups that share shapes, narrowed round by round: a place that is certain is no other entry's."""
    groups = [list(group) for group in groups]
    rounds = max(1, min(_MAX_ROUNDS, _ENTRIES_IN_ROUNDS // sum(map(len, groups))))
    for nth in range(rounds):
        found = [_between_bounds(group, having, number) for number, group in enumerate(groups)]
        if nth == rounds - 1:
            break
        certain = _forced(groups, found, having)
        for number, choices in enumerate(found):
            for entry, choice in enumerate(choices):
                if len(choice) == 1 and groups[number][entry] >= ANY:
                    certain[number, entry] = choice[0]
        if not certain:
            break
        taken = set(certain.values())
        for shape, places in having.items():
            if shape >= ANY:
                having[shape] = [place for place in places if place not in taken]
        for (number, entry), place in certain.items():
            own = ANY - 1 - place  # the shape of this one place from now on
            groups[number][entry] = own  # type: ignore[index]
            having[own] = [place]
    return found


def _forced(groups: list[Shapes], found: list[_Choices], having: dict[int, list[int]]) -> dict[tuple[int, int], int]:
    """Entries that must take a place since no other can, where a shape has as many entries as places."""
    if any(ANY in group for group in groups):
        return {}
    by_shape: dict[int, list[tuple[int, int, _Slice]]] = defaultdict(list)
    singles: Counter[int] = Counter()
    for number, (group, choices) in enumerate(zip(groups, found, strict=True)):
        for entry, (shape, choice) in enumerate(zip(group, choices, strict=True)):
            if isinstance(choice, _Slice):
                by_shape[shape].append((number, entry, choice))
            else:
                singles[shape] += 1
    forced: dict[tuple[int, int], int] = {}
    for shape, entries in by_shape.items():
        places = having[shape]
        if singles[shape] or len(entries) != len(places):
            continue
        # How many entries can have a place, and the sum of their numbers: with one, that is the entry.
        count, which = [0] * (len(places) + 1), [0] * (len(places) + 1)
        for nth, (_, _, choice) in enumerate(entries):
            count[choice.start] += 1
            count[choice.stop] -= 1
            which[choice.start] += nth
            which[choice.stop] -= nth
        for place, how_many, nth in zip(places, accumulate(count), accumulate(which), strict=False):
            if how_many == 1:
                forced[entries[nth][:2]] = place
    return forced


_State: TypeAlias = tuple[int, ...]


def _by_states(groups: list[Shapes], places: Shapes) -> list[_Choices] | None:
    """Exact places by going through the places and keeping every possible state: how far each group is.

    None where the states become too many.
    """
    wild = any(ANY in group for group in groups)
    of_interest = set().union(*groups)
    used = [place for place, shape in enumerate(places) if wild or shape in of_interest]
    behind = Counter(places[place] for place in used)  # places not yet passed, by shape
    where = [_where(group) for group in groups]
    total = sum(len(group) for group in groups)
    frontiers: list[set[_State]] = [{(0,) * len(groups)}]
    n_states = 0
    for passed, place in enumerate(used):
        shape = places[place]
        behind[shape] -= 1
        following: set[_State] = set()
        for state in frontiers[-1]:
            for number, (group, at) in enumerate(zip(groups, state, strict=True)):
                if at < len(group) and group[at] in (shape, ANY):
                    following.add((*state[:number], at + 1, *state[number + 1 :]))
            # Passed over, if enough places are left for what is still to come.
            if len(used) - passed - 1 >= total - sum(state) and behind[shape] >= _still_to_come(shape, where, state):
                following.add(state)
        n_states += len(following)
        if len(following) > _MAX_STATES_AT_ONCE or n_states > _MAX_STATES + 3 * passed:
            return None
        frontiers.append(following)
    end = tuple(len(group) for group in groups)
    lists: list[list[set[int]]] = [[set() for _ in group] for group in groups]
    alive: set[_State] = {end} & frontiers[-1]
    for passed in range(len(used) - 1, -1, -1):
        shape = places[used[passed]]
        before: set[_State] = set()
        for state in frontiers[passed]:
            if state in alive:
                before.add(state)
            for number, (group, at) in enumerate(zip(groups, state, strict=True)):
                if at == len(group) or group[at] not in (shape, ANY):
                    continue
                if (*state[:number], at + 1, *state[number + 1 :]) in alive:
                    lists[number][at].add(used[passed])
                    before.add(state)
        alive = before
    return [[sorted(choices) for choices in group] for group in lists]


def _where(group: Shapes) -> dict[int, list[int]]:
    found: dict[int, list[int]] = defaultdict(list)
    for entry, shape in enumerate(group):
        found[shape].append(entry)
    return found


def _still_to_come(shape: int, where: list[dict[int, list[int]]], state: _State) -> int:
    """Entries of a shape from a state on."""
    count = 0
    for entries_with, at in zip(where, state, strict=True):
        entries = entries_with.get(shape)
        if entries is not None:
            count += len(entries) - bisect_left(entries, at)
    return count
