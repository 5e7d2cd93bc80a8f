"""Exported programs (.pt2): their weights and constants, where they are stored as plain records.

Layout of torch 2.9 and newer (torch/export/pt2_archive): `archive_format` says "pt2"; for each model,
`data/weights/<model>_weights_config.json` gives by name the record below `data/weights/` and the tensor's facts
(`TensorMeta` of torch/_export/serde/schema.py), `data/constants/` the same for constants, `data/sample_inputs/` a
torch zip, and `models/<model>.json` the graph. Older files are a zip of `serialized_state_dict.pt` and others, each a
torch zip.
"""

from __future__ import annotations

from typing import Any, Final

from viewer.checkpoint.dtypes import DTYPE_CODE, DTYPES
from viewer.checkpoint.tensors import TensorFlag
from viewer.errors import MalformedFile, ViewerError
from viewer.formats.archives import ZipMember
from viewer.formats.bounded_json import read_json
from viewer.formats.byte_source import ByteSource, MemorySource
from viewer.formats.nested import child_task, reader_of
from viewer.formats.pickle import Group, PickleSession, Problem, ScalarStandIn, StorageStandIn, Text
from viewer.formats.pickle.views import placer
from viewer.formats.reading import Part, Reading
from viewer.formats.zip_archive import ZipArchive
from viewer.formats.zip_directory import ZipDirectory
from viewer.formats.zip_storages import place_storages_task
from viewer.task import Progress, Task

_FORMAT: Final = "archive_format"
_OLD_GRAPH: Final = "serialized_exported_program.json"
_CONFIGS: Final = (("weights", "_weights_config.json"), ("constants", "_constants_config.json"))
_MAX_GRAPH_NBYTES: Final = 16 << 20
_STRIDED: Final = 7
"""torch/_export/serde/schema.py, `Layout`."""
_DTYPES: Final = {
    1: "uint8", 2: "int8", 3: "int16", 4: "int32", 5: "int64", 6: "float16", 7: "float32", 8: "float64",
    9: "complex32", 10: "complex64", 11: "complex128", 12: "bool", 13: "bfloat16", 28: "uint16",
    29: "float8_e4m3fn", 30: "float8_e5m2", 31: "float8_e4m3fnuz", 32: "float8_e5m2fnuz", 33: "float8_e8m0fnu",
    34: "uint32", 35: "uint64",
}  # fmt: skip
"""torch/_export/serde/schema.py, `ScalarType`."""


def is_pt2(directory: ZipDirectory) -> bool:
    """True where the archive is an exported program, by the names of its records."""
    return _top(directory) is not None


def pt2_part_task(archive: ZipArchive, reading: Reading) -> Task[Part]:
    """Read the structure: weights, constants, sample inputs, and the graphs as text."""
    return (yield from _Gathering(archive, reading, _top(archive.directory) or "").run_task())


def _top(directory: ZipDirectory) -> str | None:
    """The folder of the program, with its slash; None where there is none.

    What names the format stands at the end, and so is missing where a file is cut short: then the list of the weights
    tells.
    """
    listed: str | None = None
    for name in directory.by_name:
        folder, slash, last = name.rpartition("/")
        if last in (_FORMAT, _OLD_GRAPH):
            return folder + slash
        if listed is None and last.endswith(_CONFIGS[0][1]) and f"/{folder}".endswith("/data/weights"):
            listed = folder.removesuffix("data/weights")
    return listed


class _Gathering:
    """What is gathered while one archive is read."""

    def __init__(self, archive: ZipArchive, reading: Reading, top: str) -> None:
        self._archive = archive
        self._reading = reading
        self._top = top
        self._rows: dict[str, object] = {}
        self._warnings: list[str] = []
        self._understood: set[str] = set()

    def run_task(self) -> Task[Part]:
        top, archive = self._top, self._archive
        for folder, suffix in _CONFIGS:
            prefix = f"{top}data/{folder}/"
            configs = [
                name for name in archive.directory.by_name if name.startswith(prefix) and name.endswith(suffix)
            ]
            for name in configs:
                model = name.removeprefix(prefix).removesuffix(suffix)
                title = folder if len(configs) == 1 else f"{folder} of {model}"
                try:
                    self._rows[title] = yield from self._weights_task(name, prefix)
                except ViewerError as error:
                    self._rows[title] = Problem(str(error))
        yield from self._others_task()
        facts = {"archive folder": top.rstrip("/") or "(none)"}
        for name, title in (("archive_version", "archive version"), (".data/version", "file version")):
            content = archive.small_record(top + name, 64)
            if content is not None:
                facts[title] = content.decode("ascii", "replace").strip()
        warnings = [*archive.directory.warnings, *self._warnings]
        return Part(Group(self._rows, "exported program"), "exported program (.pt2)", warnings, facts)

    def _weights_task(self, config_name: str, prefix: str) -> Task[dict[str, object]]:
        archive = self._archive
        self._understood.add(config_name)
        data = yield from archive.record_task(archive.directory.by_name[config_name], _MAX_GRAPH_NBYTES)
        config = read_json(MemorySource(data, archive.source.path))
        entries = config.get("config") if isinstance(config, dict) else None
        if not isinstance(entries, dict):
            raise MalformedFile(f"{config_name} does not list tensors by name")
        session = self._reading.beside().session
        rows: dict[str, object] = {}
        for nth, (name, entry) in enumerate(entries.items()):
            if nth % 1024 == 0:
                yield Progress(nth, len(entries), "tensors")
            rows[name] = yield from self._entry_task(session, entry, prefix)
        session.complete_storages()
        big_endian = archive.small_record(f"{self._top}byteorder", 16) == b"big"
        yield from place_storages_task(archive, session, prefix, big_endian)
        return rows

    def _entry_task(self, session: PickleSession, entry: Any, prefix: str) -> Task[object]:
        """The tensor that one entry of a config describes."""
        if not isinstance(entry, dict) or not isinstance(entry.get("path_name"), str):
            return Problem("its entry names no record")
        key = entry["path_name"]
        number = self._archive.directory.by_name.get(prefix + key)
        self._understood.add(prefix + key)
        if number is None:
            return Problem(f"its record {prefix}{key[:200]} is missing")
        if entry.get("use_pickle") is True or not isinstance(entry.get("tensor_meta"), dict):
            return (yield from self._child_task(prefix + key, number))
        try:
            return _tensor(session, entry, key, self._archive.directory.unpacked[number])
        except (KeyError, TypeError, ValueError):
            return Problem("its entry is not as the format describes tensors")

    def _others_task(self) -> Task[None]:
        """Sample inputs and other torch zips, graphs, and a row for what else is there."""
        directory = self._archive.directory
        for name, number in directory.by_name.items():
            path = name.removeprefix(self._top)
            if name in self._understood or path.startswith(".data/") or path in _SMALL or name.endswith("/"):
                continue
            try:
                if path.endswith(".json") and directory.unpacked[number] <= _MAX_GRAPH_NBYTES:
                    data = yield from self._archive.record_task(number, _MAX_GRAPH_NBYTES)
                    self._rows[path] = Text(data.decode("utf-8", "replace"), "graph")
                else:
                    self._rows[path] = yield from self._child_task(path, number)
            except ViewerError as error:
                self._rows[path] = Problem(str(error))

    def _child_task(self, path: str, number: int) -> Task[object]:
        source: ByteSource = yield from ZipMember(self._archive, number).source_task(self._reading.budget)
        reader = reader_of(source)
        if reader is None:
            return ScalarStandIn("file", f"{source.nbytes:,} bytes")
        part = yield from child_task(source, reader, self._reading)
        self._warnings += [f"{path}: {warning}" for warning in part.warnings]
        return part.root


_SMALL: Final = (_FORMAT, "archive_version", "byteorder", "version")


def _tensor(session: PickleSession, entry: dict[str, Any], key: str, record_nbytes: int) -> object:
    """A row for a tensor. Raises KeyError, TypeError or ValueError where the entry is not as it should be."""
    meta = entry["tensor_meta"]
    dtype = DTYPE_CODE[_DTYPES[meta["dtype"]]]
    if meta.get("layout", _STRIDED) != _STRIDED:
        return Problem("its layout is not strided, and where its parts lie is not told")
    size, stride = (tuple(_whole(extent) for extent in meta[field]) for field in ("sizes", "strides"))
    device = meta.get("device") or {}
    location = str(device.get("type", "cpu"))[:40]
    if device.get("index") is not None:
        location += f":{_whole(device['index'])}"
    number = session.storages_by_key.get(key)
    if number is None:
        whole = record_nbytes - record_nbytes % DTYPES[dtype].itemsize
        number = session.storages_by_key[key] = session.add_storage(key, dtype, whole, location)
    made = placer(session)(
        StorageStandIn(number, dtype), _whole(meta["storage_offset"]), size, stride, meta.get("requires_grad"), dtype
    )
    if entry.get("is_param") is True:
        session.tensors.flags[made.number] |= TensorFlag.PARAMETER
    return made


def _whole(value: Any) -> int:
    """An integer, as JSON holds it: plain, or as {"as_int": 3}."""
    number = value["as_int"] if isinstance(value, dict) else value
    if type(number) is not int or not 0 <= number < 1 << 62:
        raise ValueError("not a whole number")
    return number
