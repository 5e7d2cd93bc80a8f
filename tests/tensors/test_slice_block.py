"""Blocks of a slice: every element, bit for bit what torch has at that index, and no more read than is needed."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import pytest
import torch

from tests.tensors.made import add_storage, add_tensor, add_view, checkpoint_of
from tests.tensors.test_every_dtype import FLOAT8, FLOATS, INTS, STRIDES, sample
from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.nodes import NodeTable
from viewer.errors import LimitExceeded, MalformedFile, ViewerError
from viewer.formats.storage_bytes import StorageReader
from viewer.task import run
from viewer.tensors.slice_block import block_task
from viewer.tensors.slice_results import MAX_BLOCK, SliceAxes, ValueBlock, default_axes


@pytest.fixture
def checkpoint(tmp_path: Path) -> Checkpoint:
    return Checkpoint(path=tmp_path, container="made by hand", files=[], nodes=NodeTable())


def all_axes(shape: tuple[int, ...]) -> list[SliceAxes]:
    """Every way to lay a slice through a tensor, each at its last index."""
    count = len(shape)
    pairs = [
        pair for pair in itertools.product([None, *range(count)], repeat=2) if pair[0] is None or pair[0] != pair[1]
    ]
    return [
        SliceAxes(row, column, tuple(shape[axis] - 1 for axis in range(count) if axis not in (row, column)))
        for row, column in pairs
    ]


def slice_of(tensor: torch.Tensor, axes: SliceAxes) -> torch.Tensor:
    """The slice by torch's own indexing, as a 2-D tensor."""
    rest, kept = iter(axes.fixed), (axes.row_axis, axes.column_axis)
    found = tensor[tuple([slice(None) if axis in kept else next(rest) for axis in range(tensor.dim())])]
    if axes.row_axis is not None and axes.column_axis is not None:
        return found.t() if axes.row_axis > axes.column_axis else found
    return found.reshape(-1, 1) if axes.row_axis is not None else found.reshape(1, -1)


def raw(tensor: torch.Tensor) -> bytes:
    """The bits of the elements, row by row."""
    dense = torch.empty(tensor.shape, dtype=tensor.dtype)
    dense.copy_(tensor)
    return dense.flatten().view(torch.uint8).numpy().tobytes()


def block_of(checkpoint: Checkpoint, number: int, axes: SliceAxes, *place: int) -> ValueBlock:
    names = ("first_row", "n_rows", "first_column", "n_columns")
    return run(block_task(checkpoint, number, axes, **dict(zip(names, place, strict=False))))


def check_block(block: ValueBlock, wanted: torch.Tensor) -> None:
    """Compare with a 2-D tensor of the same dtype: values, bits, and single elements."""
    assert (block.n_rows, block.n_columns) == tuple(wanted.shape)
    assert f"torch.{block.dtype}" == str(wanted.dtype)
    assert (block.patterns or block.data) == raw(wanted)
    if wanted.dtype in (torch.float64, torch.complex128, torch.complex64) or not wanted.dtype.is_floating_point:
        values = wanted
    else:
        values = wanted.to(torch.float32)
    numbers = values.tolist() if wanted.numel() else []
    assert repr(block.values()) == repr(list(itertools.chain.from_iterable(numbers)))
    for row, column in ((0, 0), (block.n_rows - 1, block.n_columns - 1)):
        if block.n_rows and block.n_columns:
            where = block.first_row + row, block.first_column + column
            assert repr(block.value(*where)) == repr(numbers[row][column])
            assert repr(block.row_values(where[0])) == repr(numbers[row])


@pytest.mark.parametrize("name", FLOATS + FLOAT8 + INTS)
@pytest.mark.parametrize("strides", STRIDES)
def test_that_every_slice_is_bit_for_bit_that_of_torch(name: str, strides: str, tmp_path: Path) -> None:
    tensor = sample(name, 21 * 18).reshape(21, 18)
    if name in FLOAT8:
        tensor = STRIDES[strides](tensor.view(torch.uint8)).view(tensor.dtype)
    else:
        tensor = STRIDES[strides](tensor)
    checkpoint = checkpoint_of(tmp_path, tensor)
    for axes in all_axes(tuple(tensor.shape)):
        wanted = slice_of(tensor, axes)
        whole = block_of(checkpoint, 0, axes)
        assert (whole.rows, whole.columns) == tuple(wanted.shape)
        check_block(whole, wanted)
        check_block(block_of(checkpoint, 0, axes, 1, 3, 2, 4), wanted[1:4, 2:6])


@pytest.mark.parametrize("name", ["float64", "bfloat16", "int32", "uint64", "complex64", "complex128"])
def test_that_big_endian_storages_change_nothing(name: str, tmp_path: Path) -> None:
    tensor = torch.arange(60.0).reshape(6, 10).to(getattr(torch, name)) / 1
    checkpoint = checkpoint_of(tmp_path, tensor.to(getattr(torch, name)), big_endian=True)
    check_block(block_of(checkpoint, 0, SliceAxes(1, 0)), tensor.to(getattr(torch, name)).t())


def test_that_conjugate_and_negative_bits_are_in_the_values_and_in_the_bits(tmp_path: Path) -> None:
    values = torch.randn(5, 7, dtype=torch.complex64)
    values[0, 0] = complex(math.nan, -0.0)
    conjugate, negative = values.conj(), values.conj().imag
    assert conjugate.is_conj()
    assert negative.is_neg()
    checkpoint = checkpoint_of(tmp_path, conjugate, negative)
    check_block(block_of(checkpoint, 0, SliceAxes(0, 1)), conjugate.resolve_conj())
    block = block_of(checkpoint, 1, SliceAxes(1, 0))
    check_block(block, negative.resolve_neg().t())
    assert block.hex(0, 0) == "0x00000000"


@pytest.mark.filterwarnings("ignore:ComplexHalf support is experimental")
def test_that_half_complex_numbers_show_both_parts(tmp_path: Path) -> None:
    tensor = torch.tensor([[1 + 2j, -0.5 + 65504j]], dtype=torch.complex64).to(torch.complex32)
    block = block_of(checkpoint_of(tmp_path, tensor), 0, SliceAxes(0, 1))
    assert block.values() == [1 + 2j, -0.5 + 65504j]
    assert block.hex(0, 1) == "0xb800 0x7bff"


@pytest.mark.parametrize("count", [0, 1, 2, 7])
def test_that_one_dimension_is_a_column_and_none_a_number(count: int, tmp_path: Path) -> None:
    checkpoint = checkpoint_of(tmp_path, torch.arange(count), torch.tensor(2.5))
    block = block_of(checkpoint, 0, default_axes((count,)))
    assert (block.rows, block.columns, block.values()) == (count, 1, list(range(count)))
    scalar = block_of(checkpoint, 1, default_axes(()))
    assert (scalar.shape, scalar.rows, scalar.columns, scalar.values()) == ((), 1, 1, [2.5])
    assert scalar.hex(0, 0) == "0x40200000"


def test_that_the_bits_of_every_kind_of_nan_are_kept(tmp_path: Path) -> None:
    bits = torch.tensor([0x7FC00000, 0x7F800001, -0x00400001, -0x80000000], dtype=torch.int64).to(torch.int32)
    block = block_of(checkpoint_of(tmp_path, bits.view(torch.float32)), 0, default_axes((4,)))
    assert [block.hex(row, 0) for row in range(4)] == ["0x7fc00000", "0x7f800001", "0xffbfffff", "0x80000000"]


@pytest.mark.filterwarnings("ignore:torch.quantize_per:UserWarning", "ignore:.*are deprecated:UserWarning")
@pytest.mark.parametrize("name", ["qint8", "quint8", "qint32", "quint4x2"])
def test_that_quantized_elements_show_both_numbers(name: str, checkpoint: Checkpoint, tmp_path: Path) -> None:
    tensor = torch.quantize_per_tensor(torch.randn(3, 5, 7), 0.1, 3, getattr(torch, name))
    extra: dict[str, object] = {"qscheme": "per_tensor_affine", "scale": 0.1, "zero_point": 3}
    number = add_tensor(checkpoint, tmp_path, tensor, extra=extra)
    real = tensor.dequantize()
    for axes in all_axes((3, 5, 7)):
        wanted = slice_of(real, axes)
        block = block_of(checkpoint, number, axes)
        assert block.data == raw(wanted)
        for row, column in itertools.product(range(block.rows), range(block.columns)):
            stored = round(wanted[row, column].item() / 0.1 + 3)
            assert block.stored_value(row, column) == stored
            assert block.pattern(row, column) == (stored % (1 << block.pattern_bits),)


@pytest.mark.filterwarnings("ignore:torch.quantize_per:UserWarning", "ignore:.*are deprecated:UserWarning")
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_that_each_channel_has_its_scale_in_every_slice(axis: int, checkpoint: Checkpoint, tmp_path: Path) -> None:
    real = torch.randn(4, 3, 5)
    scales = torch.linspace(0.01, 0.2, real.shape[axis], dtype=torch.float64)
    points = torch.arange(real.shape[axis])
    tensor = torch.quantize_per_channel(real, scales, points, axis, torch.qint8)
    extra: dict[str, object] = {"qscheme": "torch.per_channel_affine", "axis": axis}
    extra |= {"scales": tuple(scales.tolist()), "zero_points": points.tolist()}
    number = add_tensor(checkpoint, tmp_path, tensor, extra=extra)
    for axes in all_axes((4, 3, 5)):
        wanted = slice_of(tensor.dequantize(), axes)
        assert block_of(checkpoint, number, axes, 1, 2, 1, 3).data == raw(wanted[1:3, 1:4])


@pytest.mark.filterwarnings("ignore:torch.quantize_per:UserWarning", "ignore:.*are deprecated:UserWarning")
def test_that_packed_channels_have_their_scale(checkpoint: Checkpoint, tmp_path: Path) -> None:
    scales, points = torch.tensor([0.1, 0.2, 0.3]), torch.tensor([0.5, 1.0, 0.25])
    tensor = torch.quantize_per_channel(torch.rand(3, 5), scales, points, 0, torch.quint2x4)
    extra: dict[str, object] = {"qscheme": "per_channel_affine_float_qparams", "axis": 0}
    extra |= {
        "scales": add_tensor(checkpoint, tmp_path, scales),
        "zero_points": add_tensor(checkpoint, tmp_path, points),
    }
    number = add_tensor(checkpoint, tmp_path, tensor, extra=extra)
    for axes in all_axes((3, 5)):
        assert block_of(checkpoint, number, axes).data == raw(slice_of(tensor.dequantize(), axes))


def test_that_four_bit_floats_are_counted_one_by_one(checkpoint: Checkpoint, tmp_path: Path) -> None:
    storage = add_storage(checkpoint, tmp_path, bytes([0x21, 0xF7, 0x80, 0x43]), "float4_e2m1fn_x2")
    rows = [[0.5, 1.0, 6.0, -6.0], [0.0, -0.0, 1.5, 2.0]]
    number = add_view(checkpoint, storage, "float4_e2m1fn_x2", (2, 2), (2, 1))
    across = add_view(checkpoint, storage, "float4_e2m1fn_x2", (2, 2), (1, 2))
    block = block_of(checkpoint, number, SliceAxes(0, 1))
    assert (block.shape, repr(block.values())) == ((2, 4), repr([*rows[0], *rows[1]]))
    assert block.hex(1, 1) == "0x8"
    assert block_of(checkpoint, number, SliceAxes(1, 0), 1, 2, 0, 2).values() == [1.0, -0.0, 6.0, 1.5]
    assert block_of(checkpoint, across, SliceAxes(0, 1)).values() == [0.5, 1.0, 0.0, -0.0, 6.0, -6.0, 1.5, 2.0]
    scalar = add_view(checkpoint, storage, "float4_e2m1fn_x2", (), (), 1)
    assert block_of(checkpoint, scalar, default_axes((2,))).values() == [6.0, -6.0]


@pytest.mark.parametrize("offset", [0, 1, 2, 3])
def test_that_packed_integers_may_begin_inside_a_byte(offset: int, checkpoint: Checkpoint, tmp_path: Path) -> None:
    storage = add_storage(checkpoint, tmp_path, bytes([0x21, 0x43, 0x65, 0x87]), "quint4x2")
    extra: dict[str, object] = {"qscheme": "per_tensor_affine", "scale": 1.0, "zero_point": 0}
    number = add_view(checkpoint, storage, "quint4x2", (2, 2), (2, 1), offset, extra=extra)
    first = offset + 1
    block = block_of(checkpoint, number, SliceAxes(1, 0))
    assert block.values() == [first, first + 2, first + 1, first + 3]


@pytest.mark.parametrize(
    ("name", "values", "digits"),
    [("int4", [-8, 7, -1, 0], "0xf0"), ("uint4", [8, 7, 15, 0], "0xf0"), ("bool", [True, True, True, True], "0xf0")],
)
def test_that_bits_beside_a_narrow_value_are_still_shown(
    name: str, values: list[int], digits: str, checkpoint: Checkpoint, tmp_path: Path
) -> None:
    storage = add_storage(checkpoint, tmp_path, bytes([0x08, 0x07, 0xFF, 0xF0]), name)
    number = add_view(checkpoint, storage, name, (4,), (1,))
    block = block_of(checkpoint, number, default_axes((4,)))
    assert block.values() == values
    assert block.hex(3, 0) == digits


@pytest.mark.parametrize(("name", "wanted"), [("bits8", [1, 255]), ("bits1x8", [1, 255]), ("bits16", [0xFF01])])
def test_that_bit_types_are_their_bytes(name: str, wanted: list[int], checkpoint: Checkpoint, tmp_path: Path) -> None:
    storage = add_storage(checkpoint, tmp_path, bytes([1, 255]), name)
    number = add_view(checkpoint, storage, name, (len(wanted),), (1,))
    assert block_of(checkpoint, number, default_axes((len(wanted),))).values() == wanted


def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The lengths of all reads from storages from now on."""
    lengths: list[int] = []
    real = StorageReader.read_into

    def read_into(self: StorageReader, storage: object, offset: int, buffer: memoryview) -> None:
        lengths.append(len(memoryview(buffer).cast("B")))
        real(self, storage, offset, buffer)  # type: ignore[arg-type]

    monkeypatch.setattr(StorageReader, "read_into", read_into)
    return lengths


def test_that_rows_cost_their_bytes_and_a_column_of_a_huge_tensor_little_more(
    checkpoint: Checkpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage = add_storage(checkpoint, tmp_path, b"", "float32")
    with checkpoint.files[0].path.open("r+b") as file:  # a hole: five million rows take no room
        file.truncate(20 << 30)
    checkpoint.files[0] = type(checkpoint.files[0])(
        checkpoint.files[0].path,
        20 << 30,
        *(getattr(checkpoint.files[0].path.stat(), n) for n in ("st_mtime_ns", "st_ino", "st_dev")),
    )
    checkpoint.storages.nbytes[storage] = checkpoint.storages.length[storage] = 5_000_000 * 4000
    number = add_view(checkpoint, storage, "float32", (5_000_000, 1000), (1000, 1))
    lengths = counted(monkeypatch)
    block = block_of(checkpoint, number, SliceAxes(0, 1), 4_999_990, 100, 20, 30)
    assert (block.rows, block.n_rows, block.n_columns) == (5_000_000, 10, 30)
    assert sum(lengths) <= 10 * 4000
    lengths.clear()
    assert block_of(checkpoint, number, SliceAxes(0, 1), 2_000_000, 10, 0, 1000).n_rows == 10
    assert lengths == [40_000]
    lengths.clear()
    assert block_of(checkpoint, number, SliceAxes(0, None, (999,)), 3_000_000, 500).n_rows == 500
    assert sum(lengths) <= 500 * 4000


def test_that_a_block_too_large_and_a_slice_that_is_none_are_refused(tmp_path: Path) -> None:
    checkpoint = checkpoint_of(tmp_path, torch.zeros(2, 3), torch.zeros(1).expand(MAX_BLOCK, 2))
    with pytest.raises(LimitExceeded, match=r"1,048,576 × 2 values"):
        block_of(checkpoint, 1, SliceAxes(0, 1))
    for axes, fault in (
        (SliceAxes(0, 0, (0,)), "no slice along"),
        (SliceAxes(0, 2), "no slice along"),
        (SliceAxes(0, 1, (0,)), "1 indexes are given for 0 axes"),
        (SliceAxes(0, None, (3,)), "index 3 is outside axis 1"),
    ):
        with pytest.raises(ViewerError, match=fault):
            block_of(checkpoint, 0, axes)
    with pytest.raises(IndexError):
        block_of(checkpoint, 0, SliceAxes(0, 1), 0, 1).value(1, 0)


def test_that_a_view_outside_its_storage_is_refused(checkpoint: Checkpoint, tmp_path: Path) -> None:
    storage = add_storage(checkpoint, tmp_path, bytes(16), "float32")
    number = add_view(checkpoint, storage, "float32", (3, 2), (2, 1))
    with pytest.raises(MalformedFile, match="needs 24 bytes"):
        block_of(checkpoint, number, SliceAxes(0, 1), 0, 1, 0, 1)
