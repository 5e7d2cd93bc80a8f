"""Complex, quantized, packed, bit and narrow types: what their values are, and statistics of each way to see them."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.tensors.made import add_storage, add_tensor, add_view, checkpoint_of
from tests.tensors.oracle import check_histogram, check_statistics
from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.nodes import NodeTable
from viewer.errors import MalformedFile
from viewer.task import run
from viewer.tensors.reading import iter_chunks, read_values
from viewer.tensors.results import TensorSummary
from viewer.tensors.summary import summarise_task
from viewer.tensors.values import values_task


@pytest.fixture
def checkpoint(tmp_path: Path) -> Checkpoint:
    return Checkpoint(path=tmp_path, container="made by hand", files=[], nodes=NodeTable())


def summary_of(checkpoint: Checkpoint, number: int) -> TensorSummary:
    return run(summarise_task(checkpoint, number, bins=10, chunk_nbytes=128))


@pytest.mark.parametrize("name", ["complex64", "complex128"])
def test_that_complex_tensors_are_seen_by_magnitude_and_parts(name: str, tmp_path: Path) -> None:
    special = [complex(math.nan, 1), complex(1, math.inf), complex(-math.inf, math.nan), 0j, complex(3, -4)]
    tensor = torch.cat((torch.randn(95, dtype=torch.complex128), torch.tensor(special, dtype=torch.complex128)))
    tensor = tensor.to(getattr(torch, name)).reshape(10, 10).t()
    summary = summary_of(checkpoint_of(tmp_path, tensor), 0)
    wide = tensor.flatten().to(torch.complex128).numpy()
    # Squares of float32 are exact in float64; beyond that numpy scales them (hypot).
    magnitude = np.sqrt(wide.real**2 + wide.imag**2) if name == "complex64" else np.abs(wide)
    magnitude[np.isinf(wide)] = np.inf
    normal = torch.finfo(tensor.dtype).smallest_normal
    assert summary.of == "magnitude"
    assert [part.name for part in summary.parts] == ["real", "imaginary"]
    for statistics, histogram, values in (
        (summary.statistics, summary.histogram, magnitude),
        (summary.parts[0].statistics, summary.parts[0].histogram, wide.real),
        (summary.parts[1].statistics, summary.parts[1].histogram, wide.imag),
    ):
        check_statistics(statistics, values.tolist(), smallest_normal=normal, exact=False)
        check_histogram(histogram, values, 10)


@pytest.mark.filterwarnings("ignore:ComplexHalf support is experimental")
def test_that_half_complex_values_are_read_as_complex64(checkpoint: Checkpoint, tmp_path: Path) -> None:
    wide = torch.tensor([1 + 2j, -0.5 + 65504j, complex(math.inf, -0.0), 6e-8j], dtype=torch.complex64)
    number = add_tensor(checkpoint, tmp_path, wide.to(torch.complex32))
    assert torch.equal(
        torch.view_as_real(read_values(checkpoint, number)),
        torch.view_as_real(wide.to(torch.complex32).to(torch.complex64)),
    )
    summary = summary_of(checkpoint, number)
    assert summary.parts[1].statistics.max == 65504.0
    assert summary.statistics.posinf == 1


@pytest.mark.filterwarnings("ignore:torch.quantize_per:UserWarning", "ignore:.*are deprecated:UserWarning")
@pytest.mark.parametrize("name", ["qint8", "quint8", "qint32", "quint4x2"])
def test_that_quantized_tensors_are_seen_both_ways(name: str, checkpoint: Checkpoint, tmp_path: Path) -> None:
    real = torch.randn(7, 9)
    tensor = torch.quantize_per_tensor(real, 0.1, 3, getattr(torch, name))
    number = add_tensor(
        checkpoint, tmp_path, tensor, extra={"qscheme": "per_tensor_affine", "scale": 0.1, "zero_point": 3}
    )
    check_both_ways(checkpoint, number, tensor)


@pytest.mark.filterwarnings("ignore:torch.quantize_per:UserWarning", "ignore:.*are deprecated:UserWarning")
@pytest.mark.parametrize("name", ["qint8", "quint8", "qint32"])
@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("stored_as", ["tensors", "lists"])
def test_that_channels_have_scales_of_their_own(
    name: str, axis: int, stored_as: str, checkpoint: Checkpoint, tmp_path: Path
) -> None:
    real = torch.randn(4, 3, 5)
    scales = torch.linspace(0.01, 0.2, real.shape[axis], dtype=torch.float64)
    points = torch.arange(real.shape[axis])
    tensor = torch.quantize_per_channel(real, scales, points, axis, getattr(torch, name))
    extra: dict[str, object] = {"qscheme": "torch.per_channel_affine", "axis": axis}
    if stored_as == "tensors":
        extra["scales"] = add_tensor(checkpoint, tmp_path, scales)
        extra["zero_points"] = add_tensor(checkpoint, tmp_path, points)
    else:
        extra |= {"scales": tuple(scales.tolist()), "zero_points": points.tolist()}
    number = add_tensor(checkpoint, tmp_path, tensor, extra=extra)
    check_both_ways(checkpoint, number, tensor)


@pytest.mark.filterwarnings("ignore:torch.quantize_per:UserWarning", "ignore:.*are deprecated:UserWarning")
@pytest.mark.parametrize("name", ["quint8", "quint4x2", "quint2x4"])
def test_that_channels_with_float_zero_points_are_read(name: str, checkpoint: Checkpoint, tmp_path: Path) -> None:
    real = torch.rand(3, 5)
    scales, points = torch.tensor([0.1, 0.2, 0.3]), torch.tensor([0.5, 1.0, 0.25])
    tensor = torch.quantize_per_channel(real, scales, points, 0, getattr(torch, name))
    extra: dict[str, object] = {"qscheme": "per_channel_affine_float_qparams", "axis": 0}
    extra["scales"] = add_tensor(checkpoint, tmp_path, scales)
    extra["zero_points"] = add_tensor(checkpoint, tmp_path, points)
    number = add_tensor(checkpoint, tmp_path, tensor, extra=extra)
    assert torch.equal(read_values(checkpoint, number), tensor.dequantize().flatten())
    assert summary_of(checkpoint, number).statistics.max == tensor.dequantize().max().item()


def check_both_ways(checkpoint: Checkpoint, number: int, tensor: torch.Tensor) -> None:
    real = tensor.dequantize().flatten()
    assert torch.equal(read_values(checkpoint, number), real)
    assert torch.equal(read_values(checkpoint, number, start=5, count=20), real[5:25])
    chunks = [chunk.clone() for chunk in iter_chunks(checkpoint, number, chunk_nbytes=16)]
    assert torch.equal(torch.cat(chunks), real)
    stored = read_values(checkpoint, number, quantized="stored")
    if str(tensor.dtype) == "torch.quint4x2":  # int_repr gives packed bytes there
        assert stored.tolist() == [round(value / 0.1 + 3) for value in real.tolist()]
    else:
        assert torch.equal(stored, tensor.int_repr().flatten())
    summary = summary_of(checkpoint, number)
    assert summary.of == "dequantized value"
    (part,) = summary.parts
    assert part.name == "stored integer"
    check_statistics(summary.statistics, real.tolist(), smallest_normal=2.0**-126, exact=False)
    check_histogram(summary.histogram, real.tolist(), 10)
    check_statistics(part.statistics, stored.tolist(), exact=False)
    shown = run(values_task(checkpoint, number, 10))
    assert list(shown.values) == real[:10].tolist()
    assert list(shown.stored or ()) == stored[:10].tolist()


@pytest.mark.parametrize(
    "extra",
    [
        {},
        {"qscheme": "per_tensor_affine"},
        {"qscheme": "per_channel_affine", "axis": 7, "scales": [1.0], "zero_points": [0]},
        {"qscheme": "per_channel_affine", "axis": 0, "scales": [1.0], "zero_points": [0]},
        {"qscheme": "per_channel_affine", "axis": 0, "scales": 99, "zero_points": 99},
    ],
)
def test_that_missing_scales_are_said(extra: dict[str, object], checkpoint: Checkpoint, tmp_path: Path) -> None:
    storage = add_storage(checkpoint, tmp_path, bytes(4), "qint8")
    number = add_view(checkpoint, storage, "qint8", (4,), (1,), extra=extra)
    with pytest.raises(MalformedFile, match="quantized tensor"):
        read_values(checkpoint, number)
    assert read_values(checkpoint, number, quantized="stored").tolist() == [0, 0, 0, 0]


def test_that_two_four_bit_floats_lie_in_a_byte(checkpoint: Checkpoint, tmp_path: Path) -> None:
    storage = add_storage(checkpoint, tmp_path, bytes([0x21, 0xF7, 0x80]), "float4_e2m1fn_x2")
    number = add_view(checkpoint, storage, "float4_e2m1fn_x2", (3,), (1,))
    wanted = [0.5, 1.0, 6.0, -6.0, 0.0, -0.0]
    found = read_values(checkpoint, number).tolist()
    assert found == wanted
    assert math.copysign(1, found[-1]) == -1
    assert read_values(checkpoint, number, start=1, count=3).tolist() == wanted[1:4]
    check_statistics(summary_of(checkpoint, number).statistics, wanted, smallest_normal=1.0, exact=True)
    assert run(values_task(checkpoint, number, 100)).values == tuple(wanted)


@pytest.mark.parametrize("offset", [0, 1, 2, 3])
@pytest.mark.parametrize("count", [0, 1, 2, 5])
def test_that_packed_integers_may_begin_inside_a_byte(
    offset: int, count: int, checkpoint: Checkpoint, tmp_path: Path
) -> None:
    storage = add_storage(checkpoint, tmp_path, bytes([0x21, 0x43, 0x65, 0x87]), "quint4x2")
    extra: dict[str, object] = {"qscheme": "per_tensor_affine", "scale": 1.0, "zero_point": 0}
    number = add_view(checkpoint, storage, "quint4x2", (count,), (1,), offset, extra=extra)
    wanted = list(range(1, 9))[offset : offset + count]
    assert read_values(checkpoint, number, quantized="stored").tolist() == wanted
    assert read_values(checkpoint, number, start=1, count=2).tolist() == wanted[1:3]
    check_statistics(summary_of(checkpoint, number).statistics, [float(n) for n in wanted], exact=True)


@pytest.mark.parametrize(
    ("name", "wanted"), [("int4", [-8, 7, -1, 0]), ("uint4", [8, 7, 15, 0]), ("int1", [0, -1, -1, 0])]
)
def test_that_narrow_integers_are_the_low_bits_of_a_byte(
    name: str, wanted: list[int], checkpoint: Checkpoint, tmp_path: Path
) -> None:
    storage = add_storage(checkpoint, tmp_path, bytes([0x08, 0x07, 0xFF, 0xF0]), name)
    number = add_view(checkpoint, storage, name, (4,), (1,))
    assert read_values(checkpoint, number).tolist() == wanted
    check_statistics(summary_of(checkpoint, number).statistics, wanted, exact=True)


@pytest.mark.parametrize(("name", "wanted"), [("bits8", [1, 255]), ("bits4x2", [1, 255]), ("bits16", [0xFF01])])
def test_that_bit_types_are_shown_as_their_bytes(
    name: str, wanted: list[int], checkpoint: Checkpoint, tmp_path: Path
) -> None:
    storage = add_storage(checkpoint, tmp_path, bytes([1, 255]), name)
    number = add_view(checkpoint, storage, name, (len(wanted),), (1,))
    assert read_values(checkpoint, number).tolist() == wanted
    summary = summary_of(checkpoint, number)
    assert summary.of == "bits"
    check_statistics(summary.statistics, wanted, exact=True)


def test_that_any_set_bit_makes_a_bool_true(checkpoint: Checkpoint, tmp_path: Path) -> None:
    storage = add_storage(checkpoint, tmp_path, bytes([0, 1, 2, 255, 0]), "bool")
    number = add_view(checkpoint, storage, "bool", (5,), (1,))
    assert read_values(checkpoint, number).tolist() == [False, True, True, True, False]
    summary = summary_of(checkpoint, number)
    assert list(summary.histogram.counts) == [2, 3]
    assert (summary.statistics.argmin, summary.statistics.argmax, summary.statistics.distinct) == (0, 1, 2)


@pytest.mark.parametrize("name", ["float16", "bfloat16", "int16", "uint8", "float8_e5m2"])
def test_that_quantiles_and_distinct_values_of_narrow_types_are_exact(
    name: str, checkpoint: Checkpoint, tmp_path: Path
) -> None:
    dtype = getattr(torch, name)
    tensor = (torch.randn(3001) * 30 + 60).abs().to(dtype)
    number = add_tensor(checkpoint, tmp_path, tensor)
    values = tensor.to(torch.float64).numpy()
    statistics = summary_of(checkpoint, number).statistics
    assert statistics.distinct == np.unique(values).size
    for quantile in statistics.quantiles:
        assert quantile.error == 0.0
        assert quantile.value == np.quantile(values, quantile.fraction)


@pytest.mark.parametrize("name", ["float32", "float64", "int64", "int32"])
@pytest.mark.parametrize("value_range", [None, (-1.0, 50.0)])
def test_that_quantiles_of_wide_types_are_within_their_error(
    name: str, value_range: tuple[float, float] | None, checkpoint: Checkpoint, tmp_path: Path
) -> None:
    tensor = (torch.randn(3001) * 30).to(getattr(torch, name))
    number = add_tensor(checkpoint, tmp_path, tensor)
    values = tensor.to(torch.float64).numpy()
    quantiles = run(summarise_task(checkpoint, number, value_range=value_range)).statistics.quantiles
    assert len(quantiles) == 7
    for quantile in quantiles:
        assert abs(quantile.value - np.quantile(values, quantile.fraction)) <= quantile.error
        assert quantile.error < (values.max() - values.min()) / 4000 or value_range is not None


@pytest.mark.parametrize("scale", [0.0, math.inf, math.nan, 1e300, -2.0, 1e-50])
def test_that_any_scale_gives_numbers_or_says_that_none_is_finite(
    scale: float, checkpoint: Checkpoint, tmp_path: Path
) -> None:
    storage = add_storage(checkpoint, tmp_path, bytes([0, 1, 2, 250]), "quint8")
    extra: dict[str, object] = {"qscheme": "per_tensor_affine", "scale": scale, "zero_point": 1}
    number = add_view(checkpoint, storage, "quint8", (4,), (1,), extra=extra)
    with np.errstate(over="ignore", invalid="ignore"):
        wanted = (np.array([-1, 0, 1, 249], np.float32) * np.array(scale).astype(np.float32)).tolist()
    summary = summary_of(checkpoint, number)
    check_statistics(summary.statistics, wanted, smallest_normal=2.0**-126, exact=True)
    assert summary.histogram.total == summary.statistics.finite
    assert summary.parts[0].statistics.max == 250
