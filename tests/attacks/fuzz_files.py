"""Mutates whole checkpoint files of every container and opens each: a long run by hand, a short one in the tests.

    python -m tests.attacks.fuzz_files --count 200000 [--seed 1] [--folder FOLDER]

Every input ends in a checkpoint or a ViewerError, within its time and memory, opens no file but its own, and imports
and starts nothing. What breaks that is printed, and written to `fuzz-SEED-NUMBER.bin` in the current folder.
"""

from __future__ import annotations

import argparse
import gc
import io
import json
import os
import random
import resource
import struct
import sys
import tarfile
import tempfile
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

from tests.attacks.fuzz_pickle import Outcome, mutate
from tests.attacks.pickle_child import OUR_OWN
from viewer.errors import ViewerError
from viewer.formats.opening import open_task
from viewer.task import run as run_task

SECONDS = 5.0
ZIP_HEADERS = (b"PK\x01\x02", b"PK\x03\x04", b"PK\x05\x06")
HARMLESS_EVENTS = OUR_OWN | {"compile"}
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


def run(count: int, seed: int, folder: Path) -> Iterator[Outcome]:
    """Open `count` mutated files; yields the outcome so far after each hundred, and at the end."""
    rng = random.Random(seed)
    named = seeds()
    pool = list(named.values())
    for name, data in named.items():  # so that all modules are imported before the hook listens
        _open(_write(folder, name, data))
    "".encode("cp437")  # the codec of old names in zip files
    events: list[str] = []
    own = str(folder)
    listening = False

    def hear(event: str, args: tuple[object, ...]) -> None:
        if not listening or event in HARMLESS_EVENTS:
            return
        if event in ("open", "os.listdir", "os.scandir") and os.fspath(str(args[0])).startswith(own):
            return
        events.append(f"{event} {str(args)[:100]}")

    sys.addaudithook(hear)
    outcome = Outcome()
    gc.collect()
    for number in range(count):
        name = rng.choice(list(named))
        data = mutate_file(rng, named[name], pool)
        path = _write(folder, name, data)
        started = time.process_time()
        listening = True
        try:
            checkpoint = _open(path)
            outcome.opened += not checkpoint.warnings
            outcome.partial += bool(checkpoint.warnings)
        except ViewerError:
            outcome.refused += 1
        except BaseException as error:  # noqa: BLE001 - the very thing that is looked for
            outcome.faults.append((data, f"{name}: {type(error).__name__}: {error}"))
        finally:
            listening = False
        seconds = time.process_time() - started
        outcome.slowest_s = max(outcome.slowest_s, seconds)
        if seconds > SECONDS:
            outcome.faults.append((data, f"{name}: took {seconds:.1f} s"))
        if events:
            outcome.faults.append((data, f"{name}: set off {events[:5]}"))
            events.clear()
        if number % 100 == 99:
            yield outcome
    yield outcome


def _open(path: Path):  # type: ignore[no-untyped-def]
    return run_task(open_task(path))


def _write(folder: Path, name: str, data: bytes) -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


def main() -> int:
    parser = argparse.ArgumentParser(description="Mutate checkpoint files and open them")
    parser.add_argument("--count", type=int, default=200_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path, help="where the mutated files are written; best in memory")
    options = parser.parse_args()
    outcome = Outcome()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        for nth, outcome in enumerate(run(options.count, options.seed, Path(folder))):
            if nth % 100 == 0 or outcome.faults:
                peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
                print(
                    f"{outcome.opened:,} opened, {outcome.partial:,} in part, {outcome.refused:,} refused, "
                    f"{len(outcome.faults):,} faults, slowest {outcome.slowest_s:.2f} s, peak {peak:,} MiB",
                    flush=True,
                )
            if outcome.faults:
                break
    for number, (data, what) in enumerate(outcome.faults):
        Path(f"fuzz-{options.seed}-{number}.bin").write_bytes(data)
        print(what)
    total = outcome.opened + outcome.partial + outcome.refused
    print(f"{total:,} inputs")
    return bool(outcome.faults)


if __name__ == "__main__":
    raise SystemExit(main())
