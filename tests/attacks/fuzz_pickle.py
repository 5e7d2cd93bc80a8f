"""Mutates pickles at the level of bytes and of opcodes and opens each: a long run by hand, a short one in the tests.

    python -m tests.attacks.fuzz_pickle --count 200000 [--seed 1] [FILE ...]

Every input ends in a tree or a ViewerError, within its time, and sets off no audit event beyond the reader's own.
What breaks that is printed and written to `fuzz-SEED-NUMBER.pkl` in the current folder. FILEs are pickles to mutate
beside the built-in ones.
"""

from __future__ import annotations

import collections
import datetime
import io
import pickle
import random
import zipfile
from collections.abc import Sequence
from pathlib import Path

from tests.attacks.fuzzing import arguments, report, run
from tests.attacks.pickle_child import OUR_OWN
from viewer.formats.pickle import PickleSession, StorageStandIn
from viewer.formats.pickle.actions import ACTIONS
from viewer.formats.pickle.opcodes import COUNTED_ARGUMENT, FIXED_ARGUMENT, LINE_ARGUMENT
from viewer.formats.tree import build_nodes

OPCODES = [*FIXED_ARGUMENT, *COUNTED_ARGUMENT, *LINE_ARGUMENT, b"\x82", b"\x83", b"\x84"]
NAMES = [
    b"cos\nsystem\n",
    b"cbuiltins\neval\n",
    b"cbuiltins\ngetattr\n",
    b"ccollections\nOrderedDict\n",
    b"ctorch._utils\n_rebuild_tensor_v2\n",
    b"ctorch._utils\n_rebuild_parameter\n",
    b"ctorch._tensor\n_rebuild_from_type_v2\n",
    b"ctorch.storage\n_load_from_bytes\n",
    b"cnumpy._core.multiarray\n_reconstruct\n",
    b"cnumpy\ndtype\n",
    b"ccopyreg\n_reconstructor\n",
    b"ccopyreg\n__newobj__\n",
    b"c_codecs\nencode\n",
    b"cdatetime\ndatetime\n",
]
assert ACTIONS  # imported before an audit hook listens


def seeds() -> list[bytes]:
    """Pickles of all protocols, of plain things, torch's and numpy's."""
    import numpy as np
    import torch

    plain = {
        "a": [1, 2.5, None, True, 2**70],
        "b": (b"x", "t\u00e9xt", ()),
        3: {(1, 2): {1, 2}},
        "c": [collections.OrderedDict(a=1), collections.deque([1]), frozenset({1}), datetime.datetime(2024, 5, 6)],
        "d": [bytearray(b"x"), slice(1), range(2), 1j, np.float32(1), np.arange(3), np.array(["a"])],
    }
    found = [pickle.dumps(plain, protocol) for protocol in range(6)]
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2))
    state = {"model": model.state_dict(), "whole": model, "view": torch.ones(4)[1:], "half": torch.ones(2).half()}
    for protocol in (2, 5):
        file = io.BytesIO()
        torch.save(state, file, pickle_protocol=protocol)
        with zipfile.ZipFile(file) as archive:
            found.append(archive.read("archive/data.pkl"))
    return found


def mutate(rng: random.Random, data: bytes, pool: Sequence[bytes]) -> bytes:
    """A few changes: of bits, bytes, opcodes, lengths, or pieces of another pickle."""
    out = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 3, 8))):
        at = rng.randrange(len(out) + 1)
        kind = rng.randrange(9)
        if kind == 0 and at < len(out):
            out[at] ^= 1 << rng.randrange(8)
        elif kind == 1 and at < len(out):
            out[at] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))
        elif kind == 2:
            out[at:at] = rng.choice(OPCODES)
        elif kind == 3:
            out[at:at] = rng.choice(NAMES)
        elif kind == 4:
            del out[at : at + rng.choice((1, 2, 4, 16, 200))]
        elif kind == 5:
            end = at + rng.choice((1, 4, 20, 100))
            out[at:at] = out[at:end] * rng.choice((1, 2, 30))
        elif kind == 6:
            other = rng.choice(pool)
            begin = rng.randrange(len(other))
            out[at:at] = other[begin : begin + rng.choice((2, 10, 60, 400))]
        elif kind == 7:
            out[at : at + 1] = rng.choice(OPCODES)
        else:
            out[at:at] = b"".join(rng.choice(OPCODES) for _ in range(rng.choice((2, 5, 20))))
    return bytes(out)


def open_pickle(name: str, data: bytes) -> bool:
    """Read one pickle and make its tree; True where all of it could be shown."""
    session = PickleSession(nested_loader=lambda raw: StorageStandIn(0, 0) if len(raw) % 2 else None)
    loaded = session.load(data, source_name=name, partial=True)
    build_nodes(loaded.root, session)
    return not loaded.problem


class PickleFuzz:
    """Mutated pickles."""

    def __init__(self, seed: int, more: Sequence[bytes] = ()) -> None:
        self._rng = random.Random(seed)
        self._pool = [*seeds(), *more]

    def make(self) -> tuple[str, bytes]:
        return "data.pkl", mutate(self._rng, self._rng.choice(self._pool), self._pool)

    def open(self, name: str, data: bytes) -> bool:
        return open_pickle(name, data)

    def is_own(self, event: str, _args: tuple[object, ...]) -> bool:
        return event in OUR_OWN


def main() -> int:
    options = arguments(
        "Mutate pickles and open them", lambda parser: parser.add_argument("files", nargs="*", type=Path)
    )
    fuzz = PickleFuzz(options.seed, [path.read_bytes() for path in options.files])
    return report(run(fuzz, options.count), options.seed, ".pkl")


if __name__ == "__main__":
    raise SystemExit(main())
