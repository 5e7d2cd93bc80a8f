"""Every kind of tensor that torch saves: its row, its parts, and its values as torch has them."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.formats.kinds.kind_files import assert_reads_as, number_at, opened, rows
from viewer.checkpoint.dtypes import DTYPES
from viewer.checkpoint.tensors import TensorFlag
from viewer.errors import MalformedFile
from viewer.tensors.reading import read_values

pytestmark = pytest.mark.filterwarnings("ignore")

BITS = torch.arange(256, dtype=torch.uint8)


class Marked(torch.Tensor):
    """A subclass that only adds a name."""


class Wrapper(torch.Tensor):
    """A tensor without storage around another, as DTensor and quantized weights are."""

    @staticmethod
    def __new__(cls, inner: torch.Tensor, note: str) -> Wrapper:
        return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)  # type: ignore[attr-defined, no-any-return]

    def __init__(self, inner: torch.Tensor, note: str) -> None:
        self.inner = inner
        self.note = note

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*[arg.inner if isinstance(arg, Wrapper) else arg for arg in args], **(kwargs or {}))


def test_that_parameters_and_flags_are_shown(tmp_path: Path) -> None:
    tensors = {
        "plain": torch.arange(3.0),
        "grad": torch.arange(3.0, requires_grad=True),
        "parameter": torch.nn.Parameter(torch.arange(3.0)),
        "frozen": torch.nn.Parameter(torch.arange(3.0), requires_grad=False),
        "buffer": torch.nn.Buffer(torch.arange(3.0)),
    }
    checkpoint = opened(tmp_path, tensors)
    shown = rows(checkpoint)
    assert {name: shown[name][1] for name in tensors} == {
        "plain": "tensor", "grad": "tensor", "parameter": "Parameter", "frozen": "Parameter", "buffer": "tensor",
    }  # fmt: skip
    for name, tensor in tensors.items():
        assert_reads_as(checkpoint, name, tensor)
        flags = checkpoint.tensor(number_at(checkpoint, name)).flags
        assert bool(flags & TensorFlag.REQUIRES_GRAD) == tensor.requires_grad
        assert bool(flags & TensorFlag.PARAMETER) == (type(tensor) is torch.nn.Parameter)


def test_that_attributes_and_states_of_tensors_are_rows_below_them(tmp_path: Path) -> None:
    tensor = torch.arange(3.0)
    tensor.scale = torch.tensor([0.5])  # type: ignore[attr-defined]
    parameter = torch.nn.Parameter(torch.arange(4.0))
    parameter.tags = {"group": 1}  # type: ignore[attr-defined]
    wide = torch.arange(3).to(torch.uint32)  # saved by _rebuild_tensor_v3
    checkpoint = opened(tmp_path, {"tensor": tensor, "parameter": parameter, "wide": wide})
    assert_reads_as(checkpoint, "tensor", tensor)
    assert_reads_as(checkpoint, "tensor/scale", torch.tensor([0.5]))
    assert_reads_as(checkpoint, "wide", wide)
    assert rows(checkpoint)["parameter/tags/group"] == ("SCALAR", "int", 1)


@pytest.mark.parametrize("layout", ["coo", "csr", "csc", "bsr", "bsc"])
def test_that_sparse_tensors_show_parts_that_make_up_the_dense_one(tmp_path: Path, layout: str) -> None:
    dense = torch.tensor([[0.0, 1.5, 0.0, 0.0], [2.0, 0.0, 0.0, -3.0]])
    block = {"blocksize": (1, 2)} if layout.startswith("b") else {}
    sparse = dense.to_sparse(layout=getattr(torch, f"sparse_{layout}"), **block)
    checkpoint = opened(tmp_path, {"s": sparse})
    reference = checkpoint.tensor(number_at(checkpoint, "s"))
    assert (reference.layout, reference.shape) == (f"sparse_{layout}", (2, 4))
    names = {
        "coo": ["indices", "values"],
        "csr": ["crow_indices", "col_indices", "values"],
        "csc": ["ccol_indices", "row_indices", "values"],
    }[layout.replace("bs", "cs")]
    parts = [getattr(sparse, name)() for name in names]
    for name, part in zip(names, parts, strict=True):
        assert_reads_as(checkpoint, f"s/{name}", part)
    if layout == "coo":
        made = torch.sparse_coo_tensor(parts[0], parts[1], reference.shape)
    else:
        made = torch.sparse_compressed_tensor(*parts, reference.shape, layout=sparse.layout)
    assert torch.equal(made.to_dense(), dense)


def test_that_quantized_tensors_give_integers_and_real_numbers(tmp_path: Path) -> None:
    values = torch.linspace(-3, 3, 12).reshape(3, 4)
    tensors = {
        "quint8": torch.quantize_per_tensor(values, 0.1, 30, torch.quint8),
        "qint8": torch.quantize_per_tensor(values, 0.1, 0, torch.qint8),
        "qint32": torch.quantize_per_tensor(values, 0.001, 5, torch.qint32),
        "channels": torch.quantize_per_channel(
            values, torch.tensor([0.1, 0.2, 0.3]), torch.tensor([0, 1, 2]), 0, torch.qint8
        ),
    }
    checkpoint = opened(tmp_path, tensors)
    for name, tensor in tensors.items():
        number = number_at(checkpoint, name)
        assert read_values(checkpoint, number).tolist() == tensor.dequantize().reshape(-1).tolist()
        stored = read_values(checkpoint, number, quantized="stored")
        assert stored.tolist() == tensor.int_repr().reshape(-1).tolist()
    extra = checkpoint.tensor(number_at(checkpoint, "quint8")).extra
    assert (extra["qscheme"], extra["scale"], extra["zero_point"]) == ("per_tensor_affine", 0.1, 30)
    assert_reads_as(checkpoint, "channels/scales", tensors["channels"].q_per_channel_scales())
    assert_reads_as(checkpoint, "channels/zero_points", tensors["channels"].q_per_channel_zero_points())


def test_that_complex_conjugate_and_negative_views_give_what_torch_computes(tmp_path: Path) -> None:
    base = torch.tensor([1 + 2j, 3 - 4j])
    tensors = {
        "complex64": base,
        "complex128": base.to(torch.complex128),
        "conj": base.conj(),
        "neg": base.clone().conj().imag,
        "real": base.clone().real,
    }
    checkpoint = opened(tmp_path, tensors)
    assert tensors["conj"].is_conj()
    assert tensors["neg"].is_neg()
    for name, tensor in tensors.items():
        assert_reads_as(checkpoint, name, tensor)


def test_that_a_nested_tensor_shows_its_pieces(tmp_path: Path) -> None:
    pieces = [torch.arange(6.0).reshape(2, 3), torch.arange(12.0).reshape(4, 3)]
    checkpoint = opened(tmp_path, {"n": torch.nested.nested_tensor(pieces)})
    assert checkpoint.tensor(number_at(checkpoint, "n")).layout == "nested"
    flat = read_values(checkpoint, number_at(checkpoint, "n/values"))
    sizes = read_values(checkpoint, number_at(checkpoint, "n/sizes")).reshape(2, 2)
    offsets = read_values(checkpoint, number_at(checkpoint, "n/storage_offsets")).tolist()
    for piece, size, offset in zip(pieces, sizes.tolist(), offsets, strict=True):
        assert torch.equal(flat[offset : offset + piece.numel()].reshape(size), piece)


def test_that_a_meta_tensor_has_a_shape_and_says_that_it_has_no_values(tmp_path: Path) -> None:
    checkpoint = opened(tmp_path, {"m": torch.empty(2, 3, dtype=torch.bfloat16, device="meta")})
    reference = checkpoint.tensor(number_at(checkpoint, "m"))
    assert (reference.shape, reference.dtype.name, reference.device) == ((2, 3), "bfloat16", "meta")
    with pytest.raises(MalformedFile, match=r"in the rows below it|no data of it is stored"):
        read_values(checkpoint, reference)


def test_that_subclasses_are_named_and_read(tmp_path: Path) -> None:
    marked = torch.arange(4.0).as_subclass(Marked)
    checkpoint = opened(tmp_path, {"t": marked})
    assert rows(checkpoint)["t"][:2] == ("TENSOR", "Marked")
    assert_reads_as(checkpoint, "t", torch.arange(4.0))
    assert [use.name for use in checkpoint.globals if not use.harmless] == ["Marked"]


def test_that_a_wrapper_shows_what_it_wraps(tmp_path: Path) -> None:
    inner = torch.arange(6.0).reshape(2, 3)
    checkpoint = opened(tmp_path, {"w": Wrapper(inner, "by hand")})
    shown = rows(checkpoint)
    assert shown["w"][:2] == ("TENSOR", "Wrapper")
    assert checkpoint.tensor(number_at(checkpoint, "w")).shape == (2, 3)
    assert shown["w/note"] == ("SCALAR", "str", "by hand")
    assert_reads_as(checkpoint, "w/inner", inner)


class Placed(Wrapper):
    """As DTensor is: its parts are slots, and a Parameter of it has attributes beside them."""

    __slots__ = ("_local_tensor", "_spec")

    def __init__(self, inner: torch.Tensor, note: str) -> None:
        self.inner = self._local_tensor = inner
        self._spec = Spec((Shard(0), Replicate()))


class Spec:
    def __init__(self, placements: tuple[object, ...]) -> None:
        self.placements = placements


class Shard:
    def __init__(self, dim: int) -> None:
        self.dim = dim


class Replicate:
    """Of every rank the whole."""


def test_that_parts_kept_in_slots_are_rows_and_say_where_the_part_belongs(tmp_path: Path) -> None:
    local = torch.arange(6.0).reshape(2, 3)
    checkpoint = opened(tmp_path, {"d": Placed(local, "")})
    reference = checkpoint.tensor(number_at(checkpoint, "d"))
    assert reference.extra["local shape"] == "2×3"
    assert reference.extra["placements"] == "Shard(0), Replicate()"
    assert_reads_as(checkpoint, "d/_local_tensor", local)
    assert_reads_as(checkpoint, "d/inner", local)
    with pytest.raises(MalformedFile, match="around other tensors: its values are in the rows below it"):
        read_values(checkpoint, reference)


def test_that_a_jagged_tensor_shows_its_pieces(tmp_path: Path) -> None:
    pieces = [torch.arange(6.0).reshape(2, 3), torch.arange(12.0).reshape(4, 3)]
    checkpoint = opened(tmp_path, {"n": torch.nested.nested_tensor(pieces, layout=torch.jagged)})
    reference = checkpoint.tensor(number_at(checkpoint, "n"))
    assert (reference.layout, reference.shape, reference.dtype.name) == ("jagged", (6, 3), "float32")
    values = read_values(checkpoint, number_at(checkpoint, "n/values")).reshape(6, 3)
    offsets = read_values(checkpoint, number_at(checkpoint, "n/offsets")).tolist()
    for piece, (start, stop) in zip(pieces, pairwise(offsets), strict=True):
        assert torch.equal(values[start:stop], piece)


def test_that_the_sizes_of_nested_tensors_are_said(tmp_path: Path) -> None:
    pieces = [torch.zeros(2, 3), torch.zeros(4, 3)]
    both = {
        "strided": torch.nested.nested_tensor(pieces),
        "jagged": torch.nested.nested_tensor(pieces, layout=torch.jagged),
        "long": torch.nested.nested_tensor([torch.zeros(2)] * 50),
    }
    checkpoint = opened(tmp_path, both)
    found = {name: checkpoint.tensor(number_at(checkpoint, name)).extra["nested sizes"] for name in both}
    assert found["strided"] == found["jagged"] == "2×3, 4×3"
    assert found["long"] == "2, 2, 2, 2, 2, 2, 2, 2 … (50 tensors)"


def test_that_storages_saved_alone_are_rows_with_their_bytes(tmp_path: Path) -> None:
    typed = torch.tensor([1.0, 2.0]).storage()
    checkpoint = opened(tmp_path, {"typed": typed, "untyped": torch.UntypedStorage(7)})
    shown = rows(checkpoint)
    assert [shown[name][:2] for name in ("typed", "untyped")] == [("STORAGE", "storage")] * 2
    storages = [checkpoint.storage(int(str(shown[name][2]))) for name in ("typed", "untyped")]
    assert [(storage.dtype.name, storage.nbytes) for storage in storages] == [("float32", 8), ("uint8", 7)]


def savable_dtypes() -> list[torch.dtype]:
    """All of torch that a storage can be saved as; quantized ones have their own test."""
    names = [dtype.name for dtype in DTYPES if dtype.kind != "quantized" and hasattr(torch, dtype.name)]
    subbyte = {f"{sign}int{width}" for sign in ("", "u") for width in range(1, 8)}
    packed = {"bits1x8", "bits2x4", "bits4x2", "bits16", "complex32"}
    return [getattr(torch, name) for name in names if name not in subbyte | packed]


@pytest.mark.parametrize("dtype", savable_dtypes(), ids=str)
def test_that_every_dtype_is_read_bit_by_bit(tmp_path: Path, dtype: torch.dtype) -> None:
    tensor = (BITS % 2).bool() if dtype == torch.bool else BITS.view(dtype)
    checkpoint = opened(tmp_path, {"t": tensor})
    reference = checkpoint.tensor(number_at(checkpoint, "t"))
    assert f"torch.{reference.dtype.name}" == str(dtype)
    assert reference.shape == tuple(tensor.shape)
    values = read_values(checkpoint, reference)
    if dtype == torch.float4_e2m1fn_x2:
        table = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0]
        low_first = [code for byte in BITS.tolist() for code in (byte & 15, byte >> 4)]
        assert values.tolist() == [-table[code & 7] if code & 8 else table[code] for code in low_first]
    else:
        assert bytes(values.view(torch.uint8).tolist()) == bytes(tensor.view(torch.uint8).tolist())
