"""Regular expressions that eat whole runs of opcodes, so that a scan steps only where there is something to see.

A run is made of units that need no knowledge of the stack:

* numbers, None and booleans; short strings; empty containers; fetches of memo entries known to be light;
* opcodes that fill a container, where no PUT follows: what they leave on top need not be new;
* whole calls, `( arguments t R`, whose argument tuple is consumed at once, and those by one flat tuple
  (`torch.Size`). So the shapes, strides and persistent ids
  of tensors, thousands of tuples, need no further look: none of them can become part of a dict key.

The bounds of memo indexes are part of the expression. Indexes below 256 are never written inside a run, so what they
hold is known exactly when a run fetches them. In protocols 4 and 5, where MEMOIZE counts for itself, no argument
inside a run may hold MEMOIZE's own byte: counting that byte counts the opcode. Only where values are told from keys
it may, and the opcodes are counted one by one.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

LOW_INDEXES: Final = 256
_SHORT_STRING: Final = 48  # storage keys ("0", or an address in legacy files), names of parameters
_FLAT_TUPLE: Final = 16

ATOM: Final = rb"(?:K.|[N\x88\x89]|G.{8}|J....|M..)"
ATOMS: Final = re.compile(ATOM + rb"++", re.DOTALL)
ONE_ATOM: Final = re.compile(ATOM, re.DOTALL)


@lru_cache(maxsize=16)
def run_pattern(light: bytes, highest_64k: int, memoize: bool, *, filled: bool = False) -> re.Pattern[bytes]:
    """The expression for runs.

    Parameters
    ----------
    light
        The memo indexes below 256 that may be fetched inside a run, ascending.
    highest_64k
        The largest memo index that may be written, divided by 65,536.
    memoize
        True for protocols 4 and 5.
    filled
        Whether small tuples that are seen to become values of a dict or items of a list belong to a run.
    """
    if memoize:
        any_byte = b"." if filled else rb"[^\x94]"
        put = rb"\x94?+"
        light = light if filled else light.replace(b"\x94", b"")
    else:
        any_byte = b"."
        put = rb"(?:r(?!.\x00\x00\x00)..[\x00-%b]\x00)?+" % re.escape(bytes([min(highest_64k, 255)]))
    get = b"h[%b]" % re.escape(light) if light else b"(?!)"

    names = {"any": any_byte, "put": put, "get": get}
    atom = _fill(rb"(?:K<any>|[N\x88\x89]|J<any>{4}|M<any>{2}|G<any>{8})", **names)
    # Short strings are written in one way by each protocol, and an expression of both takes twice as long to compile.
    short = rb"\x8c(?:%b)" % _counted(any_byte, 0) if memoize else b"X(?:%b)" % _counted(any_byte, 3)
    names |= {"atom": atom, "short": short}
    item = _fill(
        rb"(?:<get>(?:\)R<put>)?+"
        rb"|<atom>{3,}+(?:[\x85-\x87]<put>)?+|<atom>{2}+(?:[\x85\x86]<put>)?+|<atom>(?:\x85<put>)?+"
        rb"|\((?:<get>|<atom>|<short><put>)*+t<put>Q?+"
        rb"|[\])}]<put>|<short><put>)",
        **names,
    )
    # A tuple that is not a persistent id is an argument of the call all the same.
    call = _fill(rb"\(<item>++t<put>R<put>", item=item, **names)
    few = rb"\(<atom>{0,%d}+t" % _FLAT_TUPLE
    size_call = _fill(rb"(?:<atom>{3}\x87|<atom>{2}\x86|<atom>\x85|%b|\))<put>\x85<put>R<put>" % few, **names)
    # The call that nearly all tensors are made by, written out: alternatives that repeat take three times as long.
    size = rb"(?:<atom>(?:\x85|<atom>(?:\x86|<atom>\x87))|\)|\(<atom>{4,%d}+t)" % _FLAT_TUPLE
    tensor = _fill(
        rb"(?:<short><put>)?+<get>\(\(<get><get>(?:<short><put>|<get>)<get><atom>t<put>Q<atom><size><put><size><put>"
        rb"[\x88\x89]<get>\)R<put>t<put>R<put>",
        size=size,
    )
    of_parameter = _fill(rb"(?:[\x88\x89]<get>\)R<put>\x87<put>R<put>)?+", **names)
    # A handful of values before a tuple opcode is left to the scan: it looks whether the tuple is flat.
    values = rb"(?:<atom>|<short><put>){1,%d}+(?![\x85-\x87t])" % (_FLAT_TUPLE + 4)
    ends_flat = _fill(rb"(?:<get>|<atom>|<short><put>){0,%d}+[\x85-\x87t]" % _FLAT_TUPLE, **names)
    return re.compile(
        _fill(
            rb"(?:<filling><tensor>|<get>(?!<ends_flat>)|<call><of_parameter>|<size_call>|<values>"
            rb"|[\])}\x8fR\x81Q]<put>|[aesub\x90](?![qrp\x94\x80\x95])|\((?!<ends_flat>)){1,65000}+",
            filling=_filling(names) + b"|" if filled else b"",
            values=_fill(values, **names),
            tensor=_fill(tensor, **names),
            call=call,
            size_call=size_call,
            ends_flat=ends_flat,
            of_parameter=of_parameter,
            **names,
        ),
        re.DOTALL,
    )


def _filling(names: dict[str, bytes]) -> bytes:
    """Whole fillings of a dict or list by values and small tuples. Each part of them leaves one object on the stack,
    so that keys and values are told apart; keys are no tuples, and neither values nor items are hashed."""
    frame = rb"(?:\x95.{3}\x00{5})?+"  # FRAME may come after any object
    one = rb"(?:(?:<get>|<atom>|<short><put>)%b)" % frame
    small = rb"(?:<one>{3}\x87|<one>{2}\x86|<one>\x85|\(<one>{0,%d}+t)<put>%b" % (_FLAT_TUPLE, frame)
    item = rb"(?:<small>|<one>|[)}]<put>%b)" % frame
    value = rb"(?:<item>|\]<put>(?:\(<item>++e|<item>a)?+%b)" % frame
    known = {"small": small, "item": item, "value": value, "one": one}
    fillings = rb"(?:\((?:<one><value>)++u|\(<value>++e|<one><small>s|<small>[sa])(?![qrp\x94\x80\x95])"
    for name in ("value", "item", "small", "one"):
        fillings = _fill(fillings, **{name: known[name]})
    return _fill(fillings, **names)


def tokens_of_runs() -> bytes:
    """Alternatives for one opcode with its arguments: all that runs hold but PUTs and tuples."""
    short = rb"X(?:%b)|\x8c(?:%b)" % (_counted(b".", 3), _counted(b".", 0))
    return rb"[N\x88\x89)\]}\x8fR\x81Qaesub\x90(]|[Kh].|M..|J.{4}|G.{8}|\x95.{8}|%b" % short


def _counted(any_byte: bytes, zeros: int) -> bytes:
    """Alternatives for a length and its payload, written out since an expression cannot count; by eights, since they
    are tried one after the other."""
    blocks = []
    for low in range(1, _SHORT_STRING, 8):
        lengths = range(low, low + 8)
        one_by_one = b"|".join(b"\\x%02x%b%b{%d}" % (n, rb"\x00" * zeros, any_byte, n) for n in lengths)
        blocks.append(b"(?=[\\x%02x-\\x%02x])(?:%b)" % (low, low + 7, one_by_one))
    return b"|".join(blocks)


def _fill(template: bytes, **parts: bytes) -> bytes:
    for name, part in parts.items():
        template = template.replace(b"<%b>" % name.encode(), part)
    return template
