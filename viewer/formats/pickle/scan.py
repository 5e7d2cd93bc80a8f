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
from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass, field
from struct import Struct
from typing import Final

from viewer.errors import LimitExceeded, MalformedFile
from viewer.formats.limits import MIB, Limits
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
from viewer.formats.pickle.runs import ATOMS, LOW_INDEXES, ONE_ATOM, run_pattern

_U32: Final = Struct("<I").unpack_from
_U64: Final = Struct("<Q").unpack_from
_LINE: Final = re.compile(rb"[^\n]*+\n")
_TUPLE_PUTS: Final = re.compile(rb"[t\x85-\x87\x91]r(?=(....))", re.DOTALL)

# What lies on top of the stack; a positive number is a string of that many bytes.
_LIGHT: Final = 0
_HEAVY: Final = -1
_ODD: Final = -2

_AFTER_MARK: Final = 1_000  # added to the count of flat values while there is nothing else since the last mark
_FLAT: Final = 16
_PAYLOAD: Final = 100  # bytes of a string, from which its memory is that of the file
_LONG_STRING: Final = 4_096
_RUN_FROM: Final = 100_000  # bytes left, from which compiling an expression for this one pickle pays
_STAGE_NBYTES: Final = 4 * MIB

# How much of a suspicious thing is too little to hurt: each bound keeps the worst case of C code at about a second.
_HEAVY_FETCHES: Final = 4  # each can double a hash: 16 times the bytes of the pickle
_NESTED_TUPLES: Final = 2_000  # levels of C recursion
_LARGE_INTS: Final = 4_000  # all with one hash: eight million comparisons
_TUPLES_TIMES_NBYTES: Final = 2_000_000_000  # at half a nanosecond each
_CALLS_TIMES_NBYTES: Final = 400_000_000  # their keywords are copied, which one dict may hold for all
_LONG_STRINGS_FETCHED_NBYTES: Final = 4_000_000_000  # compared at 10 GB/s

# Memory of the objects that take much more than `_NBYTES_PER_BYTE` times their opcodes (CPython, 64 bits).
_NBYTES_PER_BYTE: Final = 10
_NBYTES_OF: Final = {
    b"}": 290, b"d": 290, b"]": 90, b"l": 90, b"\x8f": 220, b"\x91": 220, b"\x85": 50, b"\x86": 50, b"\x87": 50,
    b"R": 130, b"\x81": 130, b"o": 130, b"\x92": 130, b"Q": 60, b"\x8c": 40,
}  # fmt: skip
_MOST_PER_BYTE: Final = 60  # of any pickle: }NNs is 300 bytes


class TruncatedPickle(MalformedFile):
    """The data ends before STOP."""


@dataclass(slots=True)
class Scan:
    """What a pickle is made of.

    Attributes
    ----------
    end
        Offset of the byte after STOP.
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
    return _Scanner(data, offset, limits, source_name).scan()


class _Scanner:
    def __init__(self, data: bytes | memoryview, offset: int, limits: Limits, source_name: str) -> None:
        self.data = data
        self.start = offset
        self.limits = limits
        self.name = source_name
        self.globals: Counter[tuple[str, str]] = Counter()
        self.suspicion = ""
        self.payload = 0  # bytes of long strings
        self.text = 0  # those that are text
        self.strings = ("", "")  # the last two
        self.memo = 0  # one more than the highest index written
        self.memoize = False  # protocol 4 and 5: the memo counts for itself
        self.heavy: set[int] = set()  # indexes of heavy tuples written outside runs
        self.long: dict[int, int] = {}  # indexes of long strings, with their bytes
        self.fetched: Counter[int] = Counter()  # fetches of indexes from 256 on, all outside runs
        self.run: re.Pattern[bytes] | None = None
        self.runs: list[tuple[int, int, int]] = []  # first memo index, start and end of runs that use MEMOIZE
        self.tuples = self.nested = self.heavy_fetches = self.large_ints = self.long_fetched = 0
        self.keyword_calls = 0

    def scan(self) -> Scan:
        try:
            end = self._walk()
        except IndexError as error:
            raise self._truncated() from error
        self._check_memory(end)
        if not self.suspicion:
            self.suspicion = self._judge(end)
        return Scan(end, self.globals, self.suspicion)

    def _walk(self) -> int:
        """The offset after STOP. IndexError means that the data ends before it."""
        data, kinds, lengths = self.data, KINDS, LENGTHS
        position, size = self.start, len(self.data)
        last = _LIGHT
        flat = 0  # how many numbers and short strings were just pushed, see `_AFTER_MARK`
        next_stage = self.start
        run = None
        while True:
            if run is not None:
                matched = run.match(data, position)
                if matched is not None:
                    end = matched.end()
                    if self.memoize:
                        self._count_memoized(position, end)
                    position, last, flat = end, _LIGHT, 0
            if position >= next_stage and self.memo >= LOW_INDEXES and size - position >= _RUN_FROM:
                next_stage = position + _STAGE_NBYTES
                run = self._compile(position)

            opcode = data[position]
            kind = kinds[opcode]
            if kind == ATOM:
                matched = ATOMS.match(data, position)
                if matched is None:
                    raise IndexError
                flat += min(len(ONE_ATOM.findall(data, position, matched.end())), _FLAT + 1)
                position, last = matched.end(), _LIGHT
            elif kind == COUNTED:
                position, last, countable = self._counted(opcode, position)
                flat = flat + 1 if countable else 0
            elif kind == PUT:
                position = self._put(opcode, position, last)
                if run is not self.run:
                    run = self.run
            elif kind == GET:
                position = self._get(opcode, position)
                last, flat = _ODD, 0
            elif kind == MARK:
                position += 1
                flat = _AFTER_MARK
            elif kind == MAKES:
                position += 1 + lengths[opcode]
                last = flat = 0
            elif kind == FILLS:
                position += 1
                last, flat = _ODD, 0
            elif kind == TUPLE:
                position += 1
                if (
                    _AFTER_MARK <= flat <= _AFTER_MARK + _FLAT
                    if opcode == 0x74
                    else flat % _AFTER_MARK > opcode - 0x85
                ):
                    self.tuples += 1
                    last = _LIGHT
                else:
                    last = _HEAVY
                    if not self._is_consumed(position):
                        self.tuples += 1
                        self.nested += 1
                flat = 0
            elif opcode == 0x2E:  # STOP
                return position + 1
            else:
                position = self._rare(opcode, position)
                if opcode not in b"\x80\x95":
                    last = flat = 0
            if position > size:
                raise IndexError

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
                raise self._excess(f"an integer of {nbytes:,} bytes")
            self.large_ints += nbytes > 8
            return end, _LIGHT, nbytes <= 8
        if nbytes >= _PAYLOAD:
            self._count_payload(opcode, nbytes)
            if nbytes >= _LONG_STRING:
                return end, nbytes, False
        if self.memoize and opcode == 0x8C:
            # What STACK_GLOBAL names are the last two strings, unless they come from the memo.
            self.strings = (self.strings[1], str(bytes(self.data[start:end]), "utf-8", "replace"))
        return end, _LIGHT, True

    def _checked(self, at: int, end: int) -> bytes | memoryview:
        if end > len(self.data):
            raise IndexError(at)
        return self.data

    def _count_payload(self, opcode: int, nbytes: int) -> None:
        self.payload += nbytes
        if self.payload > self.limits.pickle_payload_nbytes:
            raise self._excess(f"more than {self.limits.pickle_payload_nbytes:,} bytes of strings")
        if opcode in b"XTUSV\x8c\x8d":
            self.text += nbytes
            if self.text > self.limits.pickle_text_nbytes:
                raise self._excess(f"more than {self.limits.pickle_text_nbytes:,} bytes of text")

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
                raise self._excess(f"a memo of {index:,} entries after {at - self.start:,} bytes")
            self.memo = index + 1
        if self.memoize and opcode != 0x94:
            self._suspect("memo indexes in a protocol that counts them")
        if last != _LIGHT:
            if last > 0:
                self.long[index] = last
            elif last == _HEAVY:
                self.heavy.add(index)
            else:
                self._suspect("an object that enters the memo late")
            if index < LOW_INDEXES and self.run is not None:
                self.run = self._compile(end)
        return end

    def _get(self, opcode: int, at: int) -> int:
        """BINGET, LONG_BINGET and GET; returns the position after it."""
        if opcode == 0x68:
            index, end = self.data[at + 1], at + 2
        elif opcode == 0x6A:
            index, end = _U32(self._checked(at, at + 5), at + 1)[0], at + 5
        else:
            index, end = self._line_index(at)
        if index in self.heavy:
            self.heavy_fetches += 1
        elif index >= LOW_INDEXES:
            self.fetched[index] += 1
        if index in self.long:
            self.long_fetched += self.long[index]
        return end

    def _line_index(self, at: int) -> tuple[int, int]:
        line, end = self._line(at + 1)
        if len(line) > 12 or not line.strip().isdigit():
            raise self._bad("a memo index that is not a number", at)
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
                raise self._excess(f"a class whose name has {end - at:,} characters")
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
                raise self._bad(f"unknown protocol {data[at + 1]}", at)
            if at == self.start:
                self.memoize = data[at + 1] >= 4
            else:
                self._suspect("a change of protocol")
            return at + 2
        if opcode in b"ILFSVP":
            end = self._line(at + 1)[1]
            if opcode in b"ILF":
                if end - at > 2 * self.limits.pickle_int_nbytes:
                    raise self._excess(f"a number of {end - at:,} characters")
                self.large_ints += end - at > 20
            elif end - at >= _LONG_STRING:
                # PUT of a long line is not followed up: protocol 0 is known from small files.
                self._count_payload(opcode, end - at)
                if opcode != 0x50:
                    self.long_fetched += end - at
            return end
        if opcode in b"\x82\x83\x84":
            raise self._excess("an object by its number in a registry of the program that reads it (EXT)")
        if opcode == 0x92:  # NEWOBJ_EX
            self.keyword_calls += 1
            return at + 1
        if opcode in b"012\x97\x98":  # POP, POP_MARK, DUP, NEXT_BUFFER, READONLY_BUFFER
            self._suspect("objects doubled or dropped on the stack, or buffers from elsewhere")
            return at + 1
        raise self._bad(f"{bytes([opcode])!r}, which is not an opcode,", at)

    def _name(self, module: str, name: str) -> None:
        self.globals[module, name] += 1
        if len(self.globals) > self.limits.pickle_globals:
            raise self._excess(f"more than {self.limits.pickle_globals:,} classes")

    def _is_consumed(self, position: int) -> bool:
        """Whether the tuple made just before `position` is at once taken as the arguments of a call, or as a
        persistent id: then it cannot become part of a key."""
        data = self.data
        following = data[position]
        if following == 0x71:
            following = data[position + 2]
        elif following == 0x72:
            following = data[position + 5]
        elif following == 0x94:
            following = data[position + 1]
        return following in b"RQ\x81"

    def _compile(self, position: int) -> re.Pattern[bytes]:
        light = bytes(i for i in range(LOW_INDEXES) if i not in self.heavy and i not in self.long)
        highest = position - self.start + _STAGE_NBYTES >> 16
        self.run = run_pattern(light, min(highest, 255), self.memoize)
        return self.run

    def _count_memoized(self, start: int, end: int) -> None:
        made = bytes(self.data[start:end]).count(b"\x94")
        if made:
            self.runs.append((self.memo, start, end))
            self.memo += made

    def _heavy_in_runs(self, end: int) -> int:
        """How many of the fetches outside runs may be of a tuple that was made inside one."""
        fetched = self.fetched
        if self.run is None or not fetched:
            return 0
        if self.memoize:
            return sum(count for index, count in fetched.items() if self._is_tuple_in_run(index))
        made = set(_TUPLE_PUTS.findall(self.data, self.start, end))
        return sum(count for index, count in fetched.items() if index.to_bytes(4, "little") in made)

    def _is_tuple_in_run(self, index: int) -> bool:
        at = bisect_right(self.runs, (index, len(self.data), 0)) - 1
        if at < 0:
            return False
        first, start, end = self.runs[at]
        if index - first > 200:
            return True  # taken for one: runs are short, or have nothing to fetch
        run = bytes(self.data[start:end])
        where = -1
        for _ in range(index - first + 1):
            where = run.find(b"\x94", where + 1)
            if where < 0:
                return False  # made after this run, outside any
        return run[where - 1] in b"t\x85\x86\x87\x91"

    def _check_memory(self, end: int) -> None:
        structure = end - self.start - self.payload
        if structure > self.limits.pickle_opcode_nbytes:
            raise self._excess(f"more than {self.limits.pickle_opcode_nbytes:,} bytes of opcodes")
        allowed = self.limits.pickle_structure_nbytes
        if structure * _MOST_PER_BYTE <= allowed:
            return
        needed = structure * _NBYTES_PER_BYTE
        if needed <= allowed and self.payload <= structure:
            # Among the bytes of strings these are too many: rather too much than too little.
            whole = bytes(self.data[self.start : end])
            needed += sum(nbytes * whole.count(opcode) for opcode, nbytes in _NBYTES_OF.items())
        if needed > allowed:
            raise self._excess(f"some {needed >> 20:,} MiB of small objects")

    def _judge(self, end: int) -> str:
        structure = end - self.start - self.payload
        if self.nested > _NESTED_TUPLES:
            return f"{self.nested:,} tuples that may be nested"
        if self.large_ints > _LARGE_INTS:
            return f"{self.large_ints:,} large integers"
        if self.tuples * structure > _TUPLES_TIMES_NBYTES:
            return f"{self.tuples:,} tuples that may be keys"
        if self.keyword_calls * structure > _CALLS_TIMES_NBYTES:
            return f"{self.keyword_calls:,} calls with keywords"
        if self.long_fetched > _LONG_STRINGS_FETCHED_NBYTES:
            return "long strings used many times"
        if self.heavy_fetches + self._heavy_in_runs(end) > _HEAVY_FETCHES:
            return "tuples shared by other tuples"
        return ""

    def _suspect(self, why: str) -> None:
        self.suspicion = self.suspicion or why

    def _truncated(self) -> TruncatedPickle:
        return TruncatedPickle(
            f"{self.name} ends in the middle of a pickle", advice="The file was cut short: copy or download it again"
        )

    def _bad(self, what: str, at: int) -> MalformedFile:
        return MalformedFile(
            f"{self.name} is not a sound pickle: {what} at byte {at:,}", advice="The file was damaged or made by hand"
        )

    def _excess(self, what: str) -> LimitExceeded:
        return LimitExceeded(
            f"{self.name} asks for {what}", advice="No checkpoint needs that: the file may have been made to do harm"
        )
