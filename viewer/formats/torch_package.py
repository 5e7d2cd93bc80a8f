"""Archives of torch.package: pickles, sources and texts by path, and the storages below `.data/`.

Layout (torch/package/package_exporter.py): everything stands in one folder; `.data/extern_modules` lists the modules
that the archive expects to be installed, `.data/<key>.storage` holds the values, with keys that all pickles of the
archive share. Persistent ids of storages are torch.save's, but their keys are numbers.
"""

from __future__ import annotations

from typing import Final

from viewer.errors import ViewerError
from viewer.formats.pickle import Group, Problem, ScalarStandIn, Text
from viewer.formats.pickle.persistent import persistent_reader
from viewer.formats.pickle_stream import load_pickle_task
from viewer.formats.reading import Part, Reading
from viewer.formats.zip_archive import ZipArchive
from viewer.formats.zip_directory import ZipDirectory
from viewer.formats.zip_storages import place_storages_task
from viewer.task import Progress, Task

_MARK: Final = ".data/extern_modules"
_PROTO: Final = b"\x80"
_MAX_TEXT_NBYTES: Final = 1 << 20
_MAX_ROWS: Final = 5_000


def is_package(directory: ZipDirectory) -> bool:
    """True where the archive is one of torch.package's."""
    return any(name == _MARK or name.endswith("/" + _MARK) for name in directory.by_name)


def package_part_task(archive: ZipArchive, reading: Reading) -> Task[Part]:
    """Read the structure: a row for each pickle, source and text."""
    directory, session = archive.directory, reading.session
    top = next(name for name in directory.by_name if name == _MARK or name.endswith("/" + _MARK)).removesuffix(_MARK)
    in_torch_form = persistent_reader(session)

    def refer(pid: object) -> object:
        if type(pid) is tuple and len(pid) >= 5 and pid[0] == "storage" and type(pid[2]) is int:
            pid = (*pid[:2], str(pid[2]), *pid[3:])
        return in_torch_form(pid)

    session.persistent_ids = refer
    rows: dict[str, object] = {}
    pickles = 0
    for nth, (name, number) in enumerate(directory.by_name.items()):
        path = name.removeprefix(top)
        if path.startswith(".data/") or path == "byteorder" or name.endswith("/"):
            continue
        yield Progress(nth, len(directory), "records")
        if len(rows) >= _MAX_ROWS:
            directory.warnings.append(f"only the first {_MAX_ROWS:,} files of the package are shown")
            break
        try:
            content = yield from archive.range_task(number, reading.limits.inflated_nbytes)
            if content.read(0, min(1, content.nbytes)) == _PROTO:
                loaded = yield from load_pickle_task(session, content, 0, path, window=max(content.nbytes, 1))
                rows[path] = loaded.root
                pickles += 1
            else:
                rows[path] = _text(content.read(0, content.nbytes) if content.nbytes <= _MAX_TEXT_NBYTES else b"\0")
                if rows[path] is None:
                    rows[path] = ScalarStandIn("file", f"{content.nbytes:,} bytes")
        except ViewerError as error:
            rows[path] = Problem(str(error))
    big_endian = archive.small_record(f"{top}byteorder", 16) == b"big"
    yield from place_storages_task(archive, session, f"{top}.data/", big_endian, suffix=".storage")
    facts = {"pickles": f"{pickles:,}", "archive folder": top.rstrip("/")}
    for title, record in (("Python", "python_version"), ("modules expected", "extern_modules")):
        text = archive.small_record(f"{top}.data/{record}")
        if text is not None:
            facts[title] = ", ".join(text.decode("utf-8", "replace").split())[:1_000]
    return Part(Group(rows, "torch.package archive"), "torch.package archive", list(directory.warnings), facts)


def _text(data: bytes) -> Text | None:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else Text(text, "text")
