"""The header of a safetensors file, parsed straight into columns.

Format (README of github.com/huggingface/safetensors, "Format"): 8 bytes little-endian N, N bytes of UTF-8 JSON that
begin with "{" and may end in blanks, then the data. The JSON maps a name to {"dtype", "shape", "data_offsets":
[begin, end]}, offsets counted from the start of the data, and "__metadata__" to a map of text to text. The tensors
must tile the data: no overlap, no gap. N may be at most 100,000,000.

A header is hostile until proven otherwise: a general JSON parser turns 100 MB of "[]," into 2 GB of lists. So each
entry is eaten by one regular expression, which makes nothing but the strings that it needs, and only small odd pieces
go through `json`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Final

from viewer.errors import LimitExceeded, MalformedFile
from viewer.task import Progress

MAX_ODD_VALUE: Final = 64 << 10
"""Longest JSON value, in characters, that is not of the usual form and still worth parsing (65,536 in _ODD_VALUE)."""

MAX_METADATA_ENTRIES: Final = 100_000
MAX_PROBLEMS: Final = 1_000
"""More entries than this that are no tensors, and the text is no header."""

MAX_DIMENSIONS: Final = 64
"""torch refuses tensors of more than 64 dimensions (c10's kDimVectorStaticSize users; numpy's limit is 64 too)."""

_STRING = rb'"([^"\\\x00-\x1f]*+(?:\\.[^"\\\x00-\x1f]*+)*+)"'
_ENTRY = re.compile(
    _STRING + rb'\s*:\s*\{\s*"dtype"\s*:\s*"(\w{1,20})"\s*,\s*"shape"\s*:\s*\[([0-9,\s]{0,1400})\]\s*,'
    rb'\s*"data_offsets"\s*:\s*\[\s*([0-9]{1,19})\s*,\s*([0-9]{1,19})\s*\]\s*\}'
)
_NAME = re.compile(_STRING + rb"\s*:\s*")
_PAIR = re.compile(_STRING + rb"\s*:\s*" + _STRING)
_ODD_VALUE = re.compile(rb"\{[^{}]{0,65536}\}|\[[^][]{0,65536}\]|[^][{},]{1,65536}")
_SEPARATOR = re.compile(rb"\s*([,}])\s*")
_BLANK = re.compile(rb"\s*")


@dataclass(slots=True)
class Header:
    """What the header says, in its order; nothing is checked against the file yet.

    Attributes
    ----------
    names, dtypes, shapes, begins, ends
        One item per tensor; offsets in bytes from the start of the data.
    metadata
        The text map, or None where there is none. A value that is not text is kept as its JSON.
    problems
        (name, sentence) for entries that describe no tensor.
    warnings
        Sentences about the header as a whole.
    """

    names: list[str] = field(default_factory=list)
    dtypes: list[str] = field(default_factory=list)
    shapes: list[tuple[int, ...]] = field(default_factory=list)
    begins: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    metadata: dict[str, str] | None = None
    problems: list[tuple[str, str]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def parse_header(data: bytes) -> Generator[Progress, None, Header]:
    """Parse the JSON of a header; a task.

    Raises
    ------
    MalformedFile
        When `data` is not the JSON object that the format asks for, with the place.
    LimitExceeded
        When an entry is larger than any real one.
    """
    text = data  # bytes all along: one wide character would make the str four times as large
    header = Header()
    seen: set[str] = set()
    at = _blank(text, 0)
    if not text.startswith(b"{", at):
        raise _broken("is not a JSON object", at)
    at = _blank(text, at + 1)
    more = not text.startswith(b"}", at)
    if not more:
        at += 1
    steps = 0
    while more:
        match = _ENTRY.match(text, at)
        if match is not None:
            name = _text_of(match[1], at)
            at = match.end()
            _add(header, seen, name, match[2].decode(), _extents(match[3]), int(match[4]), int(match[5]))
        else:
            at = _odd_entry(header, seen, text, at)
        more, at = _next(text, at)
        if len(header.problems) > MAX_PROBLEMS:
            raise _broken(f"has more than {MAX_PROBLEMS:,} entries that describe no tensor", at)
        steps += 1
        if not steps & 0x3FFF:
            yield Progress(at, len(text))
    if _blank(text, at) != len(text) and text[at:].strip(b" \t\r\n\0"):
        header.warnings.append("The header goes on after its JSON object ends.")
    return header


def _add(
    header: Header, seen: set[str], name: str, dtype: str, shape: tuple[int, ...] | None, begin: int, end: int
) -> None:
    if name in seen:
        header.problems.append((name, f"the header names {name!r} twice; the first entry is shown, this one is not"))
        return
    seen.add(name)
    if shape is None or len(shape) > MAX_DIMENSIONS:
        header.problems.append((name, f"its shape is no list of at most {MAX_DIMENSIONS} whole numbers"))
        return
    header.names.append(name)
    header.dtypes.append(dtype)
    header.shapes.append(shape)
    header.begins.append(begin)
    header.ends.append(end)


def _odd_entry(header: Header, seen: set[str], text: bytes, at: int) -> int:
    """An entry in another order or of another form; returns where it ends."""
    match = _NAME.match(text, at)
    if match is None:
        raise _broken("holds something other than a name", at)
    name = _text_of(match[1], at)
    at = match.end()
    if name == "__metadata__" and text.startswith(b"{", at):
        if header.metadata is not None:
            header.warnings.append("The header has __metadata__ twice; the later one is added to the first.")
        return _metadata(header, text, at)
    value, at = _odd_value(text, at, name)
    if isinstance(value, dict):
        dtype, shape, offsets = value.get("dtype"), value.get("shape"), value.get("data_offsets")
        extents, span = _counts(shape), _counts(offsets)
        if isinstance(dtype, str) and extents is not None and span is not None and len(span) == 2:
            _add(header, seen, name, dtype, extents, span[0], span[1])
            return at
    header.problems.append((name, "its entry in the header is not {dtype, shape, data_offsets}"))
    return at


def _metadata(header: Header, text: bytes, at: int) -> int:
    found = {} if header.metadata is None else header.metadata
    header.metadata = found
    at = _blank(text, at + 1)
    if text.startswith(b"}", at):
        return at + 1
    for _ in range(MAX_METADATA_ENTRIES):
        pair = _PAIR.match(text, at)
        if pair is not None:
            found[_text_of(pair[1], at)] = _text_of(pair[2], at)
            at = pair.end()
        else:
            name = _NAME.match(text, at)
            if name is None:
                raise _broken("has metadata that is not a map of text", at)
            key = _text_of(name[1], at)
            start = name.end()
            _, at = _odd_value(text, start, "__metadata__", nested=True)
            try:
                found[key] = text[start:at].decode()
            except UnicodeDecodeError as error:
                raise _broken("is not UTF-8", start) from error
            header.warnings.append(
                f"The metadata {key!r} is not text, as the format demands; it is shown as its JSON."
            )
        more, at = _next(text, at)
        if not more:
            return at
    raise LimitExceeded(f"the metadata has more than {MAX_METADATA_ENTRIES:,} entries", advice=_ADVICE)


def _odd_value(text: bytes, at: int, name: str, *, nested: bool = False) -> tuple[object, int]:
    """Parse one JSON value of bounded length; returns it and where it ends."""
    piece = text[at : at + MAX_ODD_VALUE] if nested else None
    if piece is None:
        match = _ODD_VALUE.match(text, at)
        piece = b"" if match is None else match.group()
    try:
        value, length = json.JSONDecoder().raw_decode(piece.decode(errors="surrogateescape"))
    except RecursionError as error:
        raise LimitExceeded(f"the header nests too deeply in {name!r}", advice=_ADVICE) from error
    except ValueError as error:
        raise _broken(f"has an entry {name[:80]!r} that cannot be parsed", at) from error
    return value, at + len(piece.decode(errors="surrogateescape")[:length].encode(errors="surrogateescape"))


def _extents(text: bytes) -> tuple[int, ...] | None:
    if not text.strip():
        return ()
    try:
        extents = tuple(int(part) for part in text.split(b","))
    except ValueError:
        return None
    return extents if all(extent < 1 << 63 for extent in extents) else None


def _counts(value: object) -> tuple[int, ...] | None:
    if isinstance(value, list) and all(type(item) is int and 0 <= item < 1 << 63 for item in value):
        return tuple(value)
    return None


def _next(text: bytes, at: int) -> tuple[bool, int]:
    match = _SEPARATOR.match(text, at)
    if match is None:
        raise _broken('misses a "," or "}"', at)
    return match[1] == b",", match.end()


def _blank(text: bytes, at: int) -> int:
    match = _BLANK.match(text, at)
    assert match is not None
    return match.end()


def _text_of(raw: bytes, at: int) -> str:
    try:
        text = raw.decode("utf-8")
        return text if "\\" not in text else str(json.loads(f'"{text}"'))
    except UnicodeDecodeError as error:
        raise _broken("is not UTF-8", at) from error
    except ValueError as error:
        raise _broken("holds text with a wrong escape", at) from error


_ADVICE: Final = "Fetch or write the file again"


def _broken(what: str, at: int) -> MalformedFile:
    return MalformedFile(f"the safetensors header {what} (at byte {at + 1:,} of it)", advice=_ADVICE)
