"""Shapes, strides and dtypes agree with torch's."""

from __future__ import annotations

import pytest
import torch

from viewer.checkpoint.dtypes import DTYPES, STORAGE_CLASS_DTYPE, dtype_named
from viewer.checkpoint.tensors import contiguous_stride, is_contiguous, numel_of, span_of

VIEWS = {
    "scalar": torch.empty(()),
    "vector": torch.empty(5),
    "matrix": torch.empty(3, 4),
    "transposed": torch.empty(3, 4).t(),
    "column": torch.empty(3, 4)[:, 1],
    "step": torch.empty(10)[::3],
    "expanded": torch.empty(1, 4).expand(3, 4),
    "row of one": torch.empty(4, 1, 3).transpose(0, 1),
    "empty": torch.empty(0, 3),
    "empty transposed": torch.empty(2, 0, 3).transpose(0, 2),
    "channels last": torch.empty(2, 3, 4, 5).to(memory_format=torch.channels_last),
}


@pytest.mark.parametrize("name", VIEWS)
def test_that_a_view_is_contiguous_exactly_when_torch_says_so(name: str) -> None:
    view = VIEWS[name]
    assert is_contiguous(tuple(view.shape), view.stride()) == view.is_contiguous()


@pytest.mark.parametrize("shape", [(), (5,), (3, 4), (2, 0, 3), (1, 1), (2, 3, 4, 5), (0,)])
def test_that_the_dense_stride_is_torchs(shape: tuple[int, ...]) -> None:
    assert contiguous_stride(shape) == torch.empty(shape).stride()
    assert numel_of(shape) == torch.empty(shape).numel()


@pytest.mark.parametrize("name", VIEWS)
def test_that_the_span_reaches_from_the_first_to_the_last_element_of_a_view(name: str) -> None:
    view = VIEWS[name]
    touched = torch.as_strided(torch.arange(1000), view.shape, view.stride()).reshape(-1)
    expected = 0 if view.numel() == 0 else int(touched.max() - touched.min()) + 1
    assert span_of(tuple(view.shape), view.stride()) == expected


def test_that_every_torch_dtype_has_its_name_and_size() -> None:
    theirs = {
        str(value).removeprefix("torch."): value for value in vars(torch).values() if isinstance(value, torch.dtype)
    }
    ours = {dtype.name: dtype for dtype in DTYPES}
    assert ours.keys() == theirs.keys()
    for name, dtype in theirs.items():
        assert ours[name].itemsize == dtype.itemsize, name
        if ours[name].kind in ("float", "complex"):
            assert dtype.is_complex == (ours[name].kind == "complex")
            assert dtype.is_floating_point == (ours[name].kind == "float")


def test_that_every_storage_class_of_torch_has_its_dtype() -> None:
    from torch.storage import _dtype_to_storage_type_map

    theirs = {name: str(dtype).removeprefix("torch.") for dtype, name in _dtype_to_storage_type_map().items()}
    assert {k: v for k, v in STORAGE_CLASS_DTYPE.items() if k != "UntypedStorage"} == theirs


def test_that_a_dtype_is_found_with_and_without_torchs_prefix() -> None:
    assert dtype_named("torch.bfloat16") is dtype_named("bfloat16")
    with pytest.raises(KeyError):
        dtype_named("float7")
