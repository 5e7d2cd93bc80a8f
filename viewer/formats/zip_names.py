"""Which record torch takes where several have one name.

torch reads archives with miniz (third_party/miniz-3.0.2): the names are sorted by heap sort and found by bisection,
both without regard to the case of ASCII letters. Equal names end up in an order that depends on all the others, so
that one of them is taken as if by chance; the same steps give the same one. (Python's zipfile takes the last.)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final

_MAX_SORTED: Final = 200_000
"""Sorting 200,000 names takes about three seconds here."""
_PIECE: Final = 4096


def repeated_names(names: Sequence[str]) -> set[str]:
    """Lower-case names that several records have."""
    pieces = ("\0".join(names[at : at + _PIECE]) for at in range(0, len(names), _PIECE))
    if len(set(names)) == len(names) and all(piece == piece.lower() for piece in pieces):
        return set()
    counts = Counter(map(str.lower, names))
    return {name for name, count in counts.items() if count > 1}


def finder_like_torch(raw_names: Sequence[bytes]) -> Callable[[bytes], int] | None:
    """A function that gives the number of the record that torch reads for a name; None where there are too many."""
    if len(raw_names) > _MAX_SORTED:
        return None
    lowered = [name.lower() for name in raw_names]
    order = _heap_sorted(lowered)

    def find(raw_name: bytes) -> int:
        wanted = raw_name.lower()
        low, high = 0, len(order) - 1
        while low <= high:
            middle = (low + high) >> 1
            there = lowered[order[middle]]
            if there == wanted:
                return order[middle]
            if there < wanted:
                low = middle + 1
            else:
                high = middle - 1
        raise KeyError(raw_name)

    return find


def _heap_sorted(keys: Sequence[bytes]) -> list[int]:
    """Numbers of the keys in ascending order; equal keys as miniz leaves them (mz_zip_reader_sort_central_dir_…)."""
    order = list(range(len(keys)))
    heap = [keys[number] for number in order]

    def sift(root: int, end: int) -> None:
        while (child := 2 * root + 1) < end:
            if child + 1 < end and heap[child] < heap[child + 1]:
                child += 1
            if not heap[root] < heap[child]:
                break
            heap[root], heap[child] = heap[child], heap[root]
            order[root], order[child] = order[child], order[root]
            root = child

    for root in range((len(keys) - 2) // 2, -1, -1):
        sift(root, len(keys))
    for end in range(len(keys) - 1, 0, -1):
        heap[end], heap[0] = heap[0], heap[end]
        order[end], order[0] = order[0], order[end]
        sift(0, end)
    return order
