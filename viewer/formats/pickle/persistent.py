"""Persistent ids: how torch pickles refer to storages, and what to make of ids that are something else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from viewer.checkpoint.dtypes import DTYPE_CODE, DTYPES, STORAGE_CLASS_DTYPE
from viewer.formats.pickle.names import STORAGE_CLASSES
from viewer.formats.pickle.standins import ObjectStandIn, Problem, StandInType, StorageStandIn

if TYPE_CHECKING:
    from viewer.formats.pickle.session import PersistentReader, PickleSession

_MOST_ELEMENTS: Final = (1 << 59) - 1  # of 16 bytes, in an int64


class PersistentId(metaclass=StandInType):
    """Stands for a persistent id of no known form; its record holds the id as its argument."""

    dotted = "persistent id"


def persistent_reader(session: PickleSession) -> PersistentReader:
    """The function that reads the persistent ids of one pickle of this session."""
    if session.persistent_ids == "inert":
        return _inert
    if callable(session.persistent_ids):
        return session.persistent_ids

    by_key = session.storages_by_key
    storages = session.storages
    nbytes_column = storages.nbytes
    # What `session.add_storage` does, without the call: this runs once for every storage of a file.
    keys, dtypes, sizes, locations = (
        storages.key.append,
        storages.dtype.append,
        nbytes_column.append,
        storages.location.append,
    )
    # By id of a stand-in class, which is held beside: what it stands for. (A hash of the object would be its own.)
    classes: dict[int, tuple[int, int, object]] = {}
    known = classes.get
    number_of = by_key.setdefault
    new = object.__new__
    last_class: object = None  # most storages of a file are of one class
    dtype = itemsize = -1

    def read(pid: object) -> object:
        nonlocal last_class, dtype, itemsize
        view = None
        if type(pid) is tuple and len(pid) == 5:
            tag, storage_class, key, location, numel = pid
        elif type(pid) is tuple and len(pid) == 6:
            tag, storage_class, key, location, numel, view = pid
        else:
            return _other(session, pid)
        if tag != "storage" or type(key) is not str:
            return _other(session, pid)
        if storage_class is not last_class:
            kind = known(id(storage_class))
            if kind is None:
                code = storage_class_dtype(storage_class)
                kind = classes[id(storage_class)] = (code, DTYPES[code].itemsize, storage_class)
            dtype, itemsize, last_class = kind
        if dtype < 0 or type(numel) is not int or not 0 <= numel <= _MOST_ELEMENTS:
            return Problem("a storage of an unknown kind or size")
        count = len(nbytes_column)
        number = number_of(key, count)
        if number == count:
            keys(key)
            dtypes(dtype)
            sizes(numel * itemsize)
            locations(location if type(location) is str else "unknown")
        elif nbytes_column[number] < numel * itemsize:
            # The same record, named twice with different sizes: the larger claim is the one to check.
            nbytes_column[number] = numel * itemsize
        made = new(StorageStandIn)
        made.number = number
        made.dtype = dtype
        made.first = 0
        if view is not None:
            _apply_view(session, made, view)
        return made

    return read


def storage_class_dtype(storage_class: object) -> int:
    """The dtype code of a storage class's stand-in; -1 where it is not one of torch's."""
    if not isinstance(storage_class, StandInType) or storage_class.dotted not in STORAGE_CLASSES:
        return -1
    return DTYPE_CODE.get(STORAGE_CLASS_DTYPE.get(storage_class.dotted.rpartition(".")[2], ""), -1)


def _apply_view(session: PickleSession, storage: StorageStandIn, view: object) -> None:
    """`(view_key, offset, size)` of legacy files: offset and size in elements of the root storage
    (torch/serialization.py, `_legacy_load`)."""
    if type(view) is tuple and len(view) == 3:
        _, first, size = view
        if type(first) is int and type(size) is int and 0 <= first <= _MOST_ELEMENTS and size >= 0:
            storage.first = first
            return
    session.warn("a view of a storage is described in an unknown form and was read as the whole storage")


def _other(session: PickleSession, pid: object) -> object:
    if type(pid) is tuple and len(pid) == 4 and pid[0] == "module":
        # ("module", class, source file, source) of legacy files, for the containers that nn.Module pickles name.
        made = pid[1]
        if isinstance(made, StandInType):
            session.module_sources[made.dotted] = pid[3] if type(pid[3]) is str else ""
            return made
    return _inert(pid)


def _inert(pid: object) -> object:
    return ObjectStandIn(PersistentId, (pid,))
