"""Small tensors that are the same, found without the machinery that large or different ones need: a checkpoint of
forty thousand layers has more of them than time."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.dtypes import DTYPES
from viewer.checkpoint.nodes import Kind
from viewer.checkpoint.tensors import TensorFlag, is_contiguous, numel_of, storage_at
from viewer.compare.results import CompareOptions, Measures, PairResult, Status
from viewer.compare.tally import Asked, Tally, measures_of
from viewer.formats.storage_bytes import StorageReader

_MAX_NBYTES: Final = 1 << 16
_LAZY: Final = int(TensorFlag.CONJ | TensorFlag.NEG)
_PACKED: Final = frozenset({"float4_e2m1fn_x2", "quint4x2", "quint2x4"})
_FLOAT_CODES: Final = {"float64": "f8", "float32": "f4", "float16": "f2", "complex64": "f4", "complex128": "f8"}


class SmallPairs:
    """Answers for pairs of small contiguous tensors with the same bytes, and leaves all others to `PairComparer`."""

    def __init__(
        self, a: tuple[Checkpoint, StorageReader], b: tuple[Checkpoint, StorageReader], options: CompareOptions
    ) -> None:
        self._a, self._reader_a = a
        self._b, self._reader_b = b
        self._asks_tolerance = options.preset or options.tolerance is not None
        self._counts_steps = options.count_steps

    def if_identical(self, row: int, node_a: int, node_b: int) -> PairResult | None:
        """The result of a pair with the same bytes and no special value; None for any other.

        Raises
        ------
        ViewerError
            When a side cannot be read.
        """
        a, b = self._a, self._b
        tensor = int(Kind.TENSOR)
        if a.nodes.kind[node_a] != tensor or b.nodes.kind[node_b] != tensor:
            return None
        number_a, number_b = a.nodes.value[node_a], b.nodes.value[node_b]
        assert isinstance(number_a, int)
        assert isinstance(number_b, int)
        dtype = DTYPES[a.tensors.dtype[number_a]]
        shape = a.tensors.shape[number_a]
        nbytes = numel_of(shape) * dtype.itemsize
        if (
            a.tensors.dtype[number_a] != b.tensors.dtype[number_b]
            or nbytes > _MAX_NBYTES
            or dtype.kind == "quantized"
            or dtype.name in _PACKED
            or (a.tensors.flags[number_a] | b.tensors.flags[number_b]) & _LAZY
        ):
            return None
        sides: list[bytearray] = []
        for checkpoint, number, reader in ((a, number_a, self._reader_a), (b, number_b, self._reader_b)):
            tensors = checkpoint.tensors
            storage = storage_at(checkpoint.storages, tensors.storage[number])
            start = tensors.storage_offset[number] * dtype.itemsize
            if not is_contiguous(shape, tensors.stride[number]) or storage.big_endian or start < 0:
                return None
            if start + nbytes > storage.nbytes:
                return None  # its reader says what is wrong
            data = bytearray(nbytes)
            if nbytes:
                reader.read_into(storage, start, data)
            sides.append(data)
        if sides[0] != sides[1] or not _is_ordinary(sides[0], dtype.name, dtype.kind):
            return None
        measures = _identical(
            numel_of(shape),
            dtype.name,
            dtype.kind,
            asks_tolerance=self._asks_tolerance,
            counts_steps=self._counts_steps,
        )
        return PairResult(row, Status.IDENTICAL, True, True, measures)


def _is_ordinary(data: bytearray, name: str, kind: str) -> bool:
    """Whether no value can be NaN or an infinity."""
    if kind not in ("float", "complex") or not data:
        return True
    import numpy as np

    code = _FLOAT_CODES.get(name)
    if code is not None:
        values = np.frombuffer(data, code)
        return bool(np.isfinite(values).all())
    if name == "bfloat16":
        return bool((np.frombuffer(data, np.uint16) & 0x7F80 != 0x7F80).all())
    return False


@lru_cache(maxsize=4096)
def _identical(count: int, name: str, kind: str, *, asks_tolerance: bool, counts_steps: bool) -> Measures:
    """The measures of two equal tensors of so many finite values."""
    has_ulp = kind in ("float", "complex") and name != "complex32"
    asked = Asked(
        same_dtype=True,
        has_ulp=has_ulp,
        has_signs=kind != "complex",
        tolerance=asks_tolerance,
        counts_steps=counts_steps,
    )
    tally = Tally(compared=count)
    if has_ulp:
        tally.ulp_counts[0] = count * (2 if kind == "complex" else 1)
    return measures_of(tally, count, 1, asked)
