"""One file's pickles, read into one set of columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from viewer.checkpoint.document import GlobalUse
from viewer.checkpoint.tensors import INLINE, UNREADABLE, StorageTable, TensorTable
from viewer.errors import LimitExceeded
from viewer.formats.limits import LIMITS, Limits
from viewer.formats.pickle.standins import StandInType

NestedLoader: TypeAlias = Callable[[bytes], object]
PersistentReader: TypeAlias = Callable[[object], object]

_WARNINGS: Final = 1_000
_DECODED_ITEMS: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Loaded:
    """One pickle, loaded.

    Attributes
    ----------
    root
        The graph: builtins and stand-ins.
    end
        Offset of the byte after STOP.
    problem
        Why the pickle was read in part only, as a clause; "" where it was read to its end.
    """

    root: object
    end: int
    problem: str = ""


@dataclass(frozen=True, slots=True)
class SessionMark:
    """How far the columns of a session had grown (see `PickleSession.mark`)."""

    tensors: int
    storages: int
    blobs: int
    global_counts: Counter[tuple[str, str]]
    warnings: int


class PickleSession:
    """What the pickles of one file share: columns, storage keys, the globals they name, warnings.

    Parameters
    ----------
    limits
        What reading may cost.
    persistent_ids
        "torch": persistent ids name storages as torch writes them. "inert": they are objects like any other. Or a
        function of the container's own that is given an id and returns what it stands for.
    nested_loader
        Called with the bytes given to `torch.storage._load_from_bytes`; returns the root of what is in them. None
        where the bytes are kept as they are.
    """

    def __init__(
        self,
        limits: Limits = LIMITS,
        *,
        persistent_ids: Literal["torch", "inert"] | PersistentReader = "torch",
        nested_loader: NestedLoader | None = None,
    ) -> None:
        self.limits = limits
        self.persistent_ids = persistent_ids
        self.nested_loader = nested_loader
        self.tensors = TensorTable()
        self.storages = StorageTable()
        self.blobs: list[bytes] = []
        self.global_counts: Counter[tuple[str, str]] = Counter()
        self.warnings: list[str] = []
        self.storages_by_key: dict[str, int] = {}
        self.module_sources: dict[str, str] = {}
        """By dotted name: the source code that legacy files keep beside an nn.Module."""
        self.caches: dict[str, dict[int, tuple[object, object]]] = {}
        self.classes: list[StandInType] = []
        """Stand-ins of the pickles that are being read."""
        self._warned: set[str] = set()
        self._to_decode = _DECODED_ITEMS
        self._depth = 0

    def nested(self) -> PickleSession:
        """A session over the same columns, counts and warnings, with storage keys of its own.

        Raises
        ------
        LimitExceeded
            When pickles are nested in pickles too deeply.
        """
        if self._depth >= self.limits.nested_pickles:
            raise LimitExceeded(
                f"pickles inside pickles are nested more than {self.limits.nested_pickles} deep",
                advice="No program writes such a file: it was made to stop its reader",
            )
        inner = PickleSession(self.limits, persistent_ids=self.persistent_ids, nested_loader=self.nested_loader)
        inner.tensors = self.tensors
        inner.storages = self.storages
        inner.blobs = self.blobs
        inner.global_counts = self.global_counts
        inner.warnings = self.warnings
        inner._warned = self._warned
        inner.module_sources = self.module_sources
        inner._depth = self._depth + 1
        return inner

    def load(self, data: bytes | memoryview, offset: int = 0, *, source_name: str, partial: bool = False) -> Loaded:
        """Read the pickle that begins at `offset`.

        Parameters
        ----------
        source_name
            What messages call it: "data.pkl".
        partial
            True where `data` is all there is: of a pickle that is cut short, what comes before the cut is returned.
            (What comes before damage of other kinds always is, with a warning.)

        Raises
        ------
        TruncatedPickle
            When the data ends before the pickle does.
        MalformedFile, LimitExceeded
            When nothing of it can be shown.
        """
        from viewer.formats.pickle.unpickler import load_pickle  # the unpickler knows the session, not the reverse

        return load_pickle(self, data, offset, source_name, partial=partial)

    def globals(self) -> list[GlobalUse]:
        """What the pickles name, sorted by module and name."""
        from viewer.formats.pickle.known import is_harmless

        return [
            GlobalUse(module, name, is_harmless(module, name), count)
            for (module, name), count in sorted(self.global_counts.items())
        ]

    def warn(self, sentence: str) -> None:
        """Note something out of the ordinary, once."""
        if sentence not in self._warned and len(self._warned) < _WARNINGS:
            self._warned.add(sentence)
            self.warnings.append(sentence)

    def once(self, purpose: str, given: object, make: Callable[[], object]) -> object:
        """What `make` returns for the object `given`, made once however often a pickle asks: without this, a few
        bytes of opcodes could have a long string copied a million times."""
        cache = self.caches.setdefault(purpose, {})
        known = cache.get(id(given))
        if known is None:
            known = cache[id(given)] = (given, make())  # holds `given`, so that its id stays its own
        return known[1]

    def forget(self) -> None:
        """Drop what `once` holds; between pickles nothing of it is needed."""
        self.caches.clear()

    def may_decode(self, count: int) -> bool:
        """Whether so many more items of text arrays may be decoded for show."""
        self._to_decode -= count + 10
        return self._to_decode >= 0

    def mark(self) -> SessionMark:
        """The state of the columns, to return to."""
        return SessionMark(
            len(self.tensors), len(self.storages), len(self.blobs), Counter(self.global_counts), len(self.warnings)
        )

    def roll_back(self, mark: SessionMark) -> None:
        """Take back everything that was added since `mark`."""
        self.complete_storages()
        tensors, storages = self.tensors, self.storages
        for column in (tensors.dtype, tensors.storage, tensors.storage_offset, tensors.flags):
            del column[mark.tensors :]
        del tensors.shape[mark.tensors :], tensors.stride[mark.tensors :]
        for by_number in (tensors.layout, tensors.extra, tensors.problem):
            for number in [number for number in by_number if number >= mark.tensors]:
                del by_number[number]
        numbers = (storages.dtype, storages.nbytes, storages.encoding, storages.file, storages.offset)
        for column in (*numbers, storages.length, storages.big_endian):
            del column[mark.storages :]
        del storages.key[mark.storages :], storages.location[mark.storages :]
        for number in [number for number in storages.problem if number >= mark.storages]:
            del storages.problem[number]
        for number in [number for number in storages.crc if number >= mark.storages]:
            del storages.crc[number]
        for key in [key for key, number in self.storages_by_key.items() if number >= mark.storages]:
            del self.storages_by_key[key]
        del self.blobs[mark.blobs :]
        self.global_counts.clear()
        self.global_counts.update(mark.global_counts)
        self._warned.difference_update(self.warnings[mark.warnings :])
        del self.warnings[mark.warnings :]
        self.forget()

    def add_storage(self, key: str, dtype: int, nbytes: int, location: str) -> int:
        """A new storage, UNREADABLE until its bytes are found; returns its number."""
        storages = self.storages
        number = len(storages.key)
        storages.key.append(key)
        storages.dtype.append(dtype)
        storages.nbytes.append(nbytes)
        storages.location.append(location)
        return number

    def complete_storages(self) -> None:
        """Fill the columns that are the same for all new storages: much faster at once than one by one."""
        storages = self.storages
        first, last = len(storages.encoding), len(storages.key)
        if first == last:
            return
        zeros = bytes(last - first)
        storages.encoding.extend([UNREADABLE] * (last - first))
        for column in (storages.file, storages.offset, storages.length, storages.big_endian):
            column.extend(zeros)
        storages.problem.update(dict.fromkeys(range(first, last), "no record of the file holds its bytes"))

    def add_inline_storage(self, data: bytes, dtype: int, *, key: str = "", big_endian: bool = False) -> int:
        """A new storage whose bytes are in the pickle itself; returns its number."""
        number = self.add_storage(key or f"inline {len(self.blobs)}", dtype, len(data), "cpu")
        self.complete_storages()
        storages = self.storages
        storages.encoding[number] = INLINE
        storages.offset[number] = len(self.blobs)
        storages.length[number] = len(data)
        storages.big_endian[number] = int(big_endian)
        del storages.problem[number]
        self.blobs.append(data)
        return number

    def add_tensor(
        self,
        dtype: int,
        shape: tuple[int, ...],
        stride: tuple[int, ...],
        storage: int,
        storage_offset: int = 0,
        flags: int = 0,
    ) -> int:
        """A new tensor row, taken as it is; returns its number."""
        tensors = self.tensors
        number = len(tensors.shape)
        tensors.dtype.append(dtype)
        tensors.shape.append(shape)
        tensors.stride.append(stride)
        tensors.storage.append(storage)
        tensors.storage_offset.append(storage_offset)
        tensors.flags.append(flags)
        return number
