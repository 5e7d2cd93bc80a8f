"""Mutates whole checkpoint files of every container and opens each: a long run by hand, a short one in the tests.

    python -m tests.attacks.fuzz_files --count 200000 [--seed 1] [--folder FOLDER]

Every input ends in a checkpoint or a ViewerError, within its time and memory, opens no file but its own, and imports
and starts nothing. What breaks that is printed, and written to `fuzz-SEED-NUMBER.bin` in the current folder.
"""

from __future__ import annotations

import io
import json
import os
import random
import struct
import tarfile
import tempfile
import zipfile
from pathlib import Path

from tests.attacks.fuzz_pickle import mutate
from tests.attacks.fuzzing import arguments, report, run
from tests.attacks.pickle_child import OUR_OWN
from viewer.formats.opening import open_task
from viewer.task import run as run_task

ZIP_HEADERS = (b"PK\x01\x02", b"PK\x03\x04", b"PK\x05\x06")
HARMLESS_EVENTS = frozenset(OUR_OWN | {"compile"})
"""An .npy header is a Python literal; `ast.literal_eval` compiles it to a syntax tree and runs nothing ("exec" is an
event of its own)."""


def seeds() -> dict[str, bytes]:
    """Small files of each container, by the name that they are opened under."""
    import numpy as np
    import torch
    from safetensors.torch import save as save_safetensors

    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2))
    state = {"model": model.state_dict(), "whole": model, "view": torch.ones(8)[2:6], "n": [1, "a", (2.5, None)]}
    plain = _saved(torch, state)
    legacy = _saved(torch, state, _use_new_zipfile_serialization=False)
    script = io.BytesIO()
    torch.jit.save(torch.jit.trace(model.eval(), torch.ones(1, 2)), script)
    arrays = io.BytesIO()
    np.savez(arrays, a=np.ones(3), b=np.array(["x", None], dtype=object))
    array = io.BytesIO()
    np.save(array, np.asfortranarray(np.arange(6.0).reshape(2, 3)))
    index = {"metadata": {"total_size": 8}, "weight_map": {"a": "m-1.safetensors", "b": "../m.bin"}}
    return {
        "zip.pth": plain,
        "deflated.pth": _rezipped(plain, zipfile.ZIP_DEFLATED),
        "legacy.pth": legacy,
        "script.pt": script.getvalue(),
        "model.safetensors": save_safetensors({"a": torch.ones(2, 3), "b": torch.arange(4)}, {"format": "pt"}),
        "arrays.npz": arrays.getvalue(),
        "array.npy": array.getvalue(),
        "torch-0.1.tar": _tarred({"sys_info": b"\x80\x02}.", "pickle": b"\x80\x02}.", "storages": b"\x80\x02K\x00."}),
        "bundle.tar": _tarred({"run/model.pth": plain, "run/notes.txt": b"hello"}),
        "bundle.zip": _zipped({"policy.pth": plain, "data": b'{"a": 1}', "old.pth": legacy}),
        "model.safetensors.index.json": json.dumps(index).encode(),
    }


def _saved(torch: object, state: object, **options: object) -> bytes:
    file = io.BytesIO()
    torch.save(state, file, **options)  # type: ignore[attr-defined]
    return file.getvalue()


def _rezipped(data: bytes, method: int) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as source, zipfile.ZipFile(file, "w", method) as target:
        for name in source.namelist():
            target.writestr(name, source.read(name))
    return file.getvalue()


def _zipped(members: dict[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as target:
        for name, data in members.items():
            target.writestr(name, data)
    return file.getvalue()


def _tarred(members: dict[str, bytes]) -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as target:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            target.addfile(info, io.BytesIO(data))
    return file.getvalue()


def mutate_file(rng: random.Random, data: bytes, pool: list[bytes]) -> bytes:
    """Changes as for pickles, cuts, and lies in the length fields that containers have."""
    kind = rng.randrange(6)
    if kind == 0:
        return data[: rng.randrange(len(data))]
    if kind == 1:
        out = bytearray(data)
        for _ in range(rng.choice((1, 1, 2, 4))):
            at = rng.randrange(max(len(out) - 8, 1))
            value = rng.choice(
                (0, 1, 255, 1 << 16, 1 << 31, (1 << 32) - 1, 1 << 40, (1 << 64) - 1, rng.getrandbits(64))
            )
            out[at : at + 8] = struct.pack("<Q", value)[: rng.choice((1, 2, 4, 8))].ljust(1, b"\0")
        return bytes(out)
    if kind == 2 and b"PK\x01\x02" in data:  # a field of the zip's directory
        out = bytearray(data)
        starts = [
            at for at in range(len(out) - 46) if out[at : at + 4] in (b"PK\x01\x02", b"PK\x03\x04", b"PK\x05\x06")
        ]
        for at in rng.sample(starts, min(len(starts), rng.choice((1, 2)))):
            field = at + rng.choice((4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30, 42))
            out[field : field + 2] = rng.choice((b"\0\0", b"\xff\xff", b"\1\0", rng.randbytes(2)))
        return bytes(out)
    return mutate(rng, data, pool)


class FileFuzz:
    """Mutated files, each written to `folder` under the name of its kind."""

    def __init__(self, seed: int, folder: Path) -> None:
        self._rng = random.Random(seed)
        self._folder = folder
        self._seeds = seeds()
        self._pool = list(self._seeds.values())
        for name, data in self._seeds.items():  # so that all modules are imported before the hook listens
            self._write(name, data)
            self.open(name, data)
        "".encode("cp437")  # the codec of old names in zip files

    def make(self) -> tuple[str, bytes]:
        name = self._rng.choice(list(self._seeds))
        data = mutate_file(self._rng, self._seeds[name], self._pool)
        self._write(name, data)
        return name, data

    def open(self, name: str, _data: bytes) -> bool:
        return not run_task(open_task(self._folder / name)).warnings

    def is_own(self, event: str, args: tuple[object, ...]) -> bool:
        if event in ("open", "os.listdir", "os.scandir"):
            return os.fspath(str(args[0])).startswith(str(self._folder))
        return event in HARMLESS_EVENTS

    def _write(self, name: str, data: bytes) -> None:
        (self._folder / name).write_bytes(data)


def main() -> int:
    options = arguments(
        "Mutate checkpoint files and open them",
        lambda parser: parser.add_argument(
            "--folder", type=Path, help="where the mutated files are written; best in memory"
        ),
    )
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        fuzz = FileFuzz(options.seed, Path(folder))
        return report(run(fuzz, options.count), options.seed, ".bin")


if __name__ == "__main__":
    raise SystemExit(main())
