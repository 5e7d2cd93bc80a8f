"""Maps, lines and kernels: each pixel against the same block computed by numpy in the slow and simple way."""

from __future__ import annotations

import math
import struct
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.tensors.made import add_storage, add_tensor, add_view, checkpoint_of
from tests.tensors.test_every_dtype import FLOAT8, FLOATS, INTS, STRIDES, numbers_of, sample
from tests.tensors.test_slice_block import all_axes, slice_of
from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.nodes import NodeTable
from viewer.errors import LimitExceeded, MalformedFile, ViewerError
from viewer.task import run
from viewer.tensors import slice_map
from viewer.tensors.scan_all import scan_all_task
from viewer.tensors.scan_results import ScanBatch
from viewer.tensors.slice_block import block_task
from viewer.tensors.slice_kernels import kernels_task
from viewer.tensors.slice_map import line_task, map_task
from viewer.tensors.slice_results import GAP, HAS_NAN, HAS_NEGINF, HAS_POSINF, NO_FINITE, MapImage, SliceAxes


def pixels_of(image: MapImage) -> list[float]:
    return list(struct.unpack(f"<{image.height * image.width}{image.format}", image.pixels))


def code_of(block: list[int | float]) -> int:
    code = HAS_NAN * any(math.isnan(value) for value in block)
    code |= HAS_POSINF * (math.inf in block) | HAS_NEGINF * (-math.inf in block)
    return code | NO_FINITE * (not any(math.isfinite(value) for value in block))


def largest(block: list[int | float]) -> int | float:
    return max(block, key=lambda value: (abs(value), value))


REDUCTIONS = {"absmax": largest, "max": max, "min": min}


def check_map(image: MapImage, wanted: list[list[int | float]], reduce: str) -> None:
    """Compare with the slice as rows of exact numbers."""
    rows, columns = list(pairwise(image.row_edges)), list(pairwise(image.column_edges))
    assert (len(rows), len(columns)) == (image.height, image.width)
    pixels = pixels_of(image)
    for nth, ((top, bottom), (left, right)) in enumerate((row, column) for row in rows for column in columns):
        block = [value for line in wanted[top:bottom] for value in line[left:right]]
        assert image.codes[nth] == code_of(block)
        finite = [value for value in block if math.isfinite(value)]
        if not finite:
            assert math.isnan(pixels[nth])
        elif reduce == "mean":
            # Sums of float64, so that large numbers that cancel leave a rest of their rounding.
            tolerance = 1e-12 * max(abs(value) for value in finite)
            exact = math.fsum(value / len(finite) for value in finite)
            assert math.isclose(pixels[nth], exact, rel_tol=1e-12, abs_tol=tolerance) or math.isinf(pixels[nth])
        else:
            assert pixels[nth] == float(REDUCTIONS[reduce](finite))
    shown = [value for line in wanted[image.row_edges[0] : image.row_edges[-1]] for value in line]
    shown = [value for value in shown if math.isfinite(value)]
    if image.column_edges[-1] - image.column_edges[0] == image.columns:
        assert (image.min, image.max) == ((min(shown), max(shown)) if shown else (None, None))


def rows_of(tensor: torch.Tensor) -> list[list[int | float]]:
    flat = numbers_of(tensor)
    return [flat[at * tensor.shape[1] : (at + 1) * tensor.shape[1]] for at in range(tensor.shape[0])]


@pytest.mark.parametrize("name", FLOATS + FLOAT8 + INTS)
@pytest.mark.parametrize("strides", STRIDES)
def test_that_every_pixel_is_what_its_block_says(
    name: str, strides: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slice_map, "_CHUNK_NBYTES", 128)  # several rectangles, some within a row of pixels
    monkeypatch.setattr(slice_map, "_SMALL", 50)
    tensor = sample(name, 21 * 18).reshape(21, 18)
    if name in FLOAT8:
        tensor = STRIDES[strides](tensor.view(torch.uint8)).view(tensor.dtype)
    else:
        tensor = STRIDES[strides](tensor)
    checkpoint = checkpoint_of(tmp_path, tensor)
    for axes in all_axes(tuple(tensor.shape)):
        wanted = rows_of(slice_of(tensor, axes))
        for reduce in ("absmax", "max", "min", "mean"):
            image = run(map_task(checkpoint, 0, axes, height=4, width=5, reduce=reduce))
            assert (image.rows, image.columns) == (len(wanted), len(wanted[0]))
            check_map(image, wanted, reduce)


@pytest.mark.parametrize(("height", "width"), [(1, 1), (7, 11), (37, 1), (1, 53), (37, 53), (100, 100)])
@pytest.mark.parametrize("part", [None, (3, 31), (5, 6), (9, 9), (-4, 400)])
def test_that_edges_divide_any_part_into_blocks_of_equal_size(
    height: int, width: int, part: tuple[int, int] | None, tmp_path: Path
) -> None:
    tensor = sample("float32", 37 * 53).reshape(37, 53)
    checkpoint = checkpoint_of(tmp_path, tensor)
    image = run(
        map_task(checkpoint, 0, SliceAxes(0, 1), height=height, width=width, row_range=part, column_range=part)
    )
    first, end = (0, 53) if part is None else (max(part[0], 0), min(part[1], 53))
    assert image.width == min(width, end - first)
    assert (image.column_edges[0], image.column_edges[-1]) == (first, end)
    sizes = {right - left for left, right in pairwise(image.column_edges)}
    assert not sizes or max(sizes) - min(sizes) <= 1
    assert image.is_exact == (image.height * image.width == len(tensor[first : min(end, 37), first:end].flatten()))
    check_map(image, rows_of(tensor), "absmax")


def test_that_a_single_odd_element_is_never_lost(tmp_path: Path) -> None:
    tensor = torch.zeros(1009, 773)
    tensor[1000, 700] = -3.5
    tensor[5, 6], tensor[400, 300], tensor[401, 301] = math.nan, math.inf, -math.inf
    image = run(map_task(checkpoint_of(tmp_path, tensor), 0, SliceAxes(0, 1), height=20, width=30))
    assert (image.min, image.max) == (-3.5, 0.0)
    pixels = np.frombuffer(image.pixels, "<f4")
    assert (pixels == -3.5).sum() == 1
    codes = np.frombuffer(image.codes, "u1")
    assert [int((codes & code > 0).sum()) for code in (HAS_NAN, HAS_POSINF, HAS_NEGINF, NO_FINITE)] == [1, 1, 1, 0]


def test_that_an_expanded_view_of_any_size_is_read_once(tmp_path: Path) -> None:
    row = torch.tensor([[1.0], [-2.0], [math.nan]]).expand(3, 1 << 40)
    checkpoint = checkpoint_of(tmp_path, row, torch.tensor(7).expand(1 << 30, 1 << 30))
    image = run(map_task(checkpoint, 0, SliceAxes(0, 1), height=2, width=4, reduce="mean"))
    assert image.column_edges[-1] == 1 << 40
    assert pixels_of(image) == [1.0] * 4 + [-2.0] * 4
    assert list(image.codes) == [0] * 4 + [HAS_NAN] * 4
    image = run(map_task(checkpoint, 0, SliceAxes(1, 0), height=4, width=2))
    assert pixels_of(image) == [1.0, -2.0] * 4
    assert set(pixels_of(run(map_task(checkpoint, 1, SliceAxes(0, 1), height=3, width=4)))) == {7.0}
    line = run(line_task(checkpoint, 0, 1, width=5, fixed=(1,)))
    assert list(line.mean) == [-2.0] * 5


def test_that_rows_wider_than_a_rectangle_are_read_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slice_map, "_CHUNK_NBYTES", 400)
    tensor = sample("float32", 3 * 1001).reshape(3, 1001)
    image = run(map_task(checkpoint_of(tmp_path, tensor), 0, SliceAxes(0, 1), height=2, width=7, reduce="mean"))
    check_map(image, rows_of(tensor), "mean")


@pytest.mark.parametrize("name", ["complex64", "complex128"])
def test_that_complex_numbers_are_drawn_by_magnitude(name: str, tmp_path: Path) -> None:
    tensor = torch.randn(6, 8, dtype=getattr(torch, name))
    tensor[0, 0] = complex(math.nan, 1.0)
    image = run(map_task(checkpoint_of(tmp_path, tensor.conj()), 0, SliceAxes(1, 0), height=8, width=6))
    assert image.of == "magnitude"
    parts = torch.view_as_real(tensor.t().contiguous()).to(torch.float64).numpy()
    magnitude = np.sqrt(parts[..., 0] ** 2 + parts[..., 1] ** 2) if name == "complex64" else np.hypot(*parts.T).T
    np.testing.assert_array_equal(np.array(pixels_of(image)).reshape(8, 6), magnitude)


@pytest.mark.filterwarnings("ignore:torch.quantize_per:UserWarning", "ignore:.*are deprecated:UserWarning")
@pytest.mark.parametrize("name", ["qint8", "quint8", "qint32", "quint4x2"])
def test_that_quantized_tensors_are_drawn_by_their_real_numbers(name: str, tmp_path: Path) -> None:
    checkpoint = Checkpoint(path=tmp_path, container="made by hand", files=[], nodes=NodeTable())
    tensor = torch.quantize_per_tensor(torch.randn(9, 7), 0.1, 3, getattr(torch, name))
    extra: dict[str, object] = {"qscheme": "per_tensor_affine", "scale": 0.1, "zero_point": 3}
    number = add_tensor(checkpoint, tmp_path, tensor, extra=extra)
    image = run(map_task(checkpoint, number, SliceAxes(0, 1), height=4, width=3))
    assert image.of == "dequantized value"
    check_map(image, rows_of(tensor.dequantize()), "absmax")


@pytest.mark.parametrize("count", [0, 1, 2, 9, 10, 1001])
@pytest.mark.parametrize("name", ["float32", "bfloat16", "int64", "bool"])
def test_that_a_line_keeps_the_extremes_of_every_point(count: int, name: str, tmp_path: Path) -> None:
    tensor = sample(name, count)
    line = run(line_task(checkpoint_of(tmp_path, tensor), 0, 0, width=10))
    values = numbers_of(tensor)
    assert (line.length, len(line.low)) == (count, min(count, 10))
    for nth, (first, end) in enumerate(pairwise(line.edges)):
        block = [value for value in values[first:end] if math.isfinite(value)]
        assert line.codes[nth] == code_of(values[first:end])
        if block:
            assert (line.low[nth], line.high[nth]) == (float(min(block)), float(max(block)))
            middle = math.fsum(value / len(block) for value in block)
            assert math.isclose(line.mean[nth], middle, rel_tol=1e-12, abs_tol=1e-12 * max(map(abs, block)))
        else:
            assert all(math.isnan(found[nth]) for found in (line.low, line.high, line.mean))
    finite = [value for value in values if math.isfinite(value)]
    assert (line.min, line.max) == ((min(finite), max(finite)) if finite else (None, None))


def test_that_a_line_may_run_along_any_axis_and_part(tmp_path: Path) -> None:
    tensor = torch.randn(3, 20, 4)
    checkpoint = checkpoint_of(tmp_path, tensor, torch.tensor(5.0))
    line = run(line_task(checkpoint, 0, 1, width=100, fixed=(2, 3), index_range=(4, 12)))
    assert list(line.high) == list(line.mean) == list(line.low) == tensor[2, 4:12, 3].tolist()
    assert list(run(line_task(checkpoint, 1, None, width=9)).mean) == [5.0]


@pytest.mark.parametrize("name", ["float32", "bfloat16", "int8", "complex64"])
def test_that_kernels_stand_side_by_side(name: str, tmp_path: Path) -> None:
    tensor = (torch.randn(5, 4, 3, 2) * 10).to(getattr(torch, name))
    if name == "float32":
        tensor[1, 2, 0, 1] = math.nan
    image = run(kernels_task(checkpoint_of(tmp_path, tensor), 0, height=11, width=8, first_row=1, first_column=2))
    tiles = image.tiles
    assert tiles is not None
    assert (tiles.rows, tiles.columns, tiles.n_rows, tiles.n_columns) == (5, 4, 3, 2)
    assert (image.height, image.width) == (11, 5)
    pixels = pixels_of(image)
    values = tensor.abs() if name == "complex64" else tensor.to(torch.float32)
    for nth, pixel in enumerate(pixels):
        place = tiles.at(*divmod(nth, image.width))
        if place is None:
            assert image.codes[nth] == GAP
            assert math.isnan(pixel)
        elif math.isnan(values[place]):
            assert image.codes[nth] == HAS_NAN | NO_FINITE
        else:
            assert pixel == pytest.approx(values[place].item(), rel=1e-6)
            assert image.codes[nth] == 0
    shown = values[1:4, 2:4][~torch.isnan(values[1:4, 2:4])]
    assert image.min == pytest.approx(shown.min().item(), rel=1e-6)
    assert image.max == pytest.approx(shown.max().item(), rel=1e-6)


def test_that_kernels_of_three_and_five_dimensions_are_drawn(tmp_path: Path) -> None:
    three, five = torch.randn(7, 2, 3), torch.randn(2, 3, 4, 5, 6)
    checkpoint = checkpoint_of(tmp_path, three, five)
    image = run(kernels_task(checkpoint, 0, height=50, width=50))
    assert image.tiles is not None
    assert (image.tiles.n_rows, image.tiles.n_columns) == (1, 7)
    assert pixels_of(image)[4:7] == three[1, 0].tolist()
    image = run(kernels_task(checkpoint, 1, height=50, width=50, fixed=(3,)))
    assert pixels_of(image)[7:13] == five[0, 1, 3, 0].tolist()


def test_that_kernels_without_elements_are_an_empty_picture(tmp_path: Path) -> None:
    image = run(kernels_task(checkpoint_of(tmp_path, torch.zeros(0, 3, 2, 2)), 0, height=50, width=50))
    assert (image.height, image.min, image.max) == (0, None, None)


@pytest.mark.parametrize(
    ("shape", "stride", "kind"),
    [
        ((0, 1 << 70), (1, 1), LimitExceeded),
        ((1 << 40, 1 << 40), (0, 0), LimitExceeded),
        ((2, 2), (-1, 1), MalformedFile),
        ((2, 2), (1,), MalformedFile),
        ((2, 2), (1 << 60, 1), MalformedFile),
    ],
)
def test_that_what_a_file_claims_of_a_view_is_checked(
    shape: tuple[int, ...], stride: tuple[int, ...], kind: type[ViewerError], tmp_path: Path
) -> None:
    checkpoint = checkpoint_of(tmp_path)
    number = add_view(checkpoint, add_storage(checkpoint, tmp_path, bytes(16), "float32"), "float32", shape, stride)
    for axes in (SliceAxes(0, 1), SliceAxes(1, 0)):
        with pytest.raises(kind):
            run(map_task(checkpoint, number, axes, height=4, width=4))
        with pytest.raises(kind):
            run(block_task(checkpoint, number, axes, n_rows=2, n_columns=2))
    with pytest.raises(kind):
        run(line_task(checkpoint, number, 1, fixed=(0,), width=4))
    (row,) = [
        row for step in scan_all_task(checkpoint) if isinstance(step.partial, ScanBatch) for row in step.partial.rows
    ]
    assert row.problem or row.count == 0


def test_that_pictures_that_cannot_be_are_refused(tmp_path: Path) -> None:
    checkpoint = checkpoint_of(tmp_path, torch.zeros(4, 5), torch.zeros(2, 2, 90, 90))
    with pytest.raises(ViewerError, match="no reduction"):
        run(map_task(checkpoint, 0, SliceAxes(0, 1), height=4, width=4, reduce="median"))
    with pytest.raises(ViewerError, match="cannot be drawn"):
        run(map_task(checkpoint, 0, SliceAxes(0, 1), height=0, width=4))
    with pytest.raises(ViewerError, match="2 dimensions has no kernels"):
        run(kernels_task(checkpoint, 0, height=50, width=50))
    with pytest.raises(ViewerError, match="do not fit"):
        run(kernels_task(checkpoint, 1, height=50, width=50))
