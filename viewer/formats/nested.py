"""Opening what lies inside an archive: each member by the reader that would read it as a file."""

from __future__ import annotations

from viewer.errors import LimitExceeded, NotACheckpoint, ViewerError
from viewer.formats.byte_source import ByteSource
from viewer.formats.pickle import Problem
from viewer.formats.reading import Part, PartReader, Reading, settle_task
from viewer.formats.sniff import HEAD_NBYTES
from viewer.task import Task

MAX_DEPTH = 3
"""Archives in archives in archives; nobody packs a checkpoint more often."""


def reader_of(source: ByteSource) -> PartReader | None:
    """The reader that knows the source; None where none does."""
    from viewer.formats.opening import READERS  # the table of readers names those that open members

    if source.nbytes == 0:
        return None
    head = source.read(0, min(source.nbytes, HEAD_NBYTES))
    for reader in READERS:
        if isinstance(reader, PartReader) and reader.sniff(head, source):
            return reader
    return None


def child_task(source: ByteSource, reader: PartReader, reading: Reading) -> Task[Part]:
    """Read a member; what cannot be read becomes a row with its message.

    Raises
    ------
    NotACheckpoint
        Where the member is something else after all.
    """
    session = reading.session
    mark = session.mark()
    try:
        if reading.depth >= MAX_DEPTH:
            raise LimitExceeded(f"archives inside archives are opened {MAX_DEPTH} deep", path=source.path)
        if reading.budget.members <= 0:
            raise LimitExceeded("the archive has more checkpoints in it than are opened", path=source.path)
        reading.budget.members -= 1
        part = yield from reader.part_task(source, reading.beside())
        yield from settle_task(session, mark.storages, source)
    except NotACheckpoint:
        session.roll_back(mark)
        raise
    except ViewerError as error:
        session.roll_back(mark)
        return Part(Problem(". ".join(filter(None, (error.fault, error.advice)))), reader.name)
    return part
