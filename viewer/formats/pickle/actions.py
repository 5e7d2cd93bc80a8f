"""What each opcode does in the careful unpickler (`viewer.formats.pickle.careful`)."""

from __future__ import annotations

import codecs
from collections.abc import Callable
from struct import Struct
from typing import Any, Final

from viewer.errors import MalformedFile
from viewer.formats.pickle.careful import Reader, StopReached
from viewer.formats.pickle.faults import TruncatedPickle
from viewer.formats.pickle.standins import CalledStandIn, ObjectStandIn, OutOfBand, Problem, Record, StandInType

_U16: Final = Struct("<H").unpack_from
_I32: Final = Struct("<i").unpack_from
_F64: Final = Struct(">d").unpack_from


def _push(make: Callable[[Reader], object]) -> Callable[[Reader], None]:
    def act(reader: Reader) -> None:
        reader.stack.append(make(reader))

    return act


def _constant(value: object) -> Callable[[Reader], None]:
    def act(reader: Reader) -> None:
        reader.stack.append(value)

    return act


def _number(unpack: Callable[..., tuple[Any, ...]], nbytes: int) -> Callable[[Reader], None]:
    def act(reader: Reader) -> None:
        if reader.position + nbytes > len(reader.data):
            raise TruncatedPickle("the data ends in the middle of a number")
        reader.stack.append(unpack(reader.data, reader.position)[0])
        reader.position += nbytes

    return act


def _counted(width: int, decode: Callable[[Reader, bytes], object]) -> Callable[[Reader], None]:
    def act(reader: Reader) -> None:
        count = int.from_bytes(reader.take(width), "little")
        reader.stack.append(decode(reader, reader.take(count)))

    return act


def _text(_reader: Reader, raw: bytes) -> str:
    return str(raw, "utf-8", "surrogatepass")


def _old_text(_reader: Reader, raw: bytes) -> str:
    return str(raw, "utf-8", "surrogateescape")


def _binary(_reader: Reader, raw: bytes) -> bytes:
    return raw


def _bytearray(_reader: Reader, raw: bytes) -> bytearray:
    return bytearray(raw)


def _integer(reader: Reader, raw: bytes) -> int:
    if len(raw) > reader.limits.pickle_int_nbytes:
        raise MalformedFile(f"an integer of {len(raw):,} bytes is not read")
    return int.from_bytes(raw, "little", signed=True)


def _integer_line(reader: Reader) -> object:
    line = reader.line().strip()
    if len(line) > 2 * reader.limits.pickle_int_nbytes:
        raise MalformedFile(f"a number of {len(line):,} characters is not read")
    if line in (b"00", b"01"):
        return line == b"01"
    return int(line.removesuffix(b"L"))


def _float_line(reader: Reader) -> float:
    return float(reader.line()[:400])


def _string_line(reader: Reader) -> str:
    line = reader.line().strip()
    if len(line) >= 2 and line[:1] == line[-1:] and line[:1] in b"\"'":
        line = line[1:-1]
    raw: bytes = codecs.escape_decode(line)[0]
    return _old_text(reader, raw)


def _unicode_line(reader: Reader) -> str:
    # By the function itself: a codec looked up by name is imported when it is first needed.
    return codecs.raw_unicode_escape_decode(reader.line())[0]


def _mark(reader: Reader) -> None:
    reader.below.append(reader.stack)
    reader.stack = []
    reader.memory += 200


def _stop(_reader: Reader) -> None:
    raise StopReached


def _pop(reader: Reader) -> None:
    if reader.stack:
        reader.stack.pop()
    else:
        reader.pop_mark()


def _pop_mark(reader: Reader) -> None:
    reader.pop_mark()


def _duplicate(reader: Reader) -> None:
    reader.stack.append(reader.stack[-1])


def _put(read_index: Callable[[Reader], int]) -> Callable[[Reader], None]:
    def act(reader: Reader) -> None:
        reader.memo[read_index(reader)] = reader.stack[-1]

    return act


def _get(read_index: Callable[[Reader], int]) -> Callable[[Reader], None]:
    def act(reader: Reader) -> None:
        reader.stack.append(reader.memo[read_index(reader)])

    return act


def _byte_index(reader: Reader) -> int:
    return reader.take(1)[0]


def _long_index(reader: Reader) -> int:
    return int.from_bytes(reader.take(4), "little")


def _line_index(reader: Reader) -> int:
    return int(reader.line()[:20])


def _next_index(reader: Reader) -> int:
    return len(reader.memo)


def _tuple(count: int) -> Callable[[Reader], None]:
    def act(reader: Reader) -> None:
        items = tuple(reader.stack[-count:])
        if len(items) < count:
            raise MalformedFile("a tuple has too few items")
        reader.stack[-count:] = [reader.made(items)]

    return act


def _tuple_to_mark(reader: Reader) -> None:
    items = reader.pop_mark()
    reader.stack.append(reader.made(tuple(items)) if items else ())


def _list_to_mark(reader: Reader) -> None:
    items = reader.pop_mark()
    reader.new(items, 60 + 8 * len(items))


def _dict_to_mark(reader: Reader) -> None:
    items = reader.pop_mark()
    reader.new({}, 290)
    reader.set_items(reader.stack[-1], items)


def _frozenset(reader: Reader) -> None:
    items = reader.pop_mark()
    owner = object()
    made = frozenset(reader.key(owner, item) for item in items)
    reader.hashes.pop(id(owner), None)
    reader.stack.append(reader.made(made))


def _empty(make: Callable[[], object], nbytes: int) -> Callable[[Reader], None]:
    def act(reader: Reader) -> None:
        reader.new(make(), nbytes)

    return act


def _append(reader: Reader) -> None:
    item = reader.stack.pop()
    reader.extend(reader.stack[-1], [item])


def _appends(reader: Reader) -> None:
    items = reader.pop_mark()
    reader.extend(reader.stack[-1], items)


def _set_item(reader: Reader) -> None:
    value = reader.stack.pop()
    key = reader.stack.pop()
    reader.set_items(reader.stack[-1], [key, value])


def _set_items(reader: Reader) -> None:
    items = reader.pop_mark()
    reader.set_items(reader.stack[-1], items)


def _reduce(reader: Reader) -> None:
    arguments = reader.stack.pop()
    reader.call(reader.stack.pop(), arguments)


def _new_object(reader: Reader) -> None:
    _reduce(reader)
    made: object = reader.stack[-1]
    if isinstance(made, CalledStandIn):
        new: ObjectStandIn = made
        new.__class__ = ObjectStandIn


def _new_object_with_keywords(reader: Reader) -> None:
    keywords = reader.stack.pop()
    arguments = reader.stack.pop()
    reader.call(reader.stack.pop(), arguments, keywords)


def _object(reader: Reader) -> None:
    items = reader.pop_mark()
    reader.call(items[0], tuple(items[1:]))


def _instance(reader: Reader) -> None:
    module, name = _global_lines(reader)
    items = reader.pop_mark()
    reader.call(reader.find_class(module, name), tuple(items))


def _build(reader: Reader) -> None:
    state = reader.stack.pop()
    built = reader.stack[-1]
    if not isinstance(built, (Record, StandInType)):
        built = ObjectStandIn(type(built).__name__, (built,))
        reader.stack[-1] = built
    set_state: Callable[[object], None] = built.__setstate__
    set_state(state)


def _global_lines(reader: Reader) -> tuple[str, str]:
    return str(reader.line(), "utf-8"), str(reader.line(), "utf-8")


def _global(reader: Reader) -> object:
    return reader.find_class(*_global_lines(reader))


def _stack_global(reader: Reader) -> object:
    name = reader.stack.pop()
    module = reader.stack.pop()
    if type(name) is not str or type(module) is not str:
        return Problem("a class that is named by something else than text")
    return reader.find_class(module, name)


def _persistent_id(reader: Reader) -> object:
    return reader.persistent_load(reader.stack.pop())


def _persistent_line(reader: Reader) -> object:
    return reader.persistent_load(str(reader.line(), "ascii"))


def _out_of_band(_reader: Reader) -> object:
    return OutOfBand()


def _skip(nbytes: int) -> Callable[[Reader], None]:
    def act(reader: Reader) -> None:
        reader.take(nbytes)

    return act


def _nothing(_reader: Reader) -> None:
    """READONLY_BUFFER: every buffer is read-only here."""


def _refuse(_reader: Reader) -> None:
    raise MalformedFile("an object by its number in a registry of the program that reads it (EXT) is refused")


def _unknown(reader: Reader) -> None:
    raise MalformedFile(f"{bytes(reader.data[reader.at : reader.at + 1])!r} at byte {reader.at:,} is not an opcode")


def _actions() -> list[Callable[[Reader], None]]:
    known: dict[bytes, Callable[[Reader], None]] = {
        b"(": _mark, b".": _stop, b"0": _pop, b"1": _pop_mark, b"2": _duplicate,
        b"N": _constant(None), b"\x88": _constant(True), b"\x89": _constant(False), b")": _constant(()),
        b"K": _push(_byte_index), b"M": _number(_U16, 2), b"J": _number(_I32, 4), b"G": _number(_F64, 8),
        b"I": _push(_integer_line), b"L": _push(_integer_line), b"F": _push(_float_line),
        b"\x8a": _counted(1, _integer), b"\x8b": _counted(4, _integer),
        b"S": _push(_string_line), b"T": _counted(4, _old_text), b"U": _counted(1, _old_text),
        b"V": _push(_unicode_line), b"X": _counted(4, _text), b"\x8c": _counted(1, _text),
        b"\x8d": _counted(8, _text), b"B": _counted(4, _binary), b"C": _counted(1, _binary),
        b"\x8e": _counted(8, _binary), b"\x96": _counted(8, _bytearray),
        b"]": _empty(list, 64), b"}": _empty(dict, 240), b"\x8f": _empty(set, 220),
        b"\x85": _tuple(1), b"\x86": _tuple(2), b"\x87": _tuple(3), b"t": _tuple_to_mark,
        b"l": _list_to_mark, b"d": _dict_to_mark, b"\x91": _frozenset,
        b"a": _append, b"e": _appends, b"s": _set_item, b"u": _set_items, b"\x90": _appends,
        b"p": _put(_line_index), b"q": _put(_byte_index), b"r": _put(_long_index), b"\x94": _put(_next_index),
        b"g": _get(_line_index), b"h": _get(_byte_index), b"j": _get(_long_index),
        b"c": _push(_global), b"\x93": _push(_stack_global), b"i": _instance, b"o": _object,
        b"R": _reduce, b"\x81": _new_object, b"\x92": _new_object_with_keywords, b"b": _build,
        b"P": _push(_persistent_line), b"Q": _push(_persistent_id),
        b"\x80": _skip(1), b"\x95": _skip(8), b"\x97": _push(_out_of_band), b"\x98": _nothing,
        b"\x82": _refuse, b"\x83": _refuse, b"\x84": _refuse,
    }  # fmt: skip
    return [known.get(bytes([opcode]), _unknown) for opcode in range(256)]


ACTIONS: Final = _actions()
"""By opcode: what the careful unpickler does about it."""
