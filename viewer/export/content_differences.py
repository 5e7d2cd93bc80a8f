"""What differs between two contents, told by their canonical forms: in a few sentences, not value by value."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from viewer.export.canonical import Prepared
from viewer.export.digest import tensor_digests_task
from viewer.export.order import pairs_in_order
from viewer.export.pickle_writer import write_pickle
from viewer.export.record_bytes import RecordSource
from viewer.export.streams import hash_task
from viewer.export.values import CallValue, DictValue, TensorValue, Value, children_of, tensors_in
from viewer.task import Task

_NAMED: Final = 3


@dataclass(slots=True)
class ContentDifferences:
    """Of two contents.

    Attributes
    ----------
    digests
        The name of either; "" where it cannot be made.
    same_tensors
        Paths of tensors whose elements are equal, bit by bit, in both.
    """

    digests: tuple[str, str] = ("", "")
    same_tensors: set[str] = field(default_factory=set)
    sentences: list[str] = field(default_factory=list)


def content_differences_task(a: Prepared | None, b: Prepared | None) -> Task[ContentDifferences]:
    """Compare two contents; None for one that has no canonical form."""
    found = ContentDifferences()
    if a is None or b is None:
        found.sentences.append("of one file no canonical form can be made, so the contents are not compared")
        return found
    digests = []
    hashes: list[dict[str, tuple[str, str]]] = []
    for ready in (a, b):
        with RecordSource(ready.checkpoint) as source:
            digests.append((yield from hash_task(ready.stream(source), ready.nbytes, share=2)))
            listed = yield from tensor_digests_task(ready, source)
            hashes.append({one.path: (f"{one.dtype} {one.shape}", one.sha256) for one in listed})
    found.digests = digests[0], digests[1]
    left, right = hashes
    found.same_tensors = {path for path in left.keys() & right.keys() if left[path] == right[path]}
    if digests[0] != digests[1]:
        found.sentences += _sentences(a, b, left, right)
    return found


def _sentences(
    a: Prepared, b: Prepared, left: dict[str, tuple[str, str]], right: dict[str, tuple[str, str]]
) -> list[str]:
    """What to say, by path: dtype with shape, and SHA-256, of either side's tensors."""
    sentences = []
    if a.pickle != b.pickle and _sorted_pickle(a.root) == _sorted_pickle(b.root):
        sentences.append("the order of keys differs, and nothing else in the structure")
    both = left.keys() & right.keys()
    for what, paths in (
        ("only the first file has", [path for path in left if path not in right]),
        ("only the second file has", [path for path in right if path not in left]),
        ("shape or dtype differs:", [path for path in left if path in both and left[path][0] != right[path][0]]),
        (
            "values differ:",
            [path for path in left if path in both and left[path][0] == right[path][0] and left[path] != right[path]],
        ),
    ):
        if paths:
            sentences.append(f"{what} {_listed(paths)}")
    sentences += _structure(a.root, b.root) if a.pickle != b.pickle else []
    return sentences or ["the structure differs (values, types or attributes beside the tensors)"]


def _structure(a: Value, b: Value) -> Iterator[str]:
    flags_a = [(value.parameter, value.requires_grad) for value in tensors_in(a)]
    flags_b = [(value.parameter, value.requires_grad) for value in tensors_in(b)]
    if len(flags_a) == len(flags_b) and flags_a != flags_b:
        count = sum(one != other for one, other in zip(flags_a, flags_b, strict=True))
        yield f"{count:,} tensors differ in requires_grad or in being a Parameter"
    if _attributes(a) != _attributes(b):
        yield "attributes of dicts (_metadata of a state_dict) differ"


def _attributes(root: Value) -> list[bytes]:
    """The attributes of all OrderedDicts, each as the pickle of itself alone."""
    found = []
    seen: set[int] = set()
    stack = [root]
    while stack:
        value = stack.pop()
        if value is None or isinstance(value, (str, int, float, bytes, complex, TensorValue)) or id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, CallValue) and value.pairs is not None:
            found += [write_pickle(state)[0] for state in value.states]
        stack.extend(reversed(list(children_of(value))))
    return found


def _sorted_pickle(root: Value) -> bytes:
    """The pickle with all dicts sorted; the value itself is left as it is."""
    copies: dict[int, Value] = {}
    return write_pickle(_sorted_copy(root, copies))[0]


def _sorted_copy(value: Value, copies: dict[int, Value]) -> Value:
    if isinstance(value, tuple):
        return tuple(_sorted_copy(item, copies) for item in value)
    if not hasattr(value, "pairs") and not hasattr(value, "items"):
        return value
    if isinstance(value, dict) or id(value) in copies:
        return copies.get(id(value), value)
    if isinstance(value, DictValue):
        made = copies[id(value)] = DictValue()
        made.pairs = pairs_in_order((key, _sorted_copy(item, copies)) for key, item in value.pairs)
        return made
    if isinstance(value, CallValue):
        call = copies[id(value)] = CallValue(
            value.function, value.args, value.kwargs, value.is_new, value.immutable, value.items
        )
        if value.pairs is not None:
            call.pairs = pairs_in_order((key, _sorted_copy(item, copies)) for key, item in value.pairs)
        call.states = [_sorted_copy(state, copies) for state in value.states]
        return call
    listed = copies[id(value)] = type(value)()
    listed.items = [_sorted_copy(item, copies) for item in value.items]
    return listed


def _listed(paths: list[str]) -> str:
    shown = ", ".join(path or "the root" for path in paths[:_NAMED])
    return shown if len(paths) <= _NAMED else f"{shown} and {len(paths) - _NAMED:,} more"
