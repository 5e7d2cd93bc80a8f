"""Pickles read without running them.

    session = PickleSession(limits, persistent_ids="torch", nested_loader=None)
    loaded = session.load(data, offset, source_name="data.pkl")   # several may share one session
    nodes = build_nodes(loaded.root, session, limits)              # viewer.formats.tree

`loaded.root` is a graph of builtins and of the stand-ins of `viewer.formats.pickle.standins`; `loaded.end` is the
offset after STOP; `loaded.problem` says why only a part of it was read, if so. Data that ends before STOP raises
`TruncatedPickle` (read more and call again), or, with `partial=True`, gives what comes before the cut.
The session collects what the pickles refer to:

`session.tensors`, `session.storages`, `session.blobs`
: the columns of the checkpoint. A storage named by a torch persistent id starts as UNREADABLE, with the problem "no
  record of the file holds its bytes", until the container says where they lie (`session.storages_by_key`: key to
  storage number); a numpy array of the pickle itself is INLINE, and `blobs[offset]` holds it.

`session.globals()`, `session.warnings`
: what the pickles name, and what was odd about them.

`session.nested()`
: a session over the same columns with storage keys of its own, for a pickle stream inside a byte string
  (`nested_loader(data) -> object` is called with those of `torch.storage._load_from_bytes`).

Containers compose their own graphs of `Group` (name to object), `Text`, `Problem`, `TensorStandIn(number)`,
`StorageStandIn(number, dtype_code)` and plain builtins, and hand the root to `build_nodes`.
"""

from viewer.formats.pickle.faults import TruncatedPickle
from viewer.formats.pickle.session import Loaded, PickleSession
from viewer.formats.pickle.standins import (
    Group,
    MappingStandIn,
    ObjectStandIn,
    Problem,
    ScalarStandIn,
    SequenceStandIn,
    StandInType,
    StorageStandIn,
    TensorStandIn,
    Text,
    make_mapping,
)

__all__ = [
    "Group",
    "Loaded",
    "MappingStandIn",
    "ObjectStandIn",
    "PickleSession",
    "Problem",
    "ScalarStandIn",
    "SequenceStandIn",
    "StandInType",
    "StorageStandIn",
    "TensorStandIn",
    "Text",
    "TruncatedPickle",
    "make_mapping",
]
