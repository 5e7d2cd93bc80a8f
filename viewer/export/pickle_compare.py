"""Why two pickles differ: each differing byte of both, by reason."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Final

from viewer.errors import MalformedFile
from viewer.export.pickle_tokens import Role, Token, tokens_of

_MOST_ALIGNED: Final = 20_000
"""Tokens that are aligned by difflib, which takes time as their square."""

REASONS: Final[dict[Role, str]] = {
    "memo": "memo: how often an equal string or tuple is written, and which values have a number",
    "protocol": "the pickle protocol and its frames",
    "storage key": "keys of the storages",
    "device tag": "device tags",
    "storage size": "sizes of the storages (views of larger ones, or packed)",
    "storage class": "classes of the storages (dtype, or typed and untyped)",
    "offset": "offsets of views in their storages",
    "shape": "shapes",
    "stride": "strides (memory format)",
    "value": "structure: keys, their order, values, attributes such as _metadata, Parameter or tensor",
}

_ENCODING: Final = "other opcodes for the same value (protocol, Python version, string identity)"


@dataclass(slots=True)
class Amount:
    """Bytes of either pickle, and where the first of them are."""

    a_nbytes: int = 0
    b_nbytes: int = 0
    a_at: int = -1
    b_at: int = -1

    def add(self, a: Token | None, b: Token | None) -> None:
        if a is not None:
            self.a_nbytes += len(a.raw)
            self.a_at = a.at if self.a_at < 0 else self.a_at
        if b is not None:
            self.b_nbytes += len(b.raw)
            self.b_at = b.at if self.b_at < 0 else self.b_at


def compare_pickles(a: bytes, b: bytes) -> dict[str, Amount]:
    """Bytes by reason; what is equal is not among them. Empty where both are equal."""
    if a == b:
        return {}
    try:
        left, right = tokens_of(a), tokens_of(b)
    except MalformedFile as error:
        return {f"{error.fault}; compared as a whole": Amount(len(a), len(b), 0, 0)}
    amounts: defaultdict[str, Amount] = defaultdict(Amount)
    for one, other in _aligned(left, right):
        if one is None or other is None:
            token = one or other
            assert token is not None
            amounts[REASONS[token.role]].add(one, other)
        elif one.raw != other.raw:
            if one.value == other.value:
                amounts[_ENCODING if one.name != other.name else REASONS["memo"]].add(one, other)
            else:
                amounts[REASONS[one.role if one.role != "value" else other.role]].add(one, other)
    rest_a, rest_b = len(a) - _length(left), len(b) - _length(right)
    if rest_a or rest_b:
        amounts["bytes behind the end of the pickle"] = Amount(rest_a, rest_b, _length(left), _length(right))
    return dict(amounts)


def _length(tokens: list[Token]) -> int:
    return sum(len(token.raw) for token in tokens)


def _aligned(a: list[Token], b: list[Token]) -> Iterator[tuple[Token | None, Token | None]]:
    """Pairs of tokens that stand for one another; None where one side has none."""
    quiet_a = [token for token in a if token.role not in ("memo", "protocol")]
    quiet_b = [token for token in b if token.role not in ("memo", "protocol")]
    yield from _alone(a, b)
    head = 0
    while head < min(len(quiet_a), len(quiet_b)) and _like(quiet_a[head], quiet_b[head]):
        yield quiet_a[head], quiet_b[head]
        head += 1
    tail = 0
    while tail < min(len(quiet_a), len(quiet_b)) - head and _like(quiet_a[-1 - tail], quiet_b[-1 - tail]):
        yield quiet_a[-1 - tail], quiet_b[-1 - tail]
        tail += 1
    middle_a, middle_b = quiet_a[head : len(quiet_a) - tail], quiet_b[head : len(quiet_b) - tail]
    if max(len(middle_a), len(middle_b)) > _MOST_ALIGNED:
        for token in middle_a:
            yield token, None
        for token in middle_b:
            yield None, token
        return
    yield from _matched(middle_a, middle_b)


def _matched(a: list[Token], b: list[Token]) -> Iterator[tuple[Token | None, Token | None]]:
    matcher = SequenceMatcher(None, [_key(token) for token in a], [_key(token) for token in b], autojunk=False)
    for tag, a_from, a_to, b_from, b_to in matcher.get_opcodes():
        if tag == "equal":
            yield from zip(a[a_from:a_to], b[b_from:b_to], strict=True)
            continue
        for token in a[a_from:a_to]:
            yield token, None
        for token in b[b_from:b_to]:
            yield None, token


def _alone(a: list[Token], b: list[Token]) -> Iterator[tuple[Token | None, Token | None]]:
    """Memo and framing tokens: in pairs as far as both have the same, which is where nothing is to be said."""
    for role in ("memo", "protocol"):
        left = [token for token in a if token.role == role]
        right = [token for token in b if token.role == role]
        if [token.raw for token in left] != [token.raw for token in right]:
            for token in left:
                yield token, None
            for token in right:
                yield None, token


def _key(token: Token) -> object:
    """What two tokens have in common that stand for one another."""
    if token.role in ("value", "storage class"):
        return token.role, token.value
    return token.role


def _like(a: Token, b: Token) -> bool:
    return a.role == b.role and _key(a) == _key(b)
