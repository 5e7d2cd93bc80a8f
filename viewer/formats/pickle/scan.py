"""One pass over the opcodes of a pickle before anything is made of it.

The pass finds the end, checks every size and memo index, lists the globals, estimates the memory that loading takes,
and decides whether the C unpickler may have the pickle. It may not where C code could hash or compare without end:

* A tuple computes its hash anew each time, through everything below it. Tuples in tuples, each fetched from the memo
  twice, make that exponential; long tuples fetched often make it quadratic; deep ones overflow the C stack.
* Thousands of keys with one hash (tuples and large integers can be chosen so) make a dict quadratic, and so do
  long strings that are equal but not the same object.

Such a pickle is not refused: `Scan.suspicion` says what was seen, and the careful unpickler reads it.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from struct import Struct
from typing import Final

from viewer.formats.limits import MIB, Limits
from viewer.formats.pickle.cost import Tally, memory_allowed, memory_needed
from viewer.formats.pickle.faults import TruncatedPickle as TruncatedPickle
from viewer.formats.pickle.faults import damaged, excess, truncated
from viewer.formats.pickle.flat import AFTER_MARK, FLAT_STRING, is_small_tuple, more_flat
from viewer.formats.pickle.opcodes import (
    ATOM,
    COUNT_WIDTH,
    COUNTED,
    FILLS,
    GET,
    KINDS,
    LENGTHS,
    MAKES,
    MARK,
    PUT,
    TUPLE,
)
from viewer.formats.pickle.payload import PAYLOAD, Payload
from viewer.formats.pickle.run_log import RunLog
from viewer.formats.pickle.runs import ATOMS, LOW_INDEXES, ONE_ATOM, run_pattern

_U32: Final = Struct("<I").unpack_from
_U64: Final = Struct("<Q").unpack_from
_LINE: Final = re.compile(rb"[^\n]*+\n")

# What lies on top of the stack; a positive number is a string of that many bytes.
_LIGHT: Final = 0
_HEAVY: Final = -1
_ODD: Final = -2
_SMALL_TUPLE: Final = -3

_LONG_STRING: Final = FLAT_STRING
_LOOK_EACH: Final = 500_000  # steps after which a pickle that is suspicious already is left to the careful reader
_RUN_FROM: Final = 100_000  # bytes left, from which compiling an expression for a pickle pays
_STAGE_NBYTES: Final = 4 * MIB


@dataclass(slots=True)
class Scan:
    """What a pickle is made of.

    Attributes
    ----------
    end
        Offset of the byte after STOP; of a suspicious pickle, perhaps of the end of the data.
    globals
        (module, name) that GLOBAL, INST and STACK_GLOBAL name, with counts. A STACK_GLOBAL whose strings come from
        afar is missed here; loading counts them all.
    suspicion
        Why the careful unpickler has to read it; "" where the C unpickler may.
    """

    end: int
    globals: Counter[tuple[str, str]] = field(default_factory=Counter)
    suspicion: str = ""


def scan_pickle(data: bytes | memoryview, offset: int, limits: Limits, source_name: str) -> Scan:
    """Walk the opcodes of the pickle that begins at `offset`.

    Raises
    ------
    TruncatedPickle
        When the data ends before STOP.
    MalformedFile
        When something in it is not a pickle.
    LimitExceeded
        When loading it would cost more than `limits`.
    """
    scanner = _Scanner(data, offset, limits, source_name)
    found = scanner.scan()
    if found.suspicion and scanner.may_collide(found.end):
        # Runs that tell the values of a dict from its keys are slower, and hardly any pickle needs them.
        found = _Scanner(data, offset, limits, source_name, filled=True).scan()
    return found


class _Scanner:
    def __init__(
        self, data: bytes | memoryview, offset: int, limits: Limits, source_name: str, *, filled: bool = False
    ) -> None:
        self.data = data
        self.start = offset
        self.limits = limits
        self.name = source_name
        self.filled = filled
        self.globals: Counter[tuple[str, str]] = Counter()
        self.suspicion = ""
        self.payload = Payload(limits, source_name, data)
        self.strings = ("", "")  # the last two
        self.memo = 0  # one more than the highest index written
        self.memoize = False  # protocol 4 and 5: the memo counts for itself
        self.heavy: set[int] = set()  # indexes of heavy tuples written outside runs
        self.small: set[int] = set()  # indexes below 256 of small tuples
        self.small_fetches = 0  # of those, outside runs
        self.long: dict[int, int] = {}  # indexes of long strings, with their bytes
        self.fetched: Counter[int] = Counter()  # fetches of indexes from 256 on, all outside runs
        self.run: re.Pattern[bytes] | None = None
        self.runs = RunLog(data)
        self.tally = Tally()

    def scan(self) -> Scan:
        try:
            end = self._walk()
        except IndexError as error:
            raise truncated(self.name) from error
        if end is None:
            return Scan(len(self.data), self.globals, self.suspicion or self._costs(len(self.data)))
        self._check_memory(end, end)
        self.tally.heavy_fetches += self.runs.tuples_among(self.fetched, memoize=self.memoize)
        return Scan(end, self.globals, self.suspicion or self._costs(end))

    def _costs(self, end: int) -> str:
        """Why the part up to `end` may take long in C code; "" where it may not."""
        self.tally.small_fetches = self.fetched.total() + self.small_fetches
        return self.tally.suspicion(end - self.start - self.payload.nbytes)

    def may_collide(self, end: int) -> bool:
        return self.tally.may_collide(end - self.start - self.payload.nbytes)

    def _check_memory(self, read: int, end: int) -> None:
        """Refuse what takes too much memory by the part up to `read`, of what may have its end at `end`."""
        structure = read - self.start - self.payload.nbytes
        allowed = memory_allowed(end - self.start - self.payload.nbytes, self.limits) - self.payload.text_memory
        needed = memory_needed(self.payload.between(self.data, self.start, read), structure, allowed)
        if needed > allowed:
            raise excess(self.name, f"some {needed >> 20:,} MiB of small objects")

    def _walk(self) -> int | None:
        """The offset after STOP; None where it is known before that the pickle is suspicious, and long.

        IndexError means that the data ends before STOP.
        """
        data, kinds, lengths = self.data, KINDS, LENGTHS
        position, size = self.start, len(self.data)
        last = _LIGHT
        flat = 0  # how many numbers and short strings were just pushed, see `viewer.formats.pickle.flat`
        since = self.start  # where the first of them begins, or before
        next_stage = self.start
        check_costs = range(_LOOK_EACH, self.limits.pickle_steps, _LOOK_EACH)
        next_check = self.start + 4 * _STAGE_NBYTES
        run = None
        for step in range(self.limits.pickle_steps):
            if step in check_costs and (self.suspicion or self._costs(position)):
                return None
            if run is not None:
                matched = run.match(data, position)
                if matched is not None:
                    end = since = matched.end()
                    made = self.runs.made(position, end, in_arguments=self.filled) if self.memoize else 0
                    self.runs.add(self.memo, position, end, made)
                    self.memo += made
                    position, last, flat = end, _LIGHT, 0
            if position >= next_stage and self.memo >= LOW_INDEXES and size - position >= _RUN_FROM:
                next_stage, run = position + _STAGE_NBYTES, self._compile(position)
            if position >= next_check:
                self._check_memory(position, size)
                next_check += 3 * (position - self.start)

            opcode = data[position]
            kind = kinds[opcode]
            if kind == ATOM:
                matched = ATOMS.match(data, position)
                if matched is None:
                    raise IndexError
                flat = more_flat(flat, len(ONE_ATOM.findall(data, position, matched.end())))
                position, last = matched.end(), _LIGHT
            elif kind == COUNTED:
                position, last, countable = self._counted(opcode, position)
                flat = more_flat(flat, 1) if countable else 0
            elif kind == PUT:
                position = self._put(opcode, position, last)
                if run is not self.run:
                    run = self.run
            elif kind == GET:
                position, last, flat_too = self._get(opcode, position)
                if flat_too:
                    since, flat = since - FLAT_STRING, more_flat(flat, 1)
                else:
                    since, flat = position, 0
            elif kind == MARK:
                position = since = position + 1
                flat = AFTER_MARK
            elif kind == MAKES:
                position = since = position + 1 + lengths[opcode]
                last = flat = 0
            elif kind == FILLS:
                position = since = position + 1
                last, flat = _ODD, 0
            elif kind == TUPLE:
                position += 1
                last = _HEAVY
                if not self._is_consumed(position):
                    if is_small_tuple(opcode, flat):
                        self.tally.add_small(position - since)
                        last = _SMALL_TUPLE
                    else:
                        self.tally.tuples += 1
                        self.tally.nested += 1
                since, flat = position, 0
            elif opcode == 0x2E:  # STOP
                return position + 1
            else:
                position = self._rare(opcode, position)
                if opcode not in b"\x80\x95":
                    last = flat = 0
            if position > size:
                raise IndexError
        raise excess(self.name, f"more than {self.limits.pickle_steps:,} steps to scan")

    def _counted(self, opcode: int, at: int) -> tuple[int, int, bool]:
        """A string or long integer: the position after it, what it is on the stack, and whether it is short."""
        width = COUNT_WIDTH[opcode]
        start = at + 1 + width
        nbytes = (
            self.data[at + 1] if width == 1 else (_U32 if width == 4 else _U64)(self._checked(at, start), at + 1)[0]
        )
        end: int = start + nbytes
        if opcode in b"\x8a\x8b":  # LONG1, LONG4
            if nbytes > self.limits.pickle_int_nbytes:
                raise excess(self.name, f"an integer of {nbytes:,} bytes")
            self.tally.large_ints += nbytes > 8
            return end, _LIGHT, nbytes <= 8
        if nbytes >= PAYLOAD:
            self.payload.add(opcode, start, nbytes)
            if nbytes >= _LONG_STRING:
                return end, nbytes, False
        if self.memoize and opcode == 0x8C:
            # What STACK_GLOBAL names are the last two strings, unless they come from the memo.
            self.strings = (self.strings[1], str(bytes(self.data[start:end]), "utf-8", "replace"))
        return end, _LIGHT, nbytes < FLAT_STRING

    def _checked(self, at: int, end: int) -> bytes | memoryview:
        if end > len(self.data):
            raise IndexError(at)
        return self.data

    def _put(self, opcode: int, at: int, last: int) -> int:
        """BINPUT, LONG_BINPUT, PUT and MEMOIZE; returns the position after it."""
        data = self.data
        if opcode == 0x94:
            index, end = self.memo, at + 1
            if not self.memoize:
                self._suspect("MEMOIZE in an old protocol")
        elif opcode == 0x71:
            index, end = data[at + 1], at + 2
        elif opcode == 0x72:
            index, end = _U32(self._checked(at, at + 5), at + 1)[0], at + 5
        else:
            index, end = self._line_index(at)
        if index >= self.memo:
            if index > at - self.start:
                raise excess(self.name, f"a memo of {index:,} entries after {at - self.start:,} bytes")
            self.memo = index + 1
        if self.memoize and opcode != 0x94:
            self._suspect("memo indexes in a protocol that counts them")
        if last != _LIGHT:
            if last > 0:
                self.long[index] = last
            elif last == _SMALL_TUPLE:
                if index < LOW_INDEXES:
                    self.small.add(index)
            elif last == _HEAVY:
                self.heavy.add(index)
            elif last == _ODD:
                self._suspect("an object that enters the memo late")
            if index < LOW_INDEXES and self.run is not None:
                self.run = self._compile(end)
        return end

    def _get(self, opcode: int, at: int) -> tuple[int, int, bool]:
        """BINGET, LONG_BINGET and GET; returns the position after it, what it leaves on top, and whether that is
        known to be no tuple and no long string."""
        if opcode == 0x68:
            index, end = self.data[at + 1], at + 2
        elif opcode == 0x6A:
            index, end = _U32(self._checked(at, at + 5), at + 1)[0], at + 5
        else:
            index, end = self._line_index(at)
        last = _LIGHT
        if index in self.heavy:
            self.tally.heavy_fetches += 1
            last = _HEAVY
        elif index >= LOW_INDEXES:
            self.fetched[index] += 1
            last = _ODD
        elif index in self.small:
            self.small_fetches += 1
        if index in self.long:
            self.tally.long_fetched += self.long[index]
            last = _ODD
        return end, last, last == _LIGHT and index not in self.small

    def _line_index(self, at: int) -> tuple[int, int]:
        line, end = self._line(at + 1)
        if len(line) > 12 or not line.strip().isdigit():
            raise damaged(self.name, "a memo index that is not a number", at)
        return int(line), end

    def _line(self, start: int) -> tuple[bytes, int]:
        """The text from `start` to the end of its line, and the position after it."""
        matched = _LINE.match(self.data, start)
        if matched is None:
            raise IndexError
        return bytes(self.data[start : matched.end() - 1]), matched.end()

    def _rare(self, opcode: int, at: int) -> int:
        """The opcodes that come a few times only; returns the position after this one."""
        data = self.data
        if opcode in b"ci":  # GLOBAL, INST
            module, end = self._line(at + 1)
            name, end = self._line(end)
            if end - at > self.limits.pickle_name_nchars:
                raise excess(self.name, f"a class whose name has {end - at:,} characters")
            self._name(str(module, "utf-8", "replace"), str(name, "utf-8", "replace"))
            return end
        if opcode == 0x93:  # STACK_GLOBAL
            self._name(*self.strings)
            return at + 1
        if opcode == 0x95:  # FRAME
            end = at + 9
            if end + _U64(self._checked(at, end), at + 1)[0] > len(data):
                raise IndexError
            return end
        if opcode == 0x80:  # PROTO
            if data[at + 1] > 5:
                raise damaged(self.name, f"unknown protocol {data[at + 1]}", at)
            if at == self.start:
                self.memoize = data[at + 1] >= 4
            else:
                self._suspect("a change of protocol")
            return at + 2
        if opcode in b"ILFSVP":
            end = self._line(at + 1)[1]
            if opcode in b"ILF":
                if end - at > 2 * self.limits.pickle_int_nbytes:
                    raise excess(self.name, f"a number of {end - at:,} characters")
                self.tally.large_ints += end - at > 20
            elif end - at >= _LONG_STRING:
                # PUT of a long line is not followed up: protocol 0 is known from small files.
                self.payload.add(opcode, at, end - at)
                if opcode != 0x50:
                    self.tally.long_fetched += end - at
            return end
        if opcode in b"\x82\x83\x84":
            raise excess(self.name, "an object by its number in a registry of the program that reads it (EXT)")
        if opcode == 0x92:  # NEWOBJ_EX
            self.tally.keyword_calls += 1
            return at + 1
        if opcode in b"012\x97\x98":  # POP, POP_MARK, DUP, NEXT_BUFFER, READONLY_BUFFER
            self._suspect("objects doubled or dropped on the stack, or buffers from elsewhere")
            return at + 1
        raise damaged(self.name, f"{bytes([opcode])!r}, which is not an opcode,", at)

    def _name(self, module: str, name: str) -> None:
        self.globals[module, name] += 1
        if len(self.globals) > self.limits.pickle_globals:
            raise excess(self.name, f"more than {self.limits.pickle_globals:,} classes")

    def _is_consumed(self, position: int) -> bool:
        """Whether the tuple made just before `position` is at once taken as the arguments of a call, as a
        state, or as a persistent id: then it cannot become part of a key."""
        following = self.data[position]
        if following in (0x71, 0x72, 0x94):
            following = self.data[position + 1 + LENGTHS[following]]
        return following in b"RQ\x81b"

    def _compile(self, position: int) -> re.Pattern[bytes]:
        steps = self.heavy | self.long.keys() | self.small
        light = bytes(i for i in range(LOW_INDEXES) if i not in steps)
        highest = position - self.start + _STAGE_NBYTES >> 16
        self.run = run_pattern(light, min(highest, 255), self.memoize, filled=self.filled)
        return self.run

    def _suspect(self, why: str) -> None:
        self.suspicion = self.suspicion or why
