"""Paths: one string for each node, unique, readable, and able to be given back.

The rules, in the order of the string:

* Keys are separated by `/`: `model/layer1.0.conv1.weight`. Dots in a key are left alone.
* Integers (list indexes and int dict keys) stand in brackets, with no slash before them:
  `optimizer/state[0]/exp_avg`, `optimizer/param_groups[0]/lr`. So the string key "0" (`layers/0`) is never the
  integer 0 (`layers[0]`).
* A string key that is empty, begins or ends with a blank, or holds any of ``/ [ ] " \\`` or a character that does not
  print, stands in brackets as a JSON string: `files["a/b.py"]`, `[""]`.
* Any other key stands in brackets and braces, as its repr in a JSON string: `cache[{"(1, 2)"}]`. A second sibling
  with the same repr carries its number: `cache[{"nan"}2]`.
* The root is the empty path.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

from viewer.checkpoint.nodes import Key, NodeTable, OtherKey
from viewer.errors import BadPath

_BRACKETED = re.compile(
    r"""\[(?:
        (?P<int>-?[0-9]+)
      | (?P<str>"(?:[^"\\]|\\.)*")
      | \{(?P<other>"(?:[^"\\]|\\.)*")\}(?P<nth>[0-9]*)
    )\]""",
    re.VERBOSE | re.DOTALL,
)
_BARE = re.compile(r"[^/\[\]\"\\]+")
_UNSAFE = re.compile(r'[/\[\]"\\]')


def format_key(key: Key) -> str:
    """One key as it stands in a path, without the separating slash; bracketed keys begin with "["."""
    if isinstance(key, str):
        if key and not _UNSAFE.search(key) and key.isprintable() and key == key.strip():
            return key
        return f"[{_quote(key)}]"
    if isinstance(key, OtherKey):
        return f"[{{{_quote(key.text)}}}{key.nth if key.nth > 1 else ''}]"
    return f"[{key}]"


def format_path(keys: Iterable[Key]) -> str:
    """The path string of a sequence of keys."""
    parts: list[str] = []
    for key in keys:
        text = format_key(key)
        if parts and not text.startswith("["):
            parts.append("/")
        parts.append(text)
    return "".join(parts)


def parse_path(path: str) -> tuple[Key, ...]:
    """The keys that `format_path` made `path` from.

    Raises
    ------
    BadPath
        When `path` does not follow the rules; the message says at which character.
    """
    keys: list[Key] = []
    at = 0
    while at < len(path):
        if path[at] == "[":
            match = _BRACKETED.match(path, at)
            if match is None:
                raise _bad(path, at, 'expected [number], ["text"] or [{"repr"}]')
            keys.append(_bracketed_key(path, at, match))
            at = match.end()
            continue
        if keys:
            if path[at] != "/":
                raise _bad(path, at, 'expected "/" or "["')
            at += 1
        match = _BARE.match(path, at)
        if match is None:
            raise _bad(path, at, "expected a key")
        keys.append(match.group())
        at = match.end()
    return tuple(keys)


def resolve_path(nodes: NodeTable, path: str) -> int:
    """The number of the node at `path`.

    Raises
    ------
    BadPath
        When the path cannot be parsed, or a key is not there; the message names the nearest keys.
    """
    node = 0
    walked: list[Key] = []
    for key in parse_path(path):
        found = next((child for child in nodes.children(node) if _same(nodes.key[child], key)), None)
        if found is None:
            there = [format_key(nodes.key[child]) for child in nodes.children(node)[:5]]
            listed = ", ".join(there) + (" …" if nodes.n_children[node] > len(there) else "")
            where = format_path(walked) or "the root"
            raise BadPath(
                f"nothing is at {path!r}: {where} has no {format_key(key)}",
                advice=f"It holds {listed}" if there else "It holds nothing",
            )
        node = found
        walked.append(key)
    return node


def _same(left: Key, right: Key) -> bool:
    return type(left) is type(right) and left == right


def _quote(text: str) -> str:
    return json.dumps(text, ensure_ascii=not text.isprintable())


def _bracketed_key(path: str, at: int, match: re.Match[str]) -> Key:
    if (number := match["int"]) is not None:
        if len(number) > 4000:  # Python refuses longer ones (sys.get_int_max_str_digits), and so do we, in words
            raise _bad(path, at, "a number of more than 4,000 digits")
        return int(number)
    try:
        if match["str"] is not None:
            return str(json.loads(match["str"]))
        return OtherKey(str(json.loads(match["other"])), int(match["nth"][:18] or 1))
    except ValueError as error:
        raise _bad(path, at, "the quoted text is not a JSON string") from error


def _bad(path: str, at: int, expected: str) -> BadPath:
    return BadPath(f"{path!r} is not a path: at character {at + 1}, {expected}")
