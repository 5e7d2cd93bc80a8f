"""A model in several files with an index (`model.safetensors.index.json`, `pytorch_model.bin.index.json`).

The index is JSON: {"metadata": {"total_size": …}, "weight_map": {name: file}} (transformers,
`modeling_utils.shard_checkpoint`). It is shown as one flat state_dict. Index and shards can disagree, and each
disagreement stands on the row that it concerns. A shard is looked for in the index's own folder only: an index that
points elsewhere is refused name by name.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.dtypes import DTYPES
from viewer.checkpoint.nodes import Key, Kind
from viewer.checkpoint.tensors import numel_of
from viewer.errors import LimitExceeded, MalformedFile, ViewerError
from viewer.formats.bounded_json import read_json_object
from viewer.formats.compose import Branch, Composer, Graft, Leaf, Twig
from viewer.formats.folders import INDEX_SUFFIX, leaves_folder, some
from viewer.formats.limits import Limits
from viewer.formats.safetensors import METADATA
from viewer.formats.sniff import HEAD_NBYTES
from viewer.formats.source import FileSource
from viewer.task import Progress, Task

_NO_FILE: Final = "\0"  # no name of a file can be this
_MAX_SHARDS: Final = 10_000  # the largest models have some hundreds
_WEIGHT_MAP: Final = re.compile(rb'"weight_map"\s*:')
_SHARD_SUFFIXES: Final = (".safetensors", ".bin", ".pt", ".pth")


class IndexReader:
    """Opens an index file as the checkpoint that it describes."""

    name = "sharded checkpoint"

    def sniff(self, head: bytes, source: FileSource) -> bool:
        starts = head.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"{"
        return starts and (source.path.name.endswith(INDEX_SUFFIX) or _WEIGHT_MAP.search(head) is not None)

    def read(self, source: FileSource, limits: Limits) -> Task[Checkpoint]:
        return (yield from _sharded_task(source, limits))


def _sharded_task(source: FileSource, limits: Limits) -> Task[Checkpoint]:
    index = read_json_object(source)
    listed = index.get("weight_map")
    if not isinstance(listed, dict) or (listed and not any(isinstance(shard, str) for shard in listed.values())):
        raise MalformedFile(
            "this index has no weight_map from names to files", path=source.path, advice="Fetch it again"
        )
    weight_map = {name: shard if isinstance(shard, str) else _NO_FILE for name, shard in listed.items()}
    composer = Composer(limits)
    composer.files.append(source.facts)
    opened: dict[str, int | str] = {}  # by shard: the part, or why it cannot be shown
    shards = list(dict.fromkeys(weight_map.values()))
    if len(shards) > _MAX_SHARDS:
        raise LimitExceeded(
            f"this index names {len(shards):,} files; of up to {_MAX_SHARDS:,} a model is put together",
            path=source.path,
            advice="Open one of the files",
        )
    for done, shard in enumerate(shards):
        yield Progress(done, len(shards), "shards")
        opened[shard] = yield from _shard_task(composer, source.path.parent, shard, limits)
    rows = {shard: _names_of(composer, part) for shard, part in opened.items() if isinstance(part, int)}
    root = _tree(composer, weight_map, opened, rows)
    _warn_of_strays(composer, source.path.parent, set(shards))
    _check_total(composer, index, root)
    facts = {
        "index": source.path.name,
        "shards": f"{len(rows):,} of {len(shards):,} present" if len(rows) < len(shards) else f"{len(shards):,}",
    }
    kinds = sorted({composer.part(part).container for part in opened.values() if isinstance(part, int)})
    container = f"sharded {' and '.join(kinds)}" if kinds else "sharded checkpoint"
    return composer.finish(source.path, container, root, facts)


def _shard_task(composer: Composer, folder: Path, shard: str, limits: Limits) -> Task[int | str]:
    """Open one shard; returns its part, or the sentence for its rows."""
    from viewer.formats.opening import open_task  # opening knows this reader, so it can't be imported above

    if shard == _NO_FILE:
        return "the index gives no file for it"
    if leaves_folder(shard):
        return f"the index points outside its folder ({shard}); only files beside the index are read"
    path = folder / shard
    if not path.exists():
        return f"missing: {shard} not found beside the index"
    if path.is_dir():
        return f"{shard} is a folder"
    try:
        if _is_index(path):  # which could name this one, or a thousand others
            return f"{shard} is an index itself"
        checkpoint = yield from open_task(path, limits)
    except ViewerError as error:
        return str(error)
    return composer.add(checkpoint, shard)


def _is_index(path: Path) -> bool:
    with FileSource(path) as source:
        return IndexReader().sniff(source.read(0, min(source.nbytes, HEAD_NBYTES)), source)


def _names_of(composer: Composer, part: int) -> dict[Key, int]:
    nodes = composer.part(part).nodes
    return {nodes.key[node]: node for node in nodes.children(0)}


def _tree(
    composer: Composer,
    weight_map: dict[str, str],
    opened: dict[str, int | str],
    rows: dict[str, dict[Key, int]],
) -> Branch:
    members: dict[Key, Twig] = {}
    for name, shard in weight_map.items():
        part = opened[shard]
        if isinstance(part, str):
            members[name] = Leaf.problem(part)
        elif (node := rows[shard].get(name)) is None:
            members[name] = Leaf.problem(f"index and file disagree: {shard} does not hold it")
        else:
            members[name] = Graft(part, node)
    disagreeing: list[str] = []
    for shard, names in rows.items():
        part = opened[shard]
        assert isinstance(part, int)
        for key, node in names.items():
            if key == METADATA:
                members.setdefault(METADATA, Graft(part, node))
            elif key not in members:
                members[key] = Graft(part, node)
                disagreeing.append(f"{key} in {shard}")
            elif weight_map.get(str(key)) != shard:
                disagreeing.append(f"{key} again in {shard}")
    absent = [name for name, twig in members.items() if isinstance(twig, Leaf) and "disagree" in str(twig.value)]
    if disagreeing:
        composer.warnings.append(f"index and files disagree: not in the index: {some(disagreeing)}")
    if absent:
        composer.warnings.append(
            f"index and files disagree: not in the shards: {some([str(name) for name in absent])}"
        )
    lost = [f"{shard} ({part})" for shard, part in opened.items() if isinstance(part, str)]
    if lost:
        composer.warnings.append(f"{len(lost):,} of {len(opened):,} shards cannot be shown: {some(lost)}")
    return Branch(members, "dict", Kind.MAPPING)


def _warn_of_strays(composer: Composer, folder: Path, shards: set[str]) -> None:
    try:
        names = sorted(entry.name for entry in folder.iterdir() if entry.suffix in _SHARD_SUFFIXES)
    except OSError:
        return  # the folder may be executable but not readable; the shards have been opened by name
    stray = [name for name in names if name not in shards]
    if stray:
        composer.warnings.append(f"in the folder but not in the index, so not shown: {some(stray)}")


def _check_total(composer: Composer, index: dict[str, object], root: Branch) -> None:
    metadata = index.get("metadata")
    promised = metadata.get("total_size") if isinstance(metadata, dict) else None
    if not isinstance(promised, int | float):
        return
    found = 0
    for twig in root.children.values():
        if not isinstance(twig, Graft):
            continue
        part = composer.part(twig.part)
        number = part.nodes.value[twig.node]
        if part.nodes.kind[twig.node] == Kind.TENSOR and isinstance(number, int):
            found += numel_of(part.tensors.shape[number]) * DTYPES[part.tensors.dtype[number]].itemsize
    if found != promised:
        composer.warnings.append(f"the index promises {promised:,} bytes of tensors, the shards here hold {found:,}")
