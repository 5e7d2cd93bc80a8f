"""A pickle as a row of tokens, each with what it is there for: to say why two pickles differ.

Nothing is loaded. The tokens of one opcode each are grouped by what they are to torch: a storage's key, its device
tag, a stride. What remains is told by opcode: memo, framing, values.
"""

from __future__ import annotations

import pickletools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from viewer.errors import MalformedFile

Role: TypeAlias = Literal[
    "value", "memo", "protocol", "storage key", "device tag", "storage size", "offset", "shape", "stride",
    "storage class",
]  # fmt: skip

MAX_NBYTES: Final = 32 << 20
"""Tokens take some 300 bytes each. Larger pickles are compared as a whole."""

_PUTS: Final = frozenset({"PUT", "BINPUT", "LONG_BINPUT", "MEMOIZE"})
_GETS: Final = frozenset({"GET", "BINGET", "LONG_BINGET"})
_FRAMING: Final = frozenset({"PROTO", "FRAME"})
_INTS: Final = frozenset({"BININT", "BININT1", "BININT2", "LONG1", "LONG4", "INT", "LONG"})
_TEXTS: Final = frozenset(
    {"BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8", "UNICODE", "STRING", "BINSTRING", "SHORT_BINSTRING"}
)
_TUPLES: Final = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}


@dataclass(slots=True)
class Token:
    """One opcode with its argument.

    Attributes
    ----------
    raw
        Its bytes; those of a whole shape or stride where it is one.
    value
        What it stands for, however it is written: a text got from the memo is that text.
    target
        What a token that gets something from the memo gets.
    """

    at: int
    raw: bytes
    name: str
    value: object
    role: Role = "value"
    target: Token | None = None


def tokens_of(data: bytes) -> list[Token]:
    """All tokens of a pickle up to STOP.

    Raises
    ------
    MalformedFile
        When it is broken, or larger than `MAX_NBYTES`.
    """
    if len(data) > MAX_NBYTES:
        raise MalformedFile(f"a pickle of {len(data):,} bytes is not taken apart")
    tokens = list(_read(data))
    for nth, token in enumerate(tokens):
        if token.name == "BINPERSID":
            _name_storage(tokens, nth)
            _name_view(tokens, nth)
    for token in tokens:
        if token.target is not None:
            token.value = token.target.value
    return [token for token in tokens if token.raw]


def _read(data: bytes) -> Iterator[Token]:
    memo: dict[int, Token] = {}
    last: Token | None = None
    starts: list[tuple[int, str, object]] = []
    try:
        for opcode, argument, position in pickletools.genops(data):
            starts.append((position or 0, opcode.name, argument))
    except (ValueError, IndexError, UnicodeError, OverflowError) as error:
        raise MalformedFile(f"a pickle cannot be taken apart ({error})") from error
    end = starts[-1][0] + 1 if starts else 0
    for (at, name, argument), following in zip(starts, [*(start[0] for start in starts[1:]), end], strict=True):
        raw = data[at:following]
        if name in _FRAMING:
            yield Token(at, raw, name, None, "protocol")
        elif name in _PUTS:
            if last is not None:
                memo[len(memo) if name == "MEMOIZE" else int(str(argument))] = last
            yield Token(at, raw, name, None, "memo")
        elif name in _GETS:
            last = memo.get(int(str(argument)))
            value = ("got", "something") if last is None else last.value
            yield Token(at, raw, name, value, target=last)
        else:
            last = Token(at, raw, name, _value(name, argument, raw))
            yield last


def _value(name: str, argument: object, raw: bytes) -> object:
    if name in _TEXTS:
        return "text", argument
    if name in _INTS and not isinstance(argument, bool):
        return "int", argument
    if name in ("BINFLOAT", "FLOAT"):
        return "float", repr(argument)
    if name == "GLOBAL":
        return "name", argument
    if argument is None:
        return "opcode", name
    return name, raw


def _name_storage(tokens: list[Token], end: int) -> None:
    """Roles in a persistent id: ("storage", class, key, location, numel[, view])."""
    begin = end - 1
    while begin > 0 and end - begin < 40 and tokens[begin].name != "MARK":
        begin -= 1
    parts = [token for token in tokens[begin + 1 : end] if token.role == "value" and token.name != "TUPLE"]
    if len(parts) >= 5 and parts[0].value == ("text", "storage"):
        roles: tuple[Role, ...] = ("storage class", "storage key", "device tag", "storage size")
        for token, role in zip(parts[1:5], roles, strict=True):
            token.role = role


def _name_view(tokens: list[Token], at: int) -> None:
    """Roles of what follows a storage in the arguments of a rebuild: offset, shape, stride."""
    nth = _next(tokens, at)
    if nth is None or not _is_int(tokens[nth]):
        return
    tokens[nth].role = "offset"
    for role in ("shape", "stride"):
        nth = _next(tokens, nth)
        if nth is None:
            return
        last = _tuple_end(tokens, nth)
        whole = tokens[last]
        whole.role = "shape" if role == "shape" else "stride"
        if last > nth:
            parts = [token for token in tokens[nth:last] if token.role == "value"]
            whole.value = "ints", tuple(token.value for token in parts if _is_int(token))
            whole.raw = b"".join(token.raw for token in parts) + whole.raw
            whole.at = parts[0].at
            for token in parts:
                token.raw = b""
        elif whole.name == "EMPTY_TUPLE":
            whole.value = "ints", ()
        nth = last


def _next(tokens: list[Token], nth: int) -> int | None:
    """The next token that is a value."""
    for at in range(nth + 1, min(nth + 4, len(tokens))):
        if tokens[at].role == "value":
            return at
    return None


def _is_int(token: Token) -> bool:
    return isinstance(token.value, tuple) and token.value[0] == "int"


def _tuple_end(tokens: list[Token], nth: int) -> int:
    """Where the tuple of ints that begins at a token ends."""
    if tokens[nth].name in _GETS or tokens[nth].name == "EMPTY_TUPLE":
        return nth
    for at in range(nth, min(nth + 140, len(tokens))):
        token = tokens[at]
        if token.name in _TUPLES or token.name == "TUPLE":
            return at
        if token.role == "value" and token.name != "MARK" and not _is_int(token):
            return max(at - 1, nth)
    return nth
