"""A canonical safetensors file as a sequence of bytes (docs/canonical-format.md, section 5)."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from viewer.checkpoint.nodes import Key, OtherKey
from viewer.checkpoint.paths import format_path
from viewer.errors import LimitExceeded
from viewer.export.findings import Findings
from viewer.export.order import sort_key
from viewer.export.record_bytes import RecordSource
from viewer.export.selection import METADATA
from viewer.export.tree_json import json_text, tree_json
from viewer.export.values import CallValue, DictValue, ListValue, Record, SetValue, StorageValue, TensorValue, Value
from viewer.export.zip_writer import Buffer
from viewer.formats.canonical_tree import TREE_KEY
from viewer.formats.limits import LIMITS

ALIGNMENT: Final = 64


@dataclass(slots=True)
class SafetensorsFile:
    """A file ready to be written.

    Attributes
    ----------
    head
        Its length and header.
    records
        In the order of the data.
    """

    head: bytes
    records: list[Record]

    @property
    def nbytes(self) -> int:
        return len(self.head) + sum(record.nbytes for record in self.records)

    def stream(self, source: RecordSource) -> Iterator[Buffer]:
        """All bytes, piece by piece."""
        yield self.head
        for record in self.records:
            if not source.keeps_sums:
                yield from source.chunks(record)
                continue
            crc = 0
            for chunk in source.chunks(record):
                crc = zlib.crc32(chunk, crc)
                yield chunk
            source.check_sum(record, crc)


def fitted(root: Value, findings: Findings, *, drop: bool) -> Value:
    """The content without what the format cannot hold: an obstacle each, or dropped."""
    if not _Fitting(findings, drop).fits(root):
        return None
    return root


def safetensors_file(root: Value, findings: Findings) -> SafetensorsFile:
    """The file of a content that `fitted` has gone through."""
    metadata = {"format": "pt"}
    root, texts = _without_metadata(root)
    metadata.update(texts)
    named = _Naming()
    named.walk(root, [])
    entries = [(name, record) for name, record in named.entries]
    entries.sort(key=_place)
    if not _says_itself(root, named.names):
        metadata[TREE_KEY] = tree_json(root, named.names)
    for name, path in named.others:
        findings.add_whole(
            "changed", f"{path} is the same tensor as {name}: other programs find it under that name only"
        )
    head = _head(metadata, entries)
    if len(head) - 8 > LIMITS.header_nbytes:
        raise LimitExceeded(
            f"the header would have {len(head) - 8:,} bytes; the format allows {LIMITS.header_nbytes:,}",
            advice="Write .pth, or select a part",
        )
    return SafetensorsFile(head, [record for _, record in entries])


class _Fitting:
    def __init__(self, findings: Findings, drop: bool) -> None:
        self._findings = findings
        self._drop = drop
        self._seen: dict[int, bool] = {}

    def fits(self, value: Value) -> bool:
        """Whether a value can stand there; what is in it and cannot is said, and taken out where that was asked."""
        if isinstance(value, (TensorValue, StorageValue)):
            known = self._seen.get(id(value))
            if known is None:
                known = self._seen[id(value)] = self._judge(value)
            return known
        if isinstance(value, (ListValue, DictValue, SetValue, CallValue, tuple)) and id(value) not in self._seen:
            self._seen[id(value)] = True
            self._look_into(value)
        return True

    def _look_into(self, value: Value) -> None:
        if isinstance(value, ListValue):
            value.items = self._items(value.items)
        elif isinstance(value, DictValue):
            value.pairs = self._pairs(value.pairs)
        elif isinstance(value, CallValue):
            self._items(value.args)
            value.items = None if value.items is None else self._items(value.items)
            value.pairs = None if value.pairs is None else self._pairs(value.pairs)
            for state in value.states:
                self.fits(state)
        else:
            self._items(value.members if isinstance(value, SetValue) else value)

    def _items(self, items: list[Value] | tuple[Value, ...]) -> list[Value]:
        kept = []
        for nth, item in enumerate(items):
            self._findings.keys.append(nth)
            kept.append(item if self.fits(item) else None)
            self._findings.keys.pop()
        return kept

    def _pairs(self, pairs: list[tuple[Value, Value]]) -> list[tuple[Value, Value]]:
        kept = []
        for key, item in pairs:
            self._findings.keys.append(_key(key))
            if self.fits(item):
                kept.append((key, item))
            self._findings.keys.pop()
        return kept

    def _judge(self, value: Value) -> bool:
        if isinstance(value, StorageValue):
            what = "a storage by itself"
        elif not value.is_plain:
            what = "a tensor that is " + _kind(value)
        elif not value.dtype.safetensors:
            what = f"a tensor of {value.dtype.name}"
        elif value.dtype.name == "float4_e2m1fn_x2" and not value.shape:
            what = "a scalar of a packed dtype"
        else:
            return True
        self._findings.add("dropped" if self._drop else "cannot", f"{what}, which safetensors cannot hold")
        return False


def _kind(value: TensorValue) -> str:
    if value.quantizer is not None:
        return "quantized"
    if value.layout != "strided":
        return "of device meta, without values" if value.layout == "meta" else value.layout
    return "of a class of its own" if value.subclass is not None else "given attributes"


class _Naming:
    """Names for records, by where they are first met.

    Attributes
    ----------
    names
        By id of a record.
    entries
        Names and records, in the order of the tree.
    others
        (name, path) of further places of a tensor.
    """

    def __init__(self) -> None:
        self.names: dict[int, str] = {}
        self.entries: list[tuple[str, Record]] = []
        self.others: list[tuple[str, str]] = []
        self._taken: set[str] = {METADATA}
        self._seen: set[int] = set()

    def walk(self, value: Value, keys: list[Key]) -> None:
        if isinstance(value, TensorValue):
            self._tensor(value, keys)
        elif isinstance(value, (ListValue, DictValue, SetValue, CallValue, tuple)) and id(value) not in self._seen:
            self._seen.add(id(value))
            self._below(value, keys)

    def _below(self, value: Value, keys: list[Key]) -> None:
        if isinstance(value, (ListValue, SetValue, tuple)):
            items = (
                value if isinstance(value, tuple) else value.items if isinstance(value, ListValue) else value.members
            )
            for nth, item in enumerate(items):
                self.walk(item, [*keys, nth])
            return
        if isinstance(value, CallValue):
            for nth, item in enumerate(value.args):
                self.walk(item, [*keys, OtherKey(".args"), nth])
            for nth, item in enumerate(value.items or ()):
                self.walk(item, [*keys, nth])
        for key, item in value.pairs or ():
            self.walk(item, [*keys, _key(key)])
        if isinstance(value, CallValue):
            for state in value.states:
                self.walk(state, keys)

    def _tensor(self, value: TensorValue, keys: list[Key]) -> None:
        record = value.record
        assert record is not None
        path = keys[0] if len(keys) == 1 and isinstance(keys[0], str) else format_path(keys)
        if id(record) in self.names:
            self.others.append((self.names[id(record)], path))
            return
        name, nth = _sound(path) or "tensor", 1
        base = name
        while name in self._taken:
            nth += 1
            name = f"{base}#{nth}"
        self._taken.add(name)
        self.names[id(record)] = name
        self.entries.append((name, record))


def _sound(name: str) -> str:
    """A name that is Unicode text: lone surrogates become U+FFFD."""
    return name if name.isascii() else name.encode("utf-8", "replace").decode("utf-8")


def _key(key: Value) -> Key:
    if isinstance(key, str) or type(key) is int:
        return key
    return OtherKey(repr(key) if isinstance(key, (bool, float, type(None))) else f"<{type(key).__name__}>")


def _place(entry: tuple[str, Record]) -> tuple[int, bytes]:
    name, record = entry
    return -record.dtype.itemsize, name.encode("utf-8")


def _without_metadata(root: Value) -> tuple[Value, dict[str, str]]:
    """The root without a `__metadata__` dict of texts, and these texts."""
    if not isinstance(root, DictValue):
        return root, {}
    for key, item in root.pairs:
        if key == METADATA and isinstance(item, DictValue) and item.pairs:
            texts = {name: text for name, text in item.pairs if isinstance(name, str) and isinstance(text, str)}
            if len(texts) == len(item.pairs) and not {"format", TREE_KEY} & texts.keys():
                rest = [pair for pair in root.pairs if pair[0] != METADATA]
                return DictValue(rest), dict(sorted(texts.items(), key=lambda pair: sort_key(pair[0])))
    return root, {}


def _says_itself(root: Value, names: dict[int, str]) -> bool:
    """Whether a reader makes the same content of the header alone: a dict of plain tensors, sorted by name."""
    if not isinstance(root, DictValue):
        return False
    keys = []
    for key, item in root.pairs:
        if not isinstance(key, str) or not isinstance(item, TensorValue) or item.requires_grad or item.parameter:
            return False
        if names[id(item.record)] != key:
            return False
        keys.append(key.encode("utf-8", "surrogatepass"))
    return keys == sorted(set(keys))


def _head(metadata: dict[str, str], entries: list[tuple[str, Record]]) -> bytes:
    offsets: dict[str, str] = {}
    at = 0
    for name, record in entries:
        shape = record.shape
        if record.dtype.name == "float4_e2m1fn_x2":
            # The format counts the 4-bit values, torch their pairs.
            shape = (*shape[:-1], 2 * shape[-1])
        listed = ",".join(map(str, shape))
        end = at + record.nbytes
        offsets[name] = f'{{"data_offsets":[{at},{end}],"dtype":"{record.dtype.safetensors}","shape":[{listed}]}}'
        at = end
    texts = ",".join(f"{json_text(name)}:{json_text(text)}" for name, text in metadata.items())
    parts = [f'"{METADATA}":{{{texts}}}']
    parts += [f"{json_text(name)}:{offsets[name]}" for name in sorted(offsets, key=str.encode)]
    header = ("{" + ",".join(parts) + "}").encode("utf-8", "surrogatepass")
    header += b" " * (-(8 + len(header)) % ALIGNMENT)
    return len(header).to_bytes(8, "little") + header
