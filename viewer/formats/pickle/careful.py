"""The careful unpickler: slower by ten times, and unable to be hurt.

It reads what `scan` calls suspicious, and what the C unpickler gave up on. The rules are those of
`viewer.formats.pickle.unpickler`; on top of them

* a dict key or set member that would be expensive to hash or compare, or that cannot be hashed at all, is replaced by
  a `KeyStandIn`, which is hashed by identity;
* an opcode that contradicts the stack ends the reading, and what was read up to there is put together and shown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from viewer.errors import MalformedFile, ViewerError
from viewer.formats.pickle.cost import memory_allowed
from viewer.formats.pickle.faults import TruncatedPickle
from viewer.formats.pickle.standins import (
    KeyStandIn,
    ObjectStandIn,
    Record,
    SequenceStandIn,
    StandInType,
)

if TYPE_CHECKING:
    from viewer.formats.pickle.session import PickleSession

_HASH_BUDGET: Final = 20_000_000  # elements visited for all keys together: about a second
_WAITING: Final = 100_000  # objects on the stack
_LARGE: Final = 4_096  # bytes of a string, from which comparing it is counted

_FAULTS: Final = (
    IndexError,
    KeyError,
    TypeError,
    ValueError,
    OverflowError,
    AttributeError,
    MemoryError,
    RecursionError,
)

FindClass = Callable[[str, str], object]
PersistentLoad = Callable[[object], object]


class StopReached(Exception):
    """STOP was reached."""


def read_carefully(
    session: PickleSession,
    data: bytes | memoryview,
    offset: int,
    find_class: FindClass,
    persistent_load: PersistentLoad,
    *,
    partial: bool = True,
) -> tuple[object, int, str]:
    """The root of the pickle at `offset`, the offset after it, and why reading stopped early ("" if it did not).

    Raises
    ------
    TruncatedPickle
        When the data ends before it does, and `partial` is False.
    """
    reader = Reader(session, data, offset, find_class, persistent_load)
    try:
        reader.read()
    except StopReached:
        if reader.stack:
            return reader.stack[-1], reader.position, ""
        problem = "it ends without a value"
    except TruncatedPickle as error:
        if not partial:
            raise
        problem = error.fault
    except ViewerError as error:
        problem = error.fault
    except _FAULTS as error:
        if reader.at >= len(data):
            problem = f"the data ends at byte {len(data):,}"
            if not partial:
                raise TruncatedPickle(problem) from error
        else:
            problem = f"damaged at byte {reader.at:,} ({_what(error, reader.data[reader.at])})"
    return reader.unfinished(), reader.position, problem


def _what(error: Exception, opcode: int) -> str:
    if isinstance(error, IndexError):
        return "an opcode takes more than there is"
    if isinstance(error, KeyError) and opcode in b"gjh":  # GET, LONG_BINGET, BINGET
        return f"it fetches object {error} of the memo, which was never put there"
    return str(error) or type(error).__name__


class Reader:
    def __init__(
        self,
        session: PickleSession,
        data: bytes | memoryview,
        offset: int,
        find_class: FindClass,
        persistent_load: PersistentLoad,
    ) -> None:
        self.limits = session.limits
        self.data = data
        self.at = self.position = offset
        self.find_class = find_class
        self.persistent_load = persistent_load
        self.stack: list[Any] = []
        self.below: list[list[Any]] = []  # the stacks under each open mark
        self.memo: dict[int, object] = {}
        # By id of a tuple or frozenset with such members: elements below it, levels.
        self.weights: dict[int, tuple[int, int]] = {}
        self.kept: list[object] = []  # keeps those ids theirs
        # By id of a container: the container, which keeps the id its own, and how many expensive keys have a hash.
        self.hashes: dict[int, tuple[object, Counter[int]]] = {}
        self.hash_budget = _HASH_BUDGET
        self.dear_keys = 0  # replaced, since they would cost too much
        self.memory = 0
        self.allowed_nbytes = memory_allowed(len(data) - offset, self.limits)

    def read(self) -> None:
        from viewer.formats.pickle.actions import ACTIONS  # the actions know the reader's type

        data, actions = self.data, ACTIONS
        limits = self.limits
        most = max(limits.careful_opcodes, round((len(data) - self.at) * limits.careful_opcodes_per_byte))
        for begun in range(0, most, limits.careful_opcodes):
            if begun and (self.dear_keys or len(self.stack) > _WAITING):
                most = begun  # no pickler writes such keys, or so much at once: they take batches of 1,000
                break
            for _ in range(min(limits.careful_opcodes, most - begun)):
                at = self.at = self.position
                self.position = at + 1
                actions[data[at]](self)
        raise MalformedFile(f"a suspicious pickle of more than {most:,} opcodes is not read on")

    def unfinished(self) -> object:
        """What was read before a fault, with everything that is still open put where it belongs."""
        while self.below:
            items = self.stack
            self.stack = self.below.pop()
            top = self.stack[-1] if self.stack else None
            if isinstance(top, dict):
                self.set_items(top, items)
            elif isinstance(top, (list, set, ObjectStandIn)):
                self.extend(top, items)
            elif items:
                self.stack.append(SequenceStandIn("unfinished", items))
        if len(self.stack) == 1:
            return self.stack[0]
        if len(self.stack) > 1 and isinstance(self.stack[0], (dict, list)):
            rest = SequenceStandIn("unfinished", self.stack[1:])
            return SequenceStandIn("unfinished", [self.stack[0], rest])
        return SequenceStandIn("unfinished", self.stack)

    # Reading arguments

    def take(self, nbytes: int) -> bytes:
        end = self.position + nbytes
        if end > len(self.data):
            raise TruncatedPickle(f"the data ends at byte {len(self.data):,}, in the middle of a value")
        taken = bytes(self.data[self.position : end])
        self.position = end
        return taken

    def line(self) -> bytes:
        start = self.position
        end = start
        while True:
            chunk = bytes(self.data[end : end + 4_096])
            found = chunk.find(b"\n")
            if found >= 0:
                self.position = end + found + 1
                return bytes(self.data[start : end + found])
            if not chunk:
                raise TruncatedPickle("the data ends in the middle of a line")
            end += len(chunk)

    # Keys

    def _weigh(self, item: object) -> tuple[int, int]:
        kind = type(item)
        if kind is tuple or kind is frozenset:
            return self.weights.get(id(item)) or (1 + len(item), 1)  # type: ignore[arg-type]
        if kind is str or kind is bytes:
            return 1 + (len(item) >> 6), 0  # type: ignore[arg-type]
        if kind is int:
            return 1 + (item.bit_length() >> 9), 0  # type: ignore[attr-defined]
        return 1, 0

    def made(self, made: tuple[object, ...] | frozenset[object]) -> tuple[object, ...] | frozenset[object]:
        """Note what hashing a new tuple or frozenset costs."""
        self.memory += 60 + 8 * len(made)
        for item in made:
            kind = type(item)
            if kind is tuple or kind is frozenset or ((kind is str or kind is bytes) and len(item) > _LARGE):  # type: ignore[arg-type]
                break
        else:
            return made  # as `_weigh` takes it without a note
        self.memory += 300
        self._check_memory()
        weight, depth = 1, 0
        for item in made:
            item_weight, item_depth = self._weigh(item)
            weight += item_weight
            depth = max(depth, item_depth)
        self.weights[id(made)] = (weight, depth + 1)
        self.kept.append(made)
        return made

    def key(self, container: object, key: object) -> object:
        """`key`, or a stand-in where hashing or comparing it would cost too much."""
        kind = type(key)
        if kind is str or kind is bytes:
            cheap = len(key) < _LARGE  # type: ignore[arg-type]
        elif kind is int:
            cheap = -(1 << 63) <= key < 1 << 63  # type: ignore[operator]
        else:
            cheap = kind is float or key is None or kind is bool
        if cheap:
            return key
        weight, depth = self._weigh(key)
        if weight > self.limits.key_weight or depth > self.limits.key_depth or self.hash_budget < 0:
            self.dear_keys += 1
            return KeyStandIn(key)
        try:
            value = hash(key)
        except TypeError:
            return KeyStandIn(key)
        _, same = self.hashes.setdefault(id(container), (container, Counter()))
        if same[value] >= self.limits.key_collisions:
            self.dear_keys += 1
            return KeyStandIn(key)
        same[value] += 1
        self.hash_budget -= weight * same[value]
        return key

    # Filling

    def set_items(self, container: object, items: list[Any]) -> None:
        if isinstance(container, (dict, Record, StandInType)):
            pairs = iter(items)
            if isinstance(container, dict):
                for key, value in zip(pairs, pairs, strict=False):
                    container[self.key(container, key)] = value
                self.memory += 60 * len(items)
            else:
                for key, value in zip(pairs, pairs, strict=False):
                    container[key] = value
        elif items:
            self._replace_top(ObjectStandIn(type(container).__name__, (container, *items)))

    def extend(self, container: object, items: list[Any]) -> None:
        if isinstance(container, list):
            container.extend(items)
        elif isinstance(container, set):
            container.update(self.key(container, item) for item in items)
            self.memory += 60 * len(items)
        elif isinstance(container, (Record, StandInType)):
            container.extend(items)
        elif items:
            self._replace_top(ObjectStandIn(type(container).__name__, (container, *items)))

    def _replace_top(self, item: object) -> None:
        if self.stack:
            self.stack[-1] = item

    def pop_mark(self) -> list[Any]:
        items = self.stack
        self.stack = self.below.pop()
        self._check_memory()
        return items

    def _check_memory(self) -> None:
        if self.memory > self.allowed_nbytes:
            raise MalformedFile(f"more than {self.memory >> 20:,} MiB of small objects are not read on")

    def new(self, item: object, nbytes: int) -> None:
        self.memory += nbytes
        if self.memory > self.allowed_nbytes:
            raise MalformedFile(f"more than {self.memory >> 20:,} MiB of small objects are not read on")
        self.stack.append(item)

    def call(self, called: object, arguments: object, keywords: object = None) -> None:
        args = arguments if type(arguments) is tuple else (arguments,)
        names: dict[str, object] = {}
        if type(keywords) is dict:
            names = {str(key) if type(key) is str else "?": value for key, value in keywords.items()}
        # Counted for good: the arguments are copied, however short-lived the object is.
        self.memory += 200 + 16 * len(args) + 60 * len(names)
        if self.memory > self.allowed_nbytes:
            raise MalformedFile(f"more than {self.memory >> 20:,} MiB of small objects are not read on")
        if isinstance(called, (StandInType, Record)):
            self.stack.append(called(*args, **names))
        else:
            self.stack.append(ObjectStandIn(called, args, names))
