"""How single values and keys are written in JSON: valid JSON of any strict parser, and nothing lost.

* None, bools, ints, finite floats and strings are themselves.
* Floats that JSON has no number for are the strings "nan", "inf" and "-inf".
* Ints of more than 4,300 digits are hexadecimal strings: Python's own parser refuses longer decimals.
* Everything else (bytes, complex …) is a string, as Python prints it; the entry's `kind` says what it is.

Output is ASCII (other characters are escaped), so that it survives any terminal, pipe and locale.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from json.encoder import encode_basestring_ascii as json_string
from typing import Final

from viewer.checkpoint.nodes import Key

__all__ = ["json_key", "json_list", "json_object", "json_string", "json_value"]

_MAX_DECIMAL_BITS: Final = 14_284
"""Ints up to this length have at most 4,300 digits (`sys.int_info.default_max_str_digits`)."""


def json_value(value: object) -> str:
    """A plain value, tuple, list or dict with str keys as JSON text."""
    if value is None:
        return "null"
    if isinstance(value, str):
        return json_string(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return int.__repr__(value) if value.bit_length() <= _MAX_DECIMAL_BITS else json_string(hex(value))
    if isinstance(value, float):
        return json_number(value)
    if isinstance(value, (list, tuple)):
        return json_list(map(json_value, value))
    if isinstance(value, dict):
        return json_object({str(key): json_value(item) for key, item in value.items()})
    return json_string(repr(value))


def json_number(value: float) -> str:
    """A float by the shortest digits that give it back, or one of the three strings."""
    if math.isfinite(value):
        return float.__repr__(value)
    if math.isnan(value):
        return '"nan"'
    return '"inf"' if value > 0 else '"-inf"'


def json_key(key: Key) -> str:
    """One element of `keys`: a string, a number, or {"key": repr} with "nth" from the second sibling on."""
    if isinstance(key, str):
        return json_string(key)
    if isinstance(key, int):
        return json_value(int(key))
    nth = f', "nth": {key.nth}' if key.nth > 1 else ""
    return f'{{"key": {json_string(key.text)}{nth}}}'


def json_list(items: Iterable[str]) -> str:
    """A list of items that are JSON text already."""
    return f"[{', '.join(items)}]"


def json_object(fields: dict[str, str]) -> str:
    """An object whose values are JSON text already."""
    return f"{{{', '.join(f'{json_string(name)}: {text}' for name, text in fields.items())}}}"
