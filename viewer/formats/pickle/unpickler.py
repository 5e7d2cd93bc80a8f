"""Unpickling without running: the policy, and the class that enforces it.

1. Nothing that a pickle names is imported, looked up or called. `find_class` and `persistent_load` never reach the
   default implementation; both return stand-ins of `viewer.formats.pickle.standins`, whatever the name.
2. What a stand-in is called with, set to or filled with is recorded. A short, documented table of known shapes
   (`viewer.formats.pickle.known`) is rebuilt by our own code from those arguments, each in constant time and memory.
3. Before the C unpickler sees a byte, `viewer.formats.pickle.scan` has walked all opcodes: sizes lie inside the data,
   memo indexes are dense, EXT opcodes are refused, nothing asks for more than `Limits`. Where a pickle could make C
   code hash, compare or copy without end, `viewer.formats.pickle.careful` reads it instead.
"""

from __future__ import annotations

import gc
import pickle
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from viewer.errors import MalformedFile
from viewer.formats.pickle.careful import read_carefully
from viewer.formats.pickle.faults import TruncatedPickle, damaged
from viewer.formats.pickle.known import class_finder, retire_classes
from viewer.formats.pickle.persistent import persistent_reader
from viewer.formats.pickle.scan import Scan, scan_pickle
from viewer.formats.pickle.session import Loaded
from viewer.formats.pickle.standins import OutOfBand

if TYPE_CHECKING:
    from viewer.formats.pickle.session import PickleSession

_FAULTS: Final = (
    pickle.UnpicklingError,
    EOFError,
    TypeError,
    ValueError,
    AttributeError,
    LookupError,
    OverflowError,
    MemoryError,
    RecursionError,
)
"""What the C unpickler raises for pickles that contradict themselves."""

_WORTH_SHOWING: Final = 16  # bytes: what breaks off before was no pickle


def load_pickle(
    session: PickleSession, data: bytes | memoryview, offset: int, source_name: str, *, partial: bool
) -> Loaded:
    """Read one pickle (see `PickleSession.load`)."""
    # Nearly everything that is made lives on: collecting in between only costs (0.09 s without, 0.22 s with).
    was_enabled = gc.isenabled()
    gc.disable()
    classes = len(session.classes)
    try:
        return _load(session, data, offset, source_name, partial)
    finally:
        retire_classes(session, classes)
        session.complete_storages()
        session.forget()
        if was_enabled:
            gc.enable()


def _load(session: PickleSession, data: bytes | memoryview, offset: int, source_name: str, partial: bool) -> Loaded:
    fault: Exception | None = None
    try:
        scan = scan_pickle(data, offset, session.limits, source_name)
    except TruncatedPickle as error:
        if not partial:
            raise
        fault = error
    except MalformedFile as error:
        fault = error
    else:
        if not scan.suspicion:
            mark = session.mark()
            try:
                return Loaded(_load_fast(session, data, offset, scan), scan.end)
            except _FAULTS as error:
                session.roll_back(mark)
                fault = error
    return _load_carefully(session, data, offset, source_name, fault, partial)


def _load_fast(session: PickleSession, data: bytes | memoryview, offset: int, scan: Scan) -> object:
    with memoryview(data) as whole, whole[offset : scan.end] as view:
        unpickler = _unpickler_class(session)
        try:
            return unpickler(_Whole(view)).load()
        finally:  # so that the class, which is a cycle, does not keep the session
            type.__delattr__(unpickler, "find_class")
            type.__delattr__(unpickler, "persistent_load")


def _load_carefully(
    session: PickleSession,
    data: bytes | memoryview,
    offset: int,
    source_name: str,
    fault: Exception | None,
    partial: bool,
) -> Loaded:
    mark = session.mark()
    find_class, persistent_load = class_finder(session), persistent_reader(session)
    try:
        # The scan does not walk to the end of what is suspicious, so that only this tells that there must be more.
        root, end, problem = read_carefully(session, data, offset, find_class, persistent_load, partial=partial)
    except TruncatedPickle:
        session.roll_back(mark)
        raise
    if not problem:
        return Loaded(root, end)
    if end - offset < _WORTH_SHOWING or not _holds_something(root):
        if isinstance(fault, MalformedFile):
            raise fault
        raise damaged(source_name, problem) from fault
    session.warn(f"{source_name} is read in part: {problem}")
    return Loaded(root, end, problem)


def _holds_something(root: object) -> bool:
    if isinstance(root, (dict, list, set)):
        return bool(root)
    items = getattr(root, "given", None)
    return bool(items) or not isinstance(root, (type(None), int, float, str, bytes, tuple))


class _Whole:
    """A pickle in memory as the file that the C unpickler wants; one `peek` gives it everything."""

    def __init__(self, view: memoryview) -> None:
        self._view = view
        self._given = False

    def peek(self, _nbytes: int) -> memoryview | bytes:
        if self._given:
            return b""
        self._given = True
        return self._view

    def read(self, _nbytes: int = -1) -> bytes:
        """How the unpickler skips what it has peeked at, at its end; nothing comes after."""
        return b""

    readline = read

    def readinto(self, _buffer: object) -> int:
        return 0


def _unpickler_class(session: PickleSession) -> type[pickle.Unpickler]:
    """The C unpickler with nothing to find.

    A class for each pickle, since its methods are then plain functions that the C code calls without a detour.
    """

    class Inert(pickle.Unpickler):
        def __init__(self, file: _Whole) -> None:
            # Bytes in a str of Python 2 that are not UTF-8 become lone surrogates, from which they can be had back.
            super().__init__(
                file, fix_imports=False, encoding="utf-8", errors="surrogateescape", buffers=_out_of_band()
            )

        find_class = staticmethod(class_finder(session))
        persistent_load = staticmethod(persistent_reader(session))

    return Inert


def _out_of_band() -> Iterator[OutOfBand]:
    while True:
        yield OutOfBand()
