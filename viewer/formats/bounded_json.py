"""JSON beside a checkpoint (a shard index, a trainer's state): read with bounds, shown as rows."""

from __future__ import annotations

import json
from typing import Final

from viewer.checkpoint.nodes import Kind
from viewer.errors import LimitExceeded, MalformedFile, NotACheckpoint
from viewer.formats.byte_source import ByteSource
from viewer.formats.compose import Branch, Leaf, Twig

MAX_JSON_NBYTES: Final = 16 << 20
"""The index of a model with 90,000 tensors has 9 MB; and "[]," costs twenty times its length once it is parsed."""

_MAX_DEPTH: Final = 100


def read_json(source: ByteSource) -> object:
    """Parse a whole file.

    Raises
    ------
    MalformedFile, LimitExceeded
        When it is no JSON, or larger or deeper than what this is for.
    """
    if source.nbytes > MAX_JSON_NBYTES:
        raise LimitExceeded(
            f"it has {source.nbytes:,} bytes; JSON of up to {MAX_JSON_NBYTES:,} is read", path=source.path
        )
    try:
        # As text: given bytes, json guesses among UTF-8, 16 and 32, of which JSON files are the first (RFC 8259).
        text = source.read(0, source.nbytes).removeprefix(b"\xef\xbb\xbf").decode("utf-8")
        value: object = json.loads(text)
    except RecursionError as error:
        raise LimitExceeded("the JSON is nested too deeply", path=source.path) from error
    except json.JSONDecodeError as error:
        raise MalformedFile(f"it is not JSON ({error})", path=source.path, advice="Fetch it again") from error
    except UnicodeDecodeError as error:
        raise MalformedFile(
            f"it is not JSON (no UTF-8 at byte {error.start:,})", path=source.path, advice="Fetch it again"
        ) from error
    except ValueError as error:  # Python's own limit (sys.set_int_max_str_digits): conversion is quadratic
        raise LimitExceeded("it holds a number of thousands of digits", path=source.path) from error
    return value


def read_json_object(source: ByteSource) -> dict[str, object]:
    """As `read_json`, for a file that must hold an object; NotACheckpoint otherwise."""
    value = read_json(source)
    if not isinstance(value, dict):
        raise NotACheckpoint("the JSON in it is no object", path=source.path)
    return value


def json_twig(value: object, depth: int = 0) -> Twig:
    """Rows for a JSON value."""
    if depth > _MAX_DEPTH:
        return Leaf.problem(f"nested more than {_MAX_DEPTH} levels deep: not shown")
    if isinstance(value, dict):
        return Branch({key: json_twig(item, depth + 1) for key, item in value.items()}, "dict", Kind.MAPPING)
    if isinstance(value, list):
        return Branch({nth: json_twig(item, depth + 1) for nth, item in enumerate(value)}, "list", Kind.SEQUENCE)
    return Leaf(Kind.SCALAR, type(value).__name__, value)
