"""Numbers as torch prints them, held against torch itself."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pytest
import torch

from viewer.report.print_options import ComplexFormat, PrintOptions, format_for, tensor_text

OPTIONS = [
    {},
    {"precision": 2},
    {"precision": 0},
    {"precision": 10, "linewidth": 120},
    {"sci_mode": True},
    {"sci_mode": False, "precision": 6},
    {"threshold": 10, "edgeitems": 2, "linewidth": 60},
    {"threshold": 5, "edgeitems": 1},
    {"threshold": math.inf, "linewidth": 30},
    {"threshold": 0, "edgeitems": 0},
]

DTYPES = [
    "float64",
    "float32",
    "float16",
    "bfloat16",
    "float8_e4m3fn",
    "float8_e5m2",
    "int8",
    "int64",
    "uint8",
    "bool",
]
DTYPES += ["complex64", "complex128"]

SHAPES = [(), (0,), (1,), (7,), (40,), (3, 4), (30, 3), (3, 30), (2, 3, 4), (9, 8, 7), (2, 0)]


@pytest.fixture(autouse=True)
def torch_prints_as_before() -> Iterator[None]:
    yield
    torch.set_printoptions(profile="default")


def printed(tensor: torch.Tensor, options: dict[str, object]) -> str:
    """The inside of `tensor(...)` as torch writes it, without what follows the values."""
    with torch._tensor_str.printoptions(**options):
        return torch._tensor_str._tensor_str(tensor, 7)


def tensors(name: str, shape: tuple[int, ...]) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(len(shape))
    dtype = getattr(torch, name)
    if name == "bool":
        return [torch.rand(shape, generator=generator) < 0.5]
    normal = torch.randn(shape, generator=generator, dtype=torch.complex128 if dtype.is_complex else torch.float64)
    made = [normal.to(dtype), (normal * 20).to(dtype), torch.zeros(shape).to(dtype)]
    if name not in ("int8", "uint8"):
        made.append((normal * 1e4).round().to(dtype) if not dtype.is_complex else (normal * 1e6).to(dtype))
    if dtype.is_floating_point or dtype.is_complex:
        made.append((normal * 1e-5).to(dtype))
        special = normal.clone()
        flat = special.view(-1)
        for at, value in enumerate((math.nan, math.inf, -math.inf, -0.0, 3.0)):
            if at < flat.numel():
                flat[at] = value
        made += [special.to(dtype), (special * math.inf).to(dtype)]
    return made


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("name", DTYPES)
def test_that_tensors_read_as_torch_prints_them(name: str, options: dict[str, object]) -> None:
    for shape in SHAPES:
        for tensor in tensors(name, shape):
            values = tensor.float().tolist() if "float8" in name else tensor.tolist()
            ours = tensor_text(values, PrintOptions(**options), indent=7)  # type: ignore[arg-type]
            assert ours == printed(tensor, options)


@pytest.mark.parametrize("values", [[1e-300, 1e300], [5e-324, 1.7e308], [2.0**63, 1.0], [1e8, 2e8], [1e-4, 5e-5]])
def test_that_extremes_choose_the_mode_that_torch_chooses(values: list[float]) -> None:
    assert tensor_text(values, indent=7) == printed(torch.tensor(values, dtype=torch.float64), {})


def test_that_a_format_writes_values_that_it_was_not_made_for() -> None:
    form = format_for([1.5, 2.25, -3.0])
    assert [form.text(value) for value in (1.5, -10.0, math.nan)] == [" 1.5000", "-10.0000", "    nan"]
    both = format_for([1 + 2j, -0.5j])
    assert isinstance(both, ComplexFormat)
    assert both.text(complex(1, -2)) == "1.-2.0000j"
    assert format_for([True, False]).text(True) == " True"
    assert format_for([]).text(3) == "3"
