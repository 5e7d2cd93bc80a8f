"""The container of torch 0.1.0 to 0.1.9: a tar archive of pickles and values.

Members (torch/serialization.py, `legacy_load`): `storages` is a count, then for each storage a pickle (key, location,
class), the number of elements as an int64 and the bytes, then a pickled list of views (key, root key, offset, size).
`tensors` is a count, then for each tensor a pickle (key, storage key, class), the number of dimensions in 4 bytes
with 4 more to skip, sizes, strides and the offset as int64. `pickle` is the object; its persistent ids are those
keys. All is little-endian. Imitations leave `tensors` out and describe the tensors in `pickle`, as later formats do.
"""

from __future__ import annotations

from struct import unpack
from typing import Final

from viewer.checkpoint.dtypes import DTYPES
from viewer.checkpoint.tensors import STORED, UNREADABLE
from viewer.errors import LimitExceeded, MalformedFile, ViewerError
from viewer.formats.byte_source import ByteSource, SlicedSource
from viewer.formats.pickle import MappingStandIn, ObjectStandIn, Problem, StandInType, StorageStandIn, TensorStandIn
from viewer.formats.pickle.persistent import persistent_reader, storage_class_dtype
from viewer.formats.pickle.views import placer
from viewer.formats.pickle_stream import load_pickle_task
from viewer.formats.reading import Part, Reading
from viewer.formats.tar_directory import TarDirectory, TarMember
from viewer.task import Progress, Task

_WINDOW: Final = 4096
"""The pickles between the values are small."""
_MAX_ENTRIES: Final = 200_000
_PER_PROGRESS: Final = 64
_MENDED_DEPTH: Final = 20
_REBUILDERS: Final = ("torch._utils._rebuild_tensor_v2", "torch._utils._rebuild_tensor")


def is_torch_tar(directory: TarDirectory) -> bool:
    """True where the members are torch's."""
    return {"pickle", "storages"} <= {_plain(member.name) for member in directory.members}


def torch_tar_part_task(source: ByteSource, directory: TarDirectory, reading: Reading) -> Task[Part]:
    """Read the structure."""
    return (yield from _Gathering(source, directory, reading).run_task())


def _plain(name: str) -> str:
    return name.removeprefix("./")


class _Gathering:
    """What is gathered while one archive is read."""

    def __init__(self, source: ByteSource, directory: TarDirectory, reading: Reading) -> None:
        self._source = source
        self._members = {_plain(member.name): member for member in directory.members}
        self._session = reading.session
        self._in_torch_form = persistent_reader(self._session)
        self._made: dict[str, StorageStandIn | TensorStandIn] = {}
        self._mended_items: dict[int, tuple[object, object]] = {}
        self._warnings = list(directory.warnings)
        self._facts: dict[str, str] = {"members": ", ".join(self._members)}

    def run_task(self) -> Task[Part]:
        yield from self._note_machine_task()
        try:
            yield from self._storages_task()
        except ViewerError as error:
            self._warnings.append(f"the storages could be read in part only: {error.fault}")
        self._session.complete_storages()
        if "tensors" in self._members:
            try:
                yield from self._tensors_task()
            except ViewerError as error:
                self._warnings.append(f"the tensors could be read in part only: {error.fault}")
        self._session.persistent_ids = self._referred
        member = self._part(self._members["pickle"])
        loaded = yield from load_pickle_task(self._session, member, 0, "the pickle", window=member.nbytes)
        root = loaded.root if "tensors" in self._members else self._mended(loaded.root, 0)
        self._check_claims()
        return Part(root, "torch tar (0.1)", self._warnings, self._facts)

    def _part(self, member: TarMember) -> SlicedSource:
        return SlicedSource(self._source, member.start, member.nbytes - member.missing)

    def _note_machine_task(self) -> Task[None]:
        member = self._members.get("sys_info")
        if member is None:
            return
        try:
            machine = (yield from load_pickle_task(self._session, self._part(member), 0, "sys_info")).root
        except ViewerError as error:
            self._warnings.append(f"sys_info cannot be read: {error.fault}")
            return
        if isinstance(machine, dict):
            self._facts["protocol version"] = str(machine.get("protocol_version"))[:40]
            little = machine.get("little_endian") is not False
            self._facts["byte order"] = "little-endian" + ("" if little else " (written on a big-endian machine)")

    def _storages_task(self) -> Task[None]:
        stream = self._part(self._members["storages"])
        count, at = yield from self._count_task(stream, "the number of storages")
        for nth in range(count):
            if nth % _PER_PROGRESS == 0:
                yield Progress(nth, count, "storages")
            loaded = yield from load_pickle_task(self._session, stream, at, "a storage's facts", window=_WINDOW)
            key, location, dtype = _storage_facts(loaded.root)
            (numel,) = unpack("<q", stream.read(loaded.end, 8))
            nbytes = numel * DTYPES[dtype].itemsize
            if numel < 0 or nbytes >= 1 << 62:
                raise MalformedFile(f"storage {key[:40]!r} claims {numel:,} elements")
            at = loaded.end + 8 + nbytes
            self._place(key, dtype, location, loaded.end + 8, nbytes, stream)
            if at > stream.nbytes:
                raise MalformedFile(f"the file ends in storage {key[:40]!r}")
        if at >= stream.nbytes:
            return  # imitations write no list of views
        views = (yield from load_pickle_task(self._session, stream, at, "the list of views")).root
        for view in views if isinstance(views, list | tuple) else ():
            self._add_view(view)

    def _place(self, key: str, dtype: int, location: str, offset: int, nbytes: int, stream: SlicedSource) -> None:
        session = self._session
        number = session.add_storage(key, dtype, nbytes, location)
        session.complete_storages()
        session.storages_by_key[key] = number
        self._made[key] = StorageStandIn(number, dtype)
        if offset + nbytes > stream.nbytes:
            session.storages.problem[number] = (
                f"the file ends early: {max(0, stream.nbytes - offset):,} of its {nbytes:,} bytes are there"
            )
            return
        storages = session.storages
        storages.encoding[number] = STORED
        storages.offset[number] = stream.start + offset
        storages.length[number] = nbytes
        del storages.problem[number]

    def _add_view(self, view: object) -> None:
        if type(view) is tuple and len(view) == 4:
            key, root_key, first, size = view
            root = self._made.get(str(root_key)[:40])
            if (
                isinstance(root, StorageStandIn)
                and type(first) is int
                and type(size) is int
                and min(first, size) >= 0
                and (first + size) * DTYPES[root.dtype].itemsize <= self._session.storages.nbytes[root.number]
            ):
                self._made[str(key)[:40]] = StorageStandIn(root.number, root.dtype, first)
                return
        self._session.warn("a view of a storage is described in a form that cannot be; it was left out")

    def _tensors_task(self) -> Task[None]:
        stream = self._part(self._members["tensors"])
        place = placer(self._session)
        count, at = yield from self._count_task(stream, "the number of tensors")
        for nth in range(count):
            if nth % _PER_PROGRESS == 0:
                yield Progress(nth, count, "tensors")
            loaded = yield from load_pickle_task(self._session, stream, at, "a tensor's facts", window=_WINDOW)
            facts = loaded.root
            if type(facts) is not tuple or len(facts) != 3:
                raise MalformedFile("a tensor's facts are not (key, storage, class)")
            (dims,) = unpack("<i", stream.read(loaded.end, 4))
            if not 0 <= dims <= self._session.limits.tensor_dims:
                raise MalformedFile(f"a tensor claims {dims:,} dimensions")
            numbers = unpack(f"<{2 * dims + 1}q", stream.read(loaded.end + 8, 16 * dims + 8))
            at = loaded.end + 8 + 16 * dims + 8
            storage = self._made.get(str(facts[1])[:40])
            if isinstance(storage, StorageStandIn):
                self._made[str(facts[0])[:40]] = place(
                    storage, numbers[-1], numbers[:dims], numbers[dims : 2 * dims], False, storage.dtype
                )

    def _count_task(self, stream: SlicedSource, what: str) -> Task[tuple[int, int]]:
        """(number of entries, offset behind it)."""
        loaded = yield from load_pickle_task(self._session, stream, 0, what, window=_WINDOW)
        if type(loaded.root) is not int or loaded.root < 0:
            raise MalformedFile(f"{what} is no number")
        if loaded.root > _MAX_ENTRIES:
            raise LimitExceeded(f"{what} is {loaded.root:,}, more than any file of that time has")
        return loaded.root, loaded.end

    def _referred(self, pid: object) -> object:
        """What a persistent id of the object's pickle stands for."""
        if type(pid) in (str, int):
            made = self._made.get(str(pid)[:40])
            return Problem(f"the file does not hold what its pickle calls {str(pid)[:40]}") if made is None else made
        if type(pid) is tuple and len(pid) == 3 and isinstance(pid[0], StandInType):
            self._session.module_sources[pid[0].dotted] = pid[2] if type(pid[2]) is str else ""
            return pid[0]
        return self._in_torch_form(pid)

    def _mended(self, item: object, depth: int) -> object:
        """The graph of an imitation, with its tensors rebuilt: some write the tuple that names a storage in place of
        a persistent id, so that it reaches the call as a plain tuple."""
        known = self._mended_items.get(id(item))
        if known is not None:
            return known[1]
        if depth > _MENDED_DEPTH or not isinstance(item, ObjectStandIn | dict | list | tuple):
            return item
        self._mended_items[id(item)] = (item, item)
        made = self._mended_once(item, depth)
        self._mended_items[id(item)] = (item, made)
        return made

    def _mended_once(self, item: object, depth: int) -> object:
        if isinstance(item, ObjectStandIn) and item.type_name in _REBUILDERS and len(item.args) >= 4:
            storage = self._in_torch_form(item.args[0])
            if isinstance(storage, StorageStandIn):
                offset, size, stride, requires_grad = (*item.args[1:5], False)[:4]
                return placer(self._session)(storage, offset, size, stride, requires_grad, storage.dtype)
        if isinstance(item, MappingStandIn) and item.given is not None:
            item.given = self._mended(item.given, depth + 1)
        if isinstance(item, dict):
            for key, value in item.items():
                dict.__setitem__(item, key, self._mended(value, depth + 1))
        elif type(item) is list:
            item[:] = [self._mended(value, depth + 1) for value in item]
        elif type(item) is tuple:
            return tuple(self._mended(value, depth + 1) for value in item)
        return item

    def _check_claims(self) -> None:
        """The pickle of an imitation says sizes again: where it asks for more than is there, nothing may be read."""
        self._session.complete_storages()
        storages = self._session.storages
        for number in self._session.storages_by_key.values():
            if storages.encoding[number] == STORED and storages.nbytes[number] > storages.length[number]:
                storages.encoding[number] = UNREADABLE
                storages.problem[number] = (
                    f"the file stores {storages.length[number]:,} bytes of it, but {storages.nbytes[number]:,} are "
                    "needed"
                )


def _storage_facts(facts: object) -> tuple[str, str, int]:
    """Key, location and dtype of a storage."""
    if type(facts) is tuple and len(facts) == 3:
        key, location, storage_class = facts
        dtype = storage_class_dtype(storage_class)
        if dtype >= 0 and type(key) in (int, str):
            return str(key)[:40], location if type(location) is str else "unknown", dtype
    raise MalformedFile("a storage's facts are not (key, location, class)")
