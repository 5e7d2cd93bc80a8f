"""Small questions about the objects of a graph, and the values made of them."""

from __future__ import annotations

from viewer.checkpoint.nodes import Key, OtherKey
from viewer.export.values import CallValue, NameValue, Value
from viewer.formats.pickle.standins import ScalarStandIn, SequenceStandIn


def bytearray_value(raw: bytes) -> CallValue:
    """A bytearray."""
    return CallValue(NameValue("builtins", "bytearray"), (raw.decode("latin-1"), "latin-1"))


def with_article(name: str) -> str:
    """A name with "a" or "an" before it."""
    return f"{'an' if name[:1].lower() in 'aeio' else 'a'} {name}"


def pairs_of(given: object) -> list[tuple[object, object]] | None:
    """The entries of what a mapping was made from; None where that is no mapping."""
    if given is None:
        return []
    if isinstance(given, dict):
        return list(given.items())
    entries = entries_of(given) if isinstance(given, (list, tuple, SequenceStandIn)) else None
    if entries is None or not all(isinstance(pair, (list, tuple)) and len(pair) == 2 for pair in entries):
        return None
    return [(pair[0], pair[1]) for pair in entries if isinstance(pair, (list, tuple))]


def entries_of(given: object) -> list[object]:
    """The items of what a sequence was made from."""
    if isinstance(given, (list, tuple, set, frozenset, dict)):
        return list(given)
    if isinstance(given, SequenceStandIn):
        return [*entries_of(given.given), *(given.items or ())]
    return [] if given is None else [given]


def key_identity(key: Value) -> object:
    """What tells keys apart as a dict does, without hashing anything at length."""
    if isinstance(key, (bool, int, float, complex)):
        return key
    return key if isinstance(key, (str, bytes)) else ("id", id(key))


def shown_key(key: object) -> Key:
    """A dict key as a path shows it."""
    if isinstance(key, (str, OtherKey)) or type(key) is int:
        return key
    return OtherKey(f"<{type(key).__name__}>" if not isinstance(key, (bool, float, type(None))) else repr(key))


def layout_value(name: str) -> CallValue:
    """A `torch.layout`, by its name with or without "torch."."""
    made_by = NameValue("torch.serialization", "_get_layout")
    return CallValue(made_by, (f"torch.{name.removeprefix('torch.')}",), immutable=True)


def scalar_value(item: ScalarStandIn) -> Value | None:
    """Bytes, devices and layouts; None for a value of which the graph has the text alone."""
    if isinstance(item.value, bytes) and item.type_name == "bytes":
        return item.value
    if isinstance(item.value, bytes) and item.type_name == "bytearray":
        return bytearray_value(item.value)
    if item.type_name == "torch.device":
        kind, _, index = item.text.partition(":")
        args = (kind, int(index)) if index else (kind,)
        return CallValue(NameValue("torch", "device"), args, immutable=True)
    return layout_value(item.text) if item.type_name == "torch.layout" else None
