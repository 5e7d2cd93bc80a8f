"""The order in which sets and sorted keys are written (docs/canonical-format.md, section 2)."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable

from viewer.export.pickle_writer import write_pickle
from viewer.export.values import Value


def sort_key(value: Value) -> tuple[int, object, object]:
    """A key that puts values of all kinds in one order."""
    if value is None:
        return 0, 0, 0
    kind = type(value)
    if kind is bool:
        return 1, value, 0
    if kind is int:
        return 2, value, 0
    if kind is float:
        bits = struct.unpack(">Q", struct.pack(">d", value))[0]
        return 3, (1, 0.0) if math.isnan(value) else (0, value), bits
    if kind is str:
        return 4, value.encode("utf-8", "surrogatepass"), 0
    if kind is bytes:
        return 5, value, 0
    return 6, write_pickle(value)[0], 0


def in_order(values: Iterable[Value]) -> list[Value]:
    """The values sorted; equal ones stay as they are."""
    return sorted(values, key=sort_key)


def pairs_in_order(pairs: Iterable[tuple[Value, Value]]) -> list[tuple[Value, Value]]:
    """Entries of a dict sorted by key."""
    return sorted(pairs, key=_key_of_pair)


def _key_of_pair(pair: tuple[Value, Value]) -> tuple[int, object, object]:
    return sort_key(pair[0])
