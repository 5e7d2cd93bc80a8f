"""Archives of other programs that hold checkpoints: zip and tar files whose members are opened where they lie.

Stable-Baselines3 (.zip), TorchServe (.mar), SageMaker (model.tar.gz) and people who pack a folder make such files.
Each member that a reader knows is a child of the tree; short texts are shown, and of anything else there is a row
that says how long it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, Protocol

from viewer.errors import NotACheckpoint, ViewerError
from viewer.formats.byte_source import ByteSource, MemorySource, SlicedSource
from viewer.formats.nested import child_task, reader_of
from viewer.formats.pickle import Group, Problem, ScalarStandIn, Text
from viewer.formats.pickle_stream import FilePart
from viewer.formats.reading import Budget, Part, Reading
from viewer.formats.tar_directory import TarDirectory, TarMember
from viewer.formats.zip_archive import ZipArchive
from viewer.task import Progress, Task

SUFFIXES: Final = (
    ".pth", ".pt", ".ckpt", ".bin", ".safetensors", ".pkl", ".pickle", ".th", ".model", ".ptl", ".pt2", ".npy",
    ".npz", ".tar", ".zip", ".mar", ".distcp",
)  # fmt: skip
"""Names of members that are looked into. Anything else is named, not opened, unless it has no suffix at all."""

_TEXTS: Final = (".json", ".txt", ".yaml", ".yml", ".md", ".cfg", ".toml", ".py", ".csv", ".ini", ".log", "")
_MAX_TEXT_NBYTES: Final = 1 << 20
_MAX_TEXTS: Final = 500
_MAX_ROWS: Final = 20_000
_TOLD: Final = 10


class Member(Protocol):
    """A file in an archive."""

    @property
    def name(self) -> str: ...

    @property
    def nbytes(self) -> int: ...

    def source_task(self, budget: Budget) -> Task[ByteSource]:
        """Its content. Raises ViewerError where it cannot be read, or not within the budget."""
        ...


@dataclass(frozen=True, slots=True)
class ZipMember:
    """A record of a zip archive."""

    archive: ZipArchive
    number: int

    @property
    def name(self) -> str:
        return self.archive.directory.names[self.number]

    @property
    def nbytes(self) -> int:
        return self.archive.directory.unpacked[self.number]

    def source_task(self, budget: Budget) -> Task[ByteSource]:
        archive = self.archive
        if archive.directory.method[self.number]:
            budget.spend(self.nbytes)
        content = yield from archive.range_task(self.number, max(self.nbytes, 1))
        if isinstance(content, FilePart):
            return SlicedSource(archive.source, content.start, content.nbytes)
        return MemorySource(content.read(0, content.nbytes), archive.source.path)


@dataclass(frozen=True, slots=True)
class TarFile:
    """A member of a tar archive."""

    source: ByteSource
    member: TarMember

    @property
    def name(self) -> str:
        return self.member.name

    @property
    def nbytes(self) -> int:
        return self.member.nbytes

    def source_task(self, budget: Budget) -> Task[ByteSource]:  # noqa: ARG002 - nothing is inflated
        yield Progress(self.member.start, self.source.nbytes)
        # Of a member that the file breaks off in, the part that is there is opened.
        return SlicedSource(self.source, self.member.start, self.member.nbytes - self.member.missing)


def checkpoint_names(names: Iterable[str]) -> list[str]:
    """The names that checkpoints have."""
    return [name for name in names if name.lower().endswith(SUFFIXES)]


def zip_members_part_task(archive: ZipArchive, reading: Reading) -> Task[Part]:
    """A zip archive that holds checkpoint files."""
    directory = archive.directory
    members = (ZipMember(archive, number) for name, number in directory.by_name.items() if not name.endswith("/"))
    part = yield from _members_task(members, len(directory.by_name), reading, _zip_title(directory.by_name))
    part.warnings[:0] = directory.warnings
    return part


def _zip_title(names: Iterable[str]) -> str:
    tails = {name.rpartition("/")[2] for name in names}
    if "_stable_baselines3_version" in tails:
        return "Stable-Baselines3 zip"
    if "MANIFEST.json" in tails:
        return "TorchServe archive (.mar)"
    return "zip archive of files"


def tar_members_part_task(source: ByteSource, directory: TarDirectory, reading: Reading) -> Task[Part]:
    """A tar archive that holds checkpoint files."""
    members = (TarFile(source, member) for member in directory.members)
    part = yield from _members_task(members, len(directory.members), reading, "tar archive of files")
    part.warnings[:0] = directory.warnings
    return part


def _members_task(members: Iterable[Member], count: int, reading: Reading, title: str) -> Task[Part]:
    """One row for each member.

    Raises
    ------
    NotACheckpoint
        Where no member is a checkpoint.
    """
    part = Part(None, title)
    rows: dict[str, object] = {}
    names: list[str] = []
    failed: ViewerError | None = None
    opened = texts = 0
    for nth, member in enumerate(members):
        yield Progress(nth, count, "members")
        names.append(member.name)
        if len(rows) >= _MAX_ROWS:
            part.warnings.append(f"only the first {_MAX_ROWS:,} of {count:,} members are listed")
            break
        suffix = _suffix(member.name)
        row: object = ScalarStandIn("file", f"{member.nbytes:,} bytes")
        try:
            child = None
            if suffix in SUFFIXES or not suffix:
                child = yield from _child_task(member, reading)
            if child is not None:
                opened += 1
                row = child.root
                part.warnings += [f"{member.name}: {warning}" for warning in child.warnings]
                if opened <= _TOLD:
                    part.facts[member.name] = child.container
            elif suffix in _TEXTS and member.nbytes <= _MAX_TEXT_NBYTES and texts < _MAX_TEXTS:
                text = yield from _text_task(member, reading.budget)
                texts += text is not None
                row = row if text is None else text
        except ViewerError as error:
            failed = failed or error
            row = Problem(". ".join(filter(None, (error.fault, error.advice))))
        rows[_free_key(member.name, rows)] = row
    if not opened:
        raise failed or _nothing(names, title)
    part.root = Group(rows, "archive")
    part.facts = {
        "members": f"{count:,}, of which {opened:,} {'is a checkpoint' if opened == 1 else 'are checkpoints'}",
        **part.facts,
    }
    return part


def _child_task(member: Member, reading: Reading) -> Task[Part | None]:
    """The member as a checkpoint; None where it is something else."""
    source = yield from member.source_task(reading.budget)
    reader = reader_of(source)
    if reader is None:
        return None
    try:
        return (yield from child_task(source, reader, reading))
    except NotACheckpoint:
        return None


def _text_task(member: Member, budget: Budget) -> Task[Text | None]:
    source = yield from member.source_task(budget)
    try:
        text = source.read(0, source.nbytes).decode("utf-8")
    except UnicodeDecodeError:
        return None
    return Text(text, "text") if "\0" not in text else None


def _suffix(name: str) -> str:
    tail = name.lower().rpartition("/")[2]
    dot = tail.rfind(".")
    return tail[dot:] if dot > 0 else ""


def _free_key(name: str, rows: dict[str, object]) -> str:
    """The name, or, where an archive has it twice, the name with a number."""
    key, nth = name, 1
    while key in rows:
        nth += 1
        key = f"{name} ({nth})"
    return key


def _nothing(names: list[str], title: str) -> NotACheckpoint:
    shown = ", ".join(_first(names, 3)) + (" …" if len(names) > 3 else "")
    return NotACheckpoint(
        f"not a checkpoint: this is a {title} without a checkpoint in it ({shown})",
        advice="Unpack it and open what is in it",
    )


def _first(names: list[str], count: int) -> Iterator[str]:
    """The names that matter most, at most `count` of them."""
    likely = checkpoint_names(names)
    yield from [*likely, *(name for name in names if name not in likely)][:count]
