"""Text to take elsewhere: expressions that give the same bits again, TSV and CSV without a digit lost."""

from __future__ import annotations

import csv
import math
from array import array
from pathlib import Path

import numpy
import pytest
import torch

from tests.tensors.made import add_storage, add_tensor, add_view, checkpoint_of
from tests.tensors.test_every_dtype import FLOAT8, FLOATS, INTS, sample
from tests.tensors.test_slice_block import raw
from viewer.report.values_text import histogram_csv, numpy_expression, torch_expression, values_tsv
from viewer.task import run
from viewer.tensors.results import Histogram, Statistics
from viewer.tensors.slice_block import block_task
from viewer.tensors.slice_results import SliceAxes, ValueBlock, default_axes

ODD_NANS = {
    "float64": (torch.int64, [0x7FF0000000000001, -1]),
    "float32": (torch.int32, [0x7F800001, -1]),
    "float16": (torch.int16, [0x7C01, -1]),
    "bfloat16": (torch.int16, [0x7F81, -1]),
    "float8_e5m2": (torch.uint8, [0x7D, 0xFF]),
    "float8_e4m3fn": (torch.uint8, [0xFF, 0x7F]),
}


def block_of(folder: Path, tensor: torch.Tensor, axes: SliceAxes | None = None) -> ValueBlock:
    return run(block_task(checkpoint_of(folder, tensor), 0, axes or default_axes(tuple(tensor.shape))))


def evaluated(expression: str) -> object:
    return eval(expression, {"torch": torch, "numpy": numpy})


@pytest.mark.parametrize("name", FLOATS + FLOAT8 + INTS)
def test_that_torch_makes_the_same_bits_again(name: str, tmp_path: Path) -> None:
    tensor = sample(name, 48).reshape(6, 8)
    found = evaluated(torch_expression(block_of(tmp_path, tensor)))
    assert isinstance(found, torch.Tensor)
    assert (found.dtype, found.shape) == (tensor.dtype, tensor.shape)
    assert raw(found) == raw(tensor)


@pytest.mark.parametrize("name", ODD_NANS)
def test_that_every_nan_keeps_its_bits(name: str, tmp_path: Path) -> None:
    kind, bits = ODD_NANS[name]
    tensor = torch.tensor([*bits, 0], dtype=kind).view(getattr(torch, name))
    block = block_of(tmp_path, tensor)
    found = evaluated(torch_expression(block))
    assert isinstance(found, torch.Tensor)
    assert raw(found) == raw(tensor)
    if name in ("float32", "float64"):
        array_found = evaluated(numpy_expression(block))
        assert isinstance(array_found, numpy.ndarray)
        assert (array_found.tobytes(), str(array_found.dtype)) == (raw(tensor), name)


@pytest.mark.parametrize("name", ["complex64", "complex128"])
@pytest.mark.parametrize("odd", [False, True])
def test_that_complex_parts_keep_their_signs_and_nans(name: str, odd: bool, tmp_path: Path) -> None:
    special = [complex(0.0, -0.0), complex(-0.0, 0.0), complex(math.nan, -math.inf), complex(1e-30, 3.5)]
    tensor = torch.tensor([special, special], dtype=getattr(torch, name))
    if odd:
        torch.view_as_real(tensor)[0, 0, 1] = torch.tensor(math.nan).neg()
    for expression in (torch_expression, numpy_expression):
        found = evaluated(expression(block_of(tmp_path, tensor)))
        assert tuple(found.shape) == (2, 4)  # type: ignore[attr-defined]
        data = raw(found) if isinstance(found, torch.Tensor) else found.tobytes()  # type: ignore[attr-defined]
        assert data == raw(tensor)


@pytest.mark.filterwarnings("ignore:ComplexHalf support is experimental")
def test_that_half_complex_numbers_come_back(tmp_path: Path) -> None:
    tensor = torch.tensor([1 + 2j, complex(math.nan, -0.0)], dtype=torch.complex64).to(torch.complex32)
    found = evaluated(torch_expression(block_of(tmp_path, tensor)))
    assert isinstance(found, torch.Tensor)
    assert (found.dtype, raw(found)) == (torch.complex32, raw(tensor))


@pytest.mark.parametrize("name", ["float64", "float32", "float16", *INTS])
def test_that_numpy_makes_the_same_bits_again(name: str, tmp_path: Path) -> None:
    tensor = sample(name, 48).reshape(6, 8)
    found = evaluated(numpy_expression(block_of(tmp_path, tensor)))
    assert isinstance(found, numpy.ndarray)
    assert (found.dtype, found.shape) == (tensor.numpy().dtype, (6, 8))
    assert found.tobytes() == raw(tensor)


@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn", "float8_e5m2fnuz"])
def test_that_numpy_is_given_equal_numbers_for_types_that_it_lacks(name: str, tmp_path: Path) -> None:
    tensor = sample(name, 48)
    found = evaluated(numpy_expression(block_of(tmp_path, tensor)))
    assert isinstance(found, numpy.ndarray)
    assert found.dtype == numpy.float32
    numpy.testing.assert_array_equal(found, tensor.to(torch.float32).numpy())


def test_that_a_selection_is_a_part_and_a_line_has_one_dimension(tmp_path: Path) -> None:
    tensor = torch.arange(20.0).reshape(4, 5)
    checkpoint = checkpoint_of(tmp_path, tensor, torch.tensor(7))
    block = run(block_task(checkpoint, 0, SliceAxes(0, 1), first_row=1, first_column=1))
    found = evaluated(torch_expression(block, range(2, 4), range(3, 5)))
    assert torch.equal(found, tensor[2:4, 3:5])  # type: ignore[arg-type]
    assert list(values_tsv(block, range(3, 4), range(1, 3))) == ["16.0\t17.0\n"]
    column = run(block_task(checkpoint, 0, SliceAxes(0, None, (2,))))
    assert torch_expression(column, range(1, 3)) == "torch.tensor([7.0, 12.0], dtype=torch.float32)"
    scalar = run(block_task(checkpoint, 1, default_axes(())))
    assert torch_expression(scalar) == "torch.tensor(7, dtype=torch.int64)"
    with pytest.raises(IndexError):
        torch_expression(block, range(2), range(3, 5))
    with pytest.raises(IndexError):
        torch_expression(block, range(2, 3), range(5))


@pytest.mark.filterwarnings("ignore:torch.quantize_per:UserWarning", "ignore:.*are deprecated:UserWarning")
def test_that_types_without_arithmetic_give_their_numbers(tmp_path: Path) -> None:
    checkpoint = checkpoint_of(tmp_path)
    tensor = torch.quantize_per_tensor(torch.randn(5), 0.1, 3, torch.qint8)
    extra: dict[str, object] = {"qscheme": "per_tensor_affine", "scale": 0.1, "zero_point": 3}
    quantized = add_tensor(checkpoint, tmp_path, tensor, extra=extra)
    for number, dtype, wanted in (
        (quantized, torch.float32, tensor.dequantize().tolist()),
        (
            add_view(checkpoint, add_storage(checkpoint, tmp_path, b"\x0f", "int4"), "int4", (1,), (1,)),
            torch.int8,
            [-1],
        ),
        (
            add_view(checkpoint, add_storage(checkpoint, tmp_path, b"\x0f", "bits8"), "bits8", (1,), (1,)),
            torch.uint8,
            [15],
        ),
        (
            add_view(checkpoint, add_storage(checkpoint, tmp_path, b"\x82", "bits8"), "float4_e2m1fn_x2", (1,), (1,)),
            torch.float32,
            [1.0, -0.0],
        ),
    ):
        block = run(block_task(checkpoint, number, default_axes((len(wanted),))))
        found = evaluated(torch_expression(block))
        assert isinstance(found, torch.Tensor)
        assert (found.dtype, repr(found.tolist())) == (dtype, repr(wanted))


def test_that_tab_separated_values_are_exact(tmp_path: Path) -> None:
    tensor = torch.tensor([[0.1, math.nan], [-0.0, -math.inf]])
    lines = list(values_tsv(block_of(tmp_path, tensor)))
    assert lines == ["0.10000000149011612\tnan\n", "-0.0\t-inf\n"]


def test_that_the_numbers_of_a_histogram_come_with_what_lies_in_no_bin() -> None:
    histogram = Histogram(array("d", [-1.0, 0.1, 2.0]), array("q", [3, 4]), 1, 2)
    rows = list(csv.DictReader(histogram_csv(histogram, Statistics(20, 10, nan=5, posinf=4, neginf=1))))
    assert [row["what"] for row in rows] == ["bin", "bin", "below", "above", "nan", "+inf", "-inf"]
    assert sum(int(row["count"]) for row in rows) == 20
    assert [(float(row["low"]), float(row["high"])) for row in rows[:2]] == [(-1.0, 0.1), (0.1, 2.0)]
    assert len(list(histogram_csv(histogram))) == 5
    assert list(histogram_csv(Histogram(note="No value is finite"))) == ["low,high,count,what\n"]
