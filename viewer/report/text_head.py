"""The lines above a tree: which file this is, what is in it, and what can be said about its safety."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.dtypes import DTYPES
from viewer.checkpoint.nodes import Kind
from viewer.checkpoint.tensors import CHUNKED, NO_STORAGE, numel_of
from viewer.report.extract import nearby_path
from viewer.report.wording import padded, plural, printable, shortened, size_text, whole_number

_TITLE_WIDTH: Final = 20
_NAMED_AT_MOST: Final = 20


def head_lines(checkpoint: Checkpoint) -> Iterator[str]:
    """Lines without line feeds."""
    yield printable(str(checkpoint.path))
    for title, text in _facts(checkpoint):
        yield f"  {padded(title, _TITLE_WIDTH)}{text}"
    yield from _unusual_globals(checkpoint)


def _facts(checkpoint: Checkpoint) -> Iterator[tuple[str, str]]:
    yield "container", printable(checkpoint.container)
    files = f" in {plural(len(checkpoint.files), 'file')}" if len(checkpoint.files) > 1 else ""
    yield "size", size_text(checkpoint.nbytes) + files
    for title, text in checkpoint.facts.items():
        yield shortened(printable(title), _TITLE_WIDTH - 1), shortened(printable(text), 200)
    numel = nbytes = 0
    tensors = checkpoint.tensors
    for number, (dtype_code, shape) in enumerate(zip(tensors.dtype, tensors.shape, strict=True)):
        if tensors.storage[number] == NO_STORAGE and tensors.extra.get(number, {}).get("device") != "meta":
            continue  # sparse, nested, a wrapper: its elements are those of its parts, which are tensors too
        count = numel_of(shape)
        numel += count
        nbytes += count * DTYPES[dtype_code].itemsize
    yield "tensors", f"{whole_number(len(checkpoint.tensors))}, of {plural(numel, 'element')}"
    nodes = checkpoint.nodes
    names = Counter(value for kind, value in zip(nodes.kind, nodes.value, strict=True) if kind == Kind.TENSOR)
    tied = [count for count in names.values() if count > 1]
    if tied:
        yield "shared tensors", f"{whole_number(len(tied))}, under {plural(sum(tied), 'name')}"
    yield "bytes of tensors", size_text(nbytes)
    storages = checkpoint.storages
    # The bytes of a tensor in pieces are those of its pieces, which are storages too.
    own = [nbytes for nbytes, encoding in zip(storages.nbytes, storages.encoding, strict=True) if encoding != CHUNKED]
    users = Counter(checkpoint.tensors.storage)
    shared = [count for storage, count in users.items() if count > 1 and storage != NO_STORAGE]
    sharing = f"; {whole_number(len(shared))} shared by {plural(sum(shared), 'tensor')}" if shared else ""
    yield "storages", f"{whole_number(len(own))}, of {size_text(sum(own))}{sharing}"
    yield "safety", f"nothing was executed; {_named(checkpoint)}"


def _named(checkpoint: Checkpoint) -> str:
    if not checkpoint.globals:
        return "the file names no classes or functions"
    unusual = sum(not use.harmless for use in checkpoint.globals)
    known = f"{whole_number(unusual)} of them not known to be harmless" if unusual else "all known to be harmless"
    number = len(checkpoint.globals)
    named = "1 class or function" if number == 1 else f"{whole_number(number)} classes or functions"
    return f"the file names {named}, {known}"


def _unusual_globals(checkpoint: Checkpoint) -> Iterator[str]:
    unusual = [use for use in checkpoint.globals if not use.harmless]
    for use in unusual[:_NAMED_AT_MOST]:
        times = f" ({whole_number(use.count)} times)" if use.count > 1 else ""
        yield f"  {'':{_TITLE_WIDTH}}{shortened(printable(use.dotted), 120)}{times}{_place(checkpoint, use.node)}"
    if len(unusual) > _NAMED_AT_MOST:
        yield f"  {'':{_TITLE_WIDTH}}… and {whole_number(len(unusual) - _NAMED_AT_MOST)} more (all with --json)"


def _place(checkpoint: Checkpoint, node: int) -> str:
    """Where the tree shows it first."""
    path = nearby_path(checkpoint, node) if node >= 0 else None
    if path is None:
        return ""
    return f", first at {shortened(printable(path), 100)}" if path else ", at the root"
