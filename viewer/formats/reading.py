"""One reading of one file: the columns that all its parts share, and how a part becomes a checkpoint.

A reader of a container gives a `Part`: the graph, and what is to be said about it. Of a file of its own the part is
the whole checkpoint; inside an archive it is one child of the archive's tree, over the same columns.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field

from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.tensors import DEFLATED, INLINE, STORED
from viewer.errors import LimitExceeded
from viewer.formats.byte_source import ByteSource, SlicedSource
from viewer.formats.inflate import inflate_task
from viewer.formats.limits import Limits
from viewer.formats.pickle import PickleSession
from viewer.formats.source import FileSource
from viewer.formats.tensor_problems import mark_tensors
from viewer.formats.tree import build_nodes
from viewer.task import Progress, Task


@dataclass(slots=True)
class Part:
    """What a reader found.

    Attributes
    ----------
    root
        Builtins and stand-ins (see `viewer.formats.pickle`); their tensors are in the columns of the session.
    container
        In words, for the status line.
    """

    root: object
    container: str
    warnings: list[str] = field(default_factory=list)
    facts: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Budget:
    """What the parts of one file may cost together.

    Attributes
    ----------
    inflated_nbytes
        Bytes of archive members that may still be inflated into memory.
    members
        Members of archives that may still be opened.
    """

    inflated_nbytes: int
    members: int = 1_000

    def spend(self, inflated_nbytes: int) -> None:
        """Take bytes for inflating; raises LimitExceeded where there are not so many left."""
        if inflated_nbytes > self.inflated_nbytes:
            raise LimitExceeded(
                f"it would inflate to {inflated_nbytes:,} bytes, but {self.inflated_nbytes:,} are left of what one "
                "file may take in memory",
                advice="Unpack the archive and open what is in it",
            )
        self.inflated_nbytes -= inflated_nbytes


@dataclass(slots=True)
class Reading:
    """What the parts of one file share.

    Attributes
    ----------
    session
        The columns, with storage keys of this part's own.
    depth
        0 for the file itself, 1 for a member of the archive that it is …
    """

    session: PickleSession
    budget: Budget
    depth: int = 0

    @property
    def limits(self) -> Limits:
        return self.session.limits

    def beside(self) -> Reading:
        """For another part of the same file, one level deeper."""
        from viewer.formats.torch_legacy import session_beside  # which reads parts itself

        return Reading(session_beside(self.session), self.budget, self.depth + 1)


class PartReader(ABC):
    """A reader whose container can stand inside an archive, too. A further one defines `name`, `sniff` and
    `part_task`, and is a row in `viewer.formats.opening.READERS`."""

    name: str

    @abstractmethod
    def sniff(self, head: bytes, source: ByteSource) -> bool:
        """True where the source is this container's; `head` is its first bytes."""

    @abstractmethod
    def part_task(self, source: ByteSource, reading: Reading) -> Task[Part]:
        """Read the structure. Raises ViewerError where nothing can be shown."""

    def read(self, source: FileSource, limits: Limits) -> Task[Checkpoint]:
        """Read a file of this container."""
        from viewer.formats.torch_legacy import session_for  # which reads parts itself

        reading = Reading(session_for(limits), Budget(limits.inflated_nbytes))
        part = yield from self.part_task(source, reading)
        return (yield from checkpoint_task(source, reading.session, part))


def checkpoint_task(source: FileSource, session: PickleSession, part: Part) -> Task[Checkpoint]:
    """The checkpoint of a file that is one part."""
    yield Progress(source.nbytes, source.nbytes)
    session.complete_storages()
    nodes = build_nodes(part.root, session.tensors, session.limits)
    mark_tensors(session.tensors, session.storages)
    return Checkpoint(
        path=source.path,
        container=part.container,
        files=[source.facts],
        nodes=nodes,
        tensors=session.tensors,
        storages=session.storages,
        globals=session.globals(),
        warnings=[*part.warnings, *_suffix_note(source, part), *session.warnings],
        facts=part.facts,
        blobs=session.blobs,
    )


def _suffix_note(source: FileSource, part: Part) -> list[str]:
    """What to say where the name promises another container; other suffixes belong to several."""
    suffix = source.path.suffix.lower()
    if (part.container == "safetensors") == (suffix == ".safetensors") or not suffix:
        return []
    return [f"by its content this is a {part.container} file, although its suffix is {suffix}"]


def settle_task(session: PickleSession, first: int, source: ByteSource) -> Task[None]:
    """Make the ranges of storages from number `first` on, which are offsets in `source`, ranges of what `source` lies
    in; or, where it lies in memory, bytes of their own."""
    session.complete_storages()
    storages = session.storages
    for nth, number in enumerate(range(first, len(storages))):
        if nth % 4096 == 0:
            yield Progress(nth, len(storages) - first, "storages")
        encoding, offset, length = storages.encoding[number], storages.offset[number], storages.length[number]
        if encoding not in (STORED, DEFLATED):
            continue
        if isinstance(source, SlicedSource):
            storages.offset[number] = offset + source.start
            continue
        if encoding == DEFLATED:
            data = yield from inflate_task(source, offset, length, storages.nbytes[number])
        else:
            data = source.read(offset, length)
        storages.encoding[number] = INLINE
        storages.offset[number] = len(session.blobs)
        storages.length[number] = len(data)
        session.blobs.append(data)
