"""numpy scalars and arrays of every dtype and order, as numpy has them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.formats.kinds.kind_files import number_at, opened, rows
from viewer.checkpoint.document import Checkpoint
from viewer.tensors.reading import read_values

NUMBERS = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16"]


def array_at(checkpoint: Checkpoint, path: str) -> Any:
    """The values of a row, as a numpy array of its shape."""
    reference = checkpoint.tensor(number_at(checkpoint, path))
    return read_values(checkpoint, reference).numpy().reshape(reference.shape)


@pytest.mark.parametrize("code", NUMBERS)
@pytest.mark.parametrize("protocol", [2, 5])
def test_that_arrays_of_numbers_are_read_in_every_order(tmp_path: Path, code: str, protocol: int) -> None:
    base = np.arange(24).reshape(2, 3, 4)
    arrays = {
        "little": base.astype(f"<{code}"),
        "big": base.astype(f">{code}"),
        "fortran": np.asfortranarray(base.astype(code)),
        "view": base.astype(code)[:, ::2, 1:],
        "scalar": np.array(1).astype(code),
        "empty": np.zeros((0, 3), code),
    }
    checkpoint = opened(tmp_path, arrays, pickle_protocol=protocol)
    for name, array in arrays.items():
        assert rows(checkpoint)[name][:2] == ("TENSOR", "numpy.ndarray")
        found = array_at(checkpoint, name)
        assert found.dtype == array.dtype.newbyteorder("=")
        assert found.shape == array.shape
        assert np.array_equal(found, array)


@pytest.mark.parametrize("code", NUMBERS)
def test_that_scalars_are_plain_numbers(tmp_path: Path, code: str) -> None:
    scalar = np.array([1]).astype(code)[0]
    kind, type_name, value = rows(opened(tmp_path, {"x": scalar}))["x"]
    assert kind == "SCALAR"
    assert type_name == ("numpy.bool_" if code == "?" else f"numpy.{scalar.dtype.name}")
    assert value == scalar.item()
    assert type(value) is type(scalar.item())


def test_that_texts_and_objects_are_lists_of_what_they_hold(tmp_path: Path) -> None:
    items = {
        "str": np.array(["a", "ключ", ""]),
        "bytes": np.array([b"a", b"bc"]),
        "objects": np.array([1, "a", None, torch.ones(2)], dtype=object),
        "one str": np.str_("ab"),
        "one bytes": np.bytes_(b"ab"),
        "dtype": np.dtype("f4"),
    }
    shown = rows(opened(tmp_path, items))
    assert [shown[f"str/items[{at}]"][2] for at in range(3)] == ["a", "ключ", ""]
    assert [shown[f"bytes/items[{at}]"][2] for at in range(2)] == [b"a", b"bc"]
    assert [shown[f"objects/items[{at}]"][2] for at in range(3)] == [1, "a", None]
    assert shown["objects/items[3]"][:2] == ("TENSOR", "tensor")
    assert shown["one str"] == ("SCALAR", "numpy.str_", "ab")
    assert shown["one bytes"] == ("SCALAR", "numpy.bytes_", b"ab")
    assert shown["dtype"] == ("SCALAR", "numpy.dtype", "float32")
