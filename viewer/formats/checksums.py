"""Checksums that a file keeps of its storages, compared with what is there.

torch writes a CRC-32 for each record of a zip archive and never looks at it again, so a flipped bit loads in silence.
Reading all values costs as much as the file is long; so it is done only when somebody asks.
"""

from __future__ import annotations

import zlib
from collections.abc import Collection
from typing import Final

from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.tensors import UNREADABLE
from viewer.errors import FileChanged, ViewerError
from viewer.formats.storage_bytes import StorageReader
from viewer.task import Progress, Task

MISMATCH: Final = "checksum mismatch: its bytes are not those that were written"
_STEP: Final = 4 << 20


def check_task(checkpoint: Checkpoint, only: Collection[int] | None = None) -> Task[list[tuple[int, str]]]:
    """Compare every storage that has a checksum; returns (storage number, problem) for those at fault.

    Storages without one (legacy files, safetensors, archives written with `set_crc32_options(False)`) are not read:
    `checked_count` says how many are.

    Parameters
    ----------
    only
        The numbers of the storages to look at; None for all.

    Raises
    ------
    FileChanged
        When the file is not the one any more that was opened.
    """
    storages = checkpoint.storages
    numbers = sorted(storages.crc if only is None else storages.crc.keys() & only)
    total = sum(storages.nbytes[number] for number in numbers)
    done = 0
    problems: list[tuple[int, str]] = []
    buffer = memoryview(bytearray(_STEP))
    with StorageReader(checkpoint) as reader:
        for number in numbers:
            if storages.encoding[number] == UNREADABLE:
                problems.append((number, storages.problem.get(number, "it cannot be read")))
                continue
            storage = checkpoint.storage(number)
            crc = 0
            try:
                for offset in range(0, storage.nbytes, _STEP):
                    piece = buffer[: min(_STEP, storage.nbytes - offset)]
                    reader.read_into(storage, offset, piece)
                    crc = zlib.crc32(piece, crc)
                    yield Progress(done + offset + len(piece), total)
            except FileChanged:
                raise
            except ViewerError as error:
                problems.append((number, error.fault))
            else:
                if crc != storages.crc[number]:
                    problems.append((number, MISMATCH))
            done += storage.nbytes
    return problems


def checked_count(checkpoint: Checkpoint) -> int:
    """How many storages have a checksum in the file."""
    return len(checkpoint.storages.crc)
