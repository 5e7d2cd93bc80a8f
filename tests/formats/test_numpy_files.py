from __future__ import annotations

import io
import re
import struct
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.formats.container_files import bytes_of
from viewer import open_checkpoint
from viewer.checkpoint.nodes import Kind
from viewer.checkpoint.tensors import STORED
from viewer.errors import MalformedFile

DTYPES = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16"]


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("endian", ["<", ">"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_that_an_array_is_a_tensor_whose_values_lie_in_the_file(
    tmp_path: Path, dtype: str, endian: str, order: Any, version: tuple[int, int]
) -> None:
    array = np.asarray((np.arange(24) % 5).reshape(2, 3, 4), dtype=endian + dtype, order=order)
    path = tmp_path / "a.npy"
    with path.open("wb") as file:
        np.lib.format.write_array(file, array, version)

    checkpoint = open_checkpoint(path)

    tensor = checkpoint.tensor_of_node(0)
    assert tensor is not None
    assert tensor.dtype.name == np.dtype(dtype).name
    assert tensor.shape == (2, 3, 4)
    assert tensor.stride == tuple(step // array.itemsize for step in array.strides)
    assert tensor.storage is not None
    assert tensor.storage.encoding == STORED
    assert tensor.storage.big_endian == (endian == ">" and array.itemsize > 1)
    assert bytes_of(checkpoint, tensor.storage) == array.tobytes("A")


@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (1,)])
def test_that_scalars_and_empty_arrays_are_read(tmp_path: Path, shape: tuple[int, ...]) -> None:
    np.save(tmp_path / "a.npy", np.ones(shape))

    tensor = open_checkpoint(tmp_path / "a.npy").tensor_of_node(0)

    assert tensor is not None
    assert tensor.shape == shape
    assert tensor.problem is None


def test_that_a_structured_array_is_named_with_its_fields(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.zeros((3, 4), dtype=[("x", "<f4"), ("label", "<i8"), ("box", "<f4", (2,))]))

    checkpoint = open_checkpoint(tmp_path / "a.npy")

    assert "[x: f4, label: i8, box: 2×f4], 3×4" in str(checkpoint.nodes.value[0])
    assert checkpoint.nodes.type_name(0) == "numpy.ndarray"


def test_that_an_array_of_texts_shows_them(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.array(["one", "é"]))

    checkpoint = open_checkpoint(tmp_path / "a.npy")

    assert "one" in checkpoint.nodes.value
    assert "é" in checkpoint.nodes.value


class Canary:
    def __reduce__(self) -> tuple[object, ...]:
        return exec, ("raise SystemExit('ran')",)


def test_that_an_array_of_objects_is_unpickled_without_running_anything(tmp_path: Path) -> None:
    array = np.empty(2, dtype=object)
    array[0], array[1] = {"a": 1}, Canary()
    np.save(tmp_path / "a.npy", array, allow_pickle=True)

    checkpoint = open_checkpoint(tmp_path / "a.npy")

    assert 1 in checkpoint.nodes.value
    assert any(used.dotted == "builtins.exec" and not used.harmless for used in checkpoint.globals)


@pytest.mark.parametrize("compressed", [False, True])
def test_that_an_npz_shows_its_arrays_by_name(tmp_path: Path, compressed: bool) -> None:
    arrays = {"w": np.arange(1000.0).reshape(10, 100), "n": np.array(7, dtype=np.int32)}
    with (tmp_path / "a.pth").open("wb") as file:
        (np.savez_compressed if compressed else np.savez)(file, **arrays)  # type: ignore[operator]

    checkpoint = open_checkpoint(tmp_path / "a.pth")

    assert checkpoint.container == "NumPy archive (.npz)"
    for name, array in arrays.items():
        tensor = checkpoint.tensor_of_node(checkpoint.find(name))
        assert tensor is not None
        assert tensor.storage is not None
        assert (tensor.storage.encoding == STORED) is not compressed
        assert bytes_of(checkpoint, tensor.storage) == array.tobytes()


def test_that_a_cut_array_says_how_many_bytes_are_missing(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.arange(1000.0))
    path = tmp_path / "a.npy"
    path.write_bytes(path.read_bytes()[:-123])

    checkpoint = open_checkpoint(path)

    tensor = checkpoint.tensor_of_node(0)
    assert tensor is not None
    assert "123 of its 8,000 bytes lie beyond the end" in str(tensor.problem)


@pytest.mark.parametrize(
    "header",
    [
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1073741824, 1073741824, 1073741824)}",
        "{'descr': 7, 'fortran_order': False, 'shape': (1,)}",
        "{'descr': [], 'fortran_order': False, 'shape': (1,)}",
        "{'descr': [(1,)], 'fortran_order': False, 'shape': (1,)}",
        "__import__('os').system('true')",
        "(" * 5000,
        "-" * 9000 + "1",
        "[1]",
        "",
    ],
)
def test_that_a_header_that_cannot_be_is_one_clear_error(tmp_path: Path, header: str) -> None:
    path = tmp_path / "a.npy"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + bytes(16))
    with pytest.raises(MalformedFile, match=r"NumPy array \(\.npy\)") as caught:
        open_checkpoint(path)
    assert caught.value.path == path


@pytest.mark.parametrize("shape", ["(-1,)", "(4611686018427387904, 4)", "[2]", "(2.0,)"])
def test_that_a_shape_that_cannot_be_is_said(tmp_path: Path, shape: str) -> None:
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}}}"
    path = tmp_path / "a.npy"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + bytes(16))
    with pytest.raises(MalformedFile, match=f"impossible shape: {re.escape(shape)}"):
        open_checkpoint(path)


def test_that_the_long_integers_of_python_2_are_read(tmp_path: Path) -> None:
    header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2L, 3L), }\n"
    path = tmp_path / "a.npy"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + bytes(24))

    tensor = open_checkpoint(path).tensor_of_node(0)

    assert tensor is not None
    assert tensor.shape == (2, 3)


def test_that_one_broken_array_of_an_npz_is_a_row_with_its_message(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    np.save(buffer, np.ones(3))
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("good.npy", buffer.getvalue())
        archive.writestr("bad.npy", b"\x93NUMPY\x01\x00")

    checkpoint = open_checkpoint(tmp_path / "a.npz")

    assert checkpoint.nodes.kind[checkpoint.find("good")] == Kind.TENSOR
    assert checkpoint.nodes.kind[checkpoint.find("bad")] == Kind.PROBLEM
