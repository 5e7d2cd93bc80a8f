"""Pickles that stand in a file by themselves, one or several in a row."""

from __future__ import annotations

from typing import Final

from viewer.errors import ViewerError
from viewer.formats.byte_source import ByteSource
from viewer.formats.limits import LIMITS
from viewer.formats.pickle import Group, PickleSession, Problem
from viewer.formats.pickle.scan import TruncatedPickle, scan_pickle
from viewer.formats.pickle_stream import load_pickle_task, pickle_protocol
from viewer.formats.reading import Part, PartReader, Reading
from viewer.formats.sniff import is_stranger
from viewer.task import Task

_PROTO: Final = b"\x80"
_HIGHEST_PROTOCOL: Final = 5
# First opcodes that pickles of protocols 0 and 1 begin with: MARK, EMPTY_*, GLOBAL, numbers, strings, None.
_OLD_FIRST: Final = b"(]})cNIJKMLFGSTUVXl"
_MAX_PICKLES: Final = 10_000
_OLD_WINDOWS: Final = (64 << 10, 4 << 20, 64 << 20)
"""Bytes looked at for an old pickle. Protocols 0 and 1 write all as text: nobody keeps larger checkpoints so."""


class RawPickleReader(PartReader):
    """Reads files of pickles."""

    name = "pickle"

    def sniff(self, head: bytes, source: ByteSource) -> bool:
        if head[:1] == _PROTO:
            return len(head) > 1 and head[1] <= _HIGHEST_PROTOCOL
        return not is_stranger(head) and _is_old_pickle(source, 0)

    def part_task(self, source: ByteSource, reading: Reading) -> Task[Part]:
        warnings: list[str] = []
        roots = yield from self._roots_task(reading.session, source, warnings)
        root = (
            roots[0]
            if len(roots) == 1
            else Group({f"pickle {nth}": root for nth, root in enumerate(roots, 1)}, "pickles in a row")
        )
        facts = {"pickles": f"{len(roots):,}"} if len(roots) > 1 else {}
        return Part(root, self.name, warnings, facts | {"pickle protocol": pickle_protocol(source, 0)})

    def _roots_task(self, session: PickleSession, source: ByteSource, warnings: list[str]) -> Task[list[object]]:
        roots: list[object] = []
        at = 0
        while at < source.nbytes:
            if (roots and not _goes_on(source, at)) or len(roots) == _MAX_PICKLES:
                warnings.append(f"{source.nbytes - at:,} bytes follow the pickle; they are not shown")
                break
            try:
                loaded = yield from load_pickle_task(session, source, at, "the pickle")
            except ViewerError as error:
                if not roots:
                    raise
                roots.append(Problem(str(error)))
                break
            roots.append(loaded.root)
            at = loaded.end
            if loaded.problem:
                break
        return roots


def _goes_on(source: ByteSource, at: int) -> bool:
    """True where another pickle stands behind one."""
    return source.read(at, 1) == _PROTO or _is_old_pickle(source, at)


def _is_old_pickle(source: ByteSource, at: int) -> bool:
    """True where a whole pickle of protocol 0 or 1 begins.

    These have no signature, and much text begins as they do; so a broken one is taken for text.
    """
    if source.read(at, 1) not in _OLD_FIRST:
        return False
    for window in _OLD_WINDOWS:
        try:
            scan_pickle(source.read(at, min(source.nbytes - at, window)), 0, LIMITS, "the pickle")
        except TruncatedPickle:
            continue
        except ViewerError:
            return False
        return True
    return False
