"""The zip container of torch 1.6 and newer; the records of TorchScript archives are read the same way.

A folder of any name (the file's own name, or "archive") holds `data.pkl` and a record `data/<key>` for each storage.
Around them, by generation: `version` (1.6), `byteorder` (2.1; without it values are little-endian, whatever the
machine, see torch/serialization.py:_load), `.data/serialization_id` (2.1), `.format_version` and `.storage_alignment`
(2.6). TorchScript adds further pickles and sources (see `viewer.formats.torchscript`).
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Mapping
from typing import Final

from viewer.errors import ViewerError
from viewer.formats.pickle import Group, PickleSession, Problem
from viewer.formats.pickle_stream import ByteRange, load_pickle_task, pickle_protocol
from viewer.formats.reading import Part, Reading
from viewer.formats.torch_legacy import session_beside
from viewer.formats.torchscript import is_script, sources_task, type_parameters
from viewer.formats.zip_archive import ZipArchive
from viewer.formats.zip_directory import ZipDirectory
from viewer.formats.zip_format import DEFLATE_METHOD
from viewer.formats.zip_storages import place_storages_task
from viewer.task import Progress, Task

_DATA: Final = "data.pkl"
_SHOWN_RECORDS: Final = 20
_WINDOW: Final = 64 << 20
"""Up to here a pickle is read at once, since its record says how long it is."""
_MAX_CHECKPOINTS: Final = 50
"""Checkpoints of one archive that are shown side by side."""
_KNOWN: Final = ("version", "byteorder", ".format_version", ".storage_alignment", ".data/serialization_id")
_SCRIPT_PICKLES: Final = (("constants", "constants/"), ("bytecode", "data/"))
"""Pickles of TorchScript archives, and where their tensors lie (torch/csrc/jit/serialization/export_module.cpp)."""
_TOLD_TOPS: Final = 5
_FACTS: Final = (
    (".format_version", "format version"),
    (".storage_alignment", "storage alignment"),
    ("version", "archive version"),
    (".data/serialization_id", "serialization id"),
)


def top_folders(directory: ZipDirectory) -> list[str]:
    """The folders that hold a data.pkl, each with its slash at the end ("" for the root of the archive), in order."""
    likely = directory.names_with_end(_DATA)
    return [name.removesuffix(_DATA) for name in likely if name == _DATA or name.endswith("/" + _DATA)]


def torch_part_task(archive: ZipArchive, reading: Reading) -> Task[Part]:
    """Read the structure of an archive with one or several torch checkpoints."""
    return (yield from _Gathering(archive, reading.session).run_task())


class _Gathering:
    """What is gathered while one archive is read."""

    def __init__(self, archive: ZipArchive, session: PickleSession) -> None:
        self.archive = archive
        self.directory = archive.directory
        self.session = session
        self.warnings: list[str] = []
        self.facts: dict[str, str] = {}
        self.understood: set[int] = set()
        self.container = "torch zip"
        self.missing_noted = False
        self.tops: list[str] = []

    def run_task(self) -> Task[Part]:
        tops = top_folders(self.directory)
        if len(tops) > _MAX_CHECKPOINTS:
            self.warnings.append(f"of {len(tops):,} checkpoints in the archive, {_MAX_CHECKPOINTS} are shown")
            tops = tops[:_MAX_CHECKPOINTS]
        self.tops = tops
        roots: dict[str, object] = {}
        for nth, top in enumerate(tops):
            # The storage keys of each begin at 0 again.
            session = session_beside(self.session) if nth else self.session
            try:
                roots[top] = yield from self._top_task(session, top)
            except ViewerError as error:
                if len(tops) == 1:
                    raise
                roots[top] = Problem(str(error))
        if len(roots) == 1:
            root = roots[tops[0]]
        else:
            root = Group({top.rstrip("/") or "/": member for top, member in roots.items()}, "zip archive")
            shown = ", ".join(top or "/" for top in tops[:_TOLD_TOPS]) + (" …" if len(tops) > _TOLD_TOPS else "")
            self.warnings.append(
                f"the archive holds {len(tops)} checkpoints; each is shown under its folder's name ({shown})"
            )
        if "" in tops:
            self.warnings.append("data.pkl stands in no folder of the archive; torch itself refuses this")
        self._note_archive()
        return Part(root, self.container, [*self.directory.warnings, *self.warnings], self.facts)

    def _top_task(self, session: PickleSession, top: str) -> Task[object]:
        root = yield from self._pickle_task(session, top, _DATA, "data/")
        if not is_script(self.directory, top):
            return root
        self.container = "TorchScript zip"
        members: dict[str, object] = {"data": root}
        for name, folder in _SCRIPT_PICKLES:
            if f"{top}{name}.pkl" not in self.directory.by_name:
                continue
            try:
                members[name] = yield from self._pickle_task(session_beside(session), top, f"{name}.pkl", folder)
            except ViewerError as error:
                members[name] = Problem(str(error))
            if name == "bytecode":
                self.container = "TorchScript zip for mobile (lite interpreter)"
        sources = yield from sources_task(self.archive, top, self.understood)
        type_parameters(root, sources, session.tensors)
        if sources:
            members["code"] = Group(dict(sources), "folder")
        return Group(members, "TorchScript archive")

    def _pickle_task(self, session: PickleSession, top: str, name: str, folder: str) -> Task[object]:
        archive, full = self.archive, top + name
        number = self.directory.by_name[full]
        self.understood.add(number)
        content = yield from archive.range_task(number, archive.limits.inflated_nbytes)
        if name == _DATA:
            self.facts.setdefault("pickle protocol", pickle_protocol(content, 0))
        loaded = yield from load_pickle_task(session, content, 0, full, window=_WINDOW)
        if loaded.end != content.nbytes and not loaded.problem:
            self.warnings.append(f"{content.nbytes - loaded.end:,} bytes follow the pickle in {full}")
        yield from self._checksum_task(number, content, full)
        by_key, prefix = session.storages_by_key, top + folder
        if archive.scan is not None:
            sizes = {prefix + key: session.storages.nbytes[number] for key, number in by_key.items()}
            yield from archive.scan.walk_task(sizes)
            self._note_missing(sizes)
        big_endian = self._byte_order(top)
        records = yield from place_storages_task(archive, session, prefix, big_endian)
        self.understood.update(records)
        return loaded.root

    def _checksum_task(self, number: int, content: ByteRange, full: str) -> Task[None]:
        """Compare a pickle, which has been read anyway, with its checksum; zero is none."""
        expected = self.directory.crc[number]
        if not expected or self.archive.scan is not None or content.nbytes > _WINDOW:
            return
        yield Progress(0, content.nbytes)
        if zlib.crc32(content.read(0, content.nbytes)) != expected:
            self.warnings.append(f"checksum mismatch: {full} is not as it was written, and may show wrong things")

    def _byte_order(self, top: str) -> bool:
        """True for big-endian values."""
        content = self.archive.small_record(f"{top}byteorder", 16)
        if content is None:
            self.facts.setdefault("byte order", "little-endian (not recorded)")
        elif content.strip() in (b"little", b"big"):
            self.facts.setdefault("byte order", content.decode().strip() + "-endian")
        else:
            self.warnings.append(
                f"the record {top}byteorder holds {content[:16]!r}, which is no byte order; taken as little"
            )
        return content is not None and content.strip() == b"big"

    def _note_archive(self) -> None:
        directory, facts = self.directory, self.facts
        tops = self.tops
        for name, title in _FACTS:
            content = self.archive.small_record(tops[0] + name, 256)
            if content is not None:
                facts[title] = content.decode("ascii", "replace").strip()
        facts["archive folder"] = ", ".join(top.rstrip("/") or "(none)" for top in tops)
        facts["records"] = f"{len(directory):,}"
        methods = Counter(directory.method)
        if methods[DEFLATE_METHOD]:
            facts["compressed records"] = f"{methods[DEFLATE_METHOD]:,} (deflate: read from the front, not in place)"
        self.understood.update(directory.by_name.get(top + name, -1) for top in tops for name in _KNOWN)
        self.understood.discard(-1)
        if len(self.understood) < len(directory):
            other = [name for name, number in directory.by_name.items() if number not in self.understood]
        else:
            other = []
        if other:
            shown = ", ".join(other[:_SHOWN_RECORDS])
            facts["other records"] = shown if len(other) <= _SHOWN_RECORDS else f"{shown} … ({len(other):,})"

    def _note_missing(self, sizes: Mapping[str, int]) -> None:
        """Say how much of an incomplete file is missing, as far as the pickle tells."""
        scan, directory = self.archive.scan, self.directory
        assert scan is not None
        if scan.complete or self.missing_noted:
            return
        self.missing_noted = True
        if scan.lost is not None:
            self.warnings.append(f"the file is damaged: from byte {scan.lost:,} on, its records cannot be found")
            return
        missing = sum(
            nbytes - min(nbytes, directory.unpacked[directory.by_name[name]]) if name in directory.by_name else nbytes
            for name, nbytes in sizes.items()
        )
        how_much = f"at least {missing:,} are missing" if missing else "what is missing is not known"
        self.warnings.append(f"the file is incomplete: it has {self.archive.source.nbytes:,} bytes, and {how_much}")
