"""A checkpoint as JSON, written piece by piece: a million entries never stand in memory together.

    {"file", "container", "nbytes", "facts", "globals", "global_details", "entries": [...], "warnings": [...]}

Every node is an entry, in tree order, the root first:

* `path`, and the same as a list in `keys` (see `viewer.checkpoint.paths` and `json_values.json_key`);
* `kind`: "tensor", "storage", "link", "problem", or the name of the node's type ("dict", "int", "net.TinyNet");
* `category`: which kind of node it is in our own table (`viewer.checkpoint.nodes.Kind`), in lower case;
* of a tensor `type` ("tensor", "Parameter" …), `dtype`, `shape`, `stride`, `storage_offset`, `numel`, `nbytes` (of
  its elements), `device` (the tag in the file), `requires_grad`, `layout`, `storage` and `storage_nbytes` (of its
  storage the key and size) and, where there is any, `extra`; with measures `stats`, with elements `values`;
* of a leaf `value`; of a link `target`, the path that shows the same object (null where that is too deep to name);
* `problem`, where something cannot be read or not all below is listed.

Of a name that is not known to be harmless `path` in `global_details` is the first entry that shows an instance of it
or the name itself, null where none does.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from functools import lru_cache

from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.dtypes import DTYPES
from viewer.checkpoint.nodes import Kind
from viewer.checkpoint.paths import format_key
from viewer.checkpoint.tensors import NO_STORAGE, TensorFlag, numel_of
from viewer.errors import FileChanged, ViewerError
from viewer.report.extract import MAX_LEVELS, TOO_DEEP, Extract, ProblemTally, nearby_path
from viewer.report.json_values import json_key, json_list, json_object, json_string, json_value
from viewer.report.measures import ElementReader
from viewer.report.statistics import summary_fields

_CATEGORY = {int(kind): kind.name.lower() for kind in Kind}
_OWN_KIND = {Kind.TENSOR: "tensor", Kind.STORAGE: "storage", Kind.LINK: "link", Kind.PROBLEM: "problem"}
_WITH_VALUE = frozenset({Kind.SCALAR, Kind.REFERENCE, Kind.TEXT})


def iter_json(extract: Extract) -> Iterator[str]:
    """Pieces of the JSON text, one per entry at most some MB each; together they end in a line feed."""
    tally = ProblemTally(extract)
    yield _head(extract.checkpoint)
    separator = "\n"
    with ElementReader(extract.checkpoint, extract.device) as elements:
        for node, path, keys, problem in _walk(extract.checkpoint, extract.root):
            yield f'{separator}{{"path": {json_string(path)}, "keys": [{keys}]'
            yield from _entry(extract, node, problem, elements, tally)
            separator = "},\n"
    yield f'}}\n],\n"warnings": {json_list(map(json_string, tally.sentences()))}\n}}\n'


def _head(checkpoint: Checkpoint) -> str:
    named = sorted(checkpoint.globals, key=lambda use: (use.module, use.name))
    details = [
        json_object(
            {
                "module": json_string(use.module),
                "name": json_string(use.name),
                "harmless": json_value(use.harmless),
                "count": json_value(use.count),
                "path": json_value(nearby_path(checkpoint, use.node) if use.node >= 0 else None),
            }
        )
        for use in named
    ]
    fields = {
        "file": json_string(str(checkpoint.path)),
        "container": json_string(checkpoint.container),
        "nbytes": json_value(checkpoint.nbytes),
        "files": json_value([str(facts.path) for facts in checkpoint.files]),
        "facts": json_value(checkpoint.facts),
        "globals": json_list(json_string(use.dotted) for use in named),
        "global_details": json_list(details),
    }
    lines = [f"{json_string(name)}: {text},\n" for name, text in fields.items()]
    return "{\n" + "".join(lines) + '"entries": ['


def _walk(checkpoint: Checkpoint, root: int) -> Iterator[tuple[int, str, str, str | None]]:
    """Nodes in tree order with their path, the inside of their JSON list of keys, and why not all below is listed.

    Path and keys grow from the parent's, so a node costs its own key and not its depth.
    """
    nodes = checkpoint.nodes
    keys = ", ".join(map(json_key, nodes.keys_to(root)))
    path = checkpoint.path_of(root)
    yield root, path, keys, None
    stack = [(iter(nodes.children(root)), path, keys)]
    while stack:
        children, above, keys_above = stack[-1]
        node = next(children, None)
        if node is None:
            stack.pop()
            continue
        key = nodes.key[node]
        text = format_key(key)
        path = f"{above}/{text}" if above and not text.startswith("[") else above + text
        keys = f"{keys_above}, {json_key(key)}" if keys_above else json_key(key)
        below = nodes.children(node)
        too_deep = bool(below) and len(stack) >= MAX_LEVELS
        yield node, path, keys, TOO_DEEP if too_deep else None
        if below and not too_deep:
            stack.append((iter(below), path, keys))


def _entry(
    extract: Extract, node: int, problem: str | None, elements: ElementReader, tally: ProblemTally
) -> Iterator[str]:
    """The fields of an entry after its keys, each led by a comma."""
    checkpoint = extract.checkpoint
    nodes = checkpoint.nodes
    kind = nodes.kind[node]
    value = nodes.value[node]
    type_name = json_string(nodes.types[nodes.type_id[node]])
    own = _OWN_KIND.get(Kind(kind))
    yield f', "kind": {type_name if own is None else json_string(own)}, "category": "{_CATEGORY[kind]}"'
    problem = extract.problem_of(node) or problem
    if kind == Kind.TENSOR:
        assert isinstance(value, int)
        yield f', "type": {type_name}{_tensor_fields(checkpoint, value)}'
        if extract.measures is not None:
            summary = extract.measures.summaries.get(value)
            fields = "null" if summary is None else json_value(summary_fields(summary))
            yield f', "stats": {fields}'
        if extract.n_elements is not None:
            problem = (yield from _elements(elements, value, extract.n_elements)) or problem
    elif kind == Kind.STORAGE:
        assert isinstance(value, int)
        storage = checkpoint.storage(value)
        yield (
            f', "type": {type_name}, "dtype": "{storage.dtype.name}", "nbytes": {storage.nbytes}'
            f', "device": {json_string(storage.location)}, "storage": {json_string(storage.key)}'
        )
    elif kind == Kind.LINK:
        assert isinstance(value, int)
        yield f', "target": {json_value(nearby_path(checkpoint, value))}'
    elif kind in _WITH_VALUE or (value is not None and kind != Kind.PROBLEM):
        yield f', "value": {json_value(value)}'
    if problem is not None:
        tally.add(node, problem)
        yield f', "problem": {json_string(problem)}'


def _tensor_fields(checkpoint: Checkpoint, number: int) -> str:
    """Read from the columns and not through a TensorRef: a file may have a hundred thousand tensors."""
    tensors = checkpoint.tensors
    storage = tensors.storage[number]
    if storage == NO_STORAGE:
        device, storage_key, size = checkpoint.tensor(number).device, "null", "null"
    else:
        device, storage_key = checkpoint.storages.location[storage], json_string(checkpoint.storages.key[storage])
        size = str(checkpoint.storages.nbytes[storage])
    extra = tensors.extra.get(number)
    return (
        f"{_geometry(tensors.dtype[number], tensors.shape[number], tensors.stride[number])}"
        f', "storage_offset": {tensors.storage_offset[number]}, "device": {json_string(device)}'
        f', "requires_grad": {json_value(bool(tensors.flags[number] & TensorFlag.REQUIRES_GRAD))}'
        f', "layout": {json_string(tensors.layout.get(number, "strided"))}, "storage": {storage_key}'
        f', "storage_nbytes": {size}' + (f', "extra": {json_value(extra)}' if extra else "")
    )


@lru_cache(maxsize=4096)
def _geometry(dtype_code: int, shape: tuple[int, ...], stride: tuple[int, ...]) -> str:
    """The fields that follow from these; a large file has many tensors and few different shapes."""
    dtype = DTYPES[dtype_code]
    numel = numel_of(shape)
    return (
        f', "dtype": "{dtype.name}", "shape": {json_value(shape)}, "stride": {json_value(stride)}'
        f', "numel": {json_value(numel)}, "nbytes": {json_value(numel * dtype.itemsize)}'
    )


def _elements(reader: ElementReader, number: int, count: int) -> Generator[str, None, str | None]:
    """The field `values`; returns the problem where they end early.

    What is written stays written: where reading fails half-way the list is closed and the problem stands beside it.
    """
    yield ', "values": ['
    separator = ""
    problem: str | None = None
    try:
        for elements in reader.iter_first(number, count):
            yield separator + ", ".join(map(json_value, elements))
            separator = ", "
    except FileChanged:
        raise
    except ViewerError as error:
        problem = error.fault
    yield "]"
    return problem
