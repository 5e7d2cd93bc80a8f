"""numpy's scalars and arrays, against numpy."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from tests.formats.pickle.helpers import load, named, tree_of, values
from viewer.checkpoint.dtypes import DTYPES
from viewer.checkpoint.nodes import Kind
from viewer.checkpoint.tensors import INLINE

NUMBERS = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16"]


def array_of(session: Any, number: int) -> np.ndarray[Any, Any]:
    """An array made again from a row and its bytes."""
    tensors, storages = session.tensors, session.storages
    storage = tensors.storage[number]
    assert storages.encoding[storage] == INLINE
    raw = session.blobs[storages.offset[storage]]
    assert len(raw) == storages.nbytes[storage]
    name = DTYPES[tensors.dtype[number]].name
    dtype = np.dtype(name).newbyteorder(">" if storages.big_endian[storage] else "<")
    flat = np.frombuffer(raw, dtype)
    stride = tuple(step * dtype.itemsize for step in tensors.stride[number])
    return np.lib.stride_tricks.as_strided(flat[tensors.storage_offset[number] :], tensors.shape[number], stride)


@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize("code", NUMBERS)
def test_that_arrays_of_every_number_hold_their_values(protocol: int, code: str) -> None:
    rng = np.random.default_rng(5)
    plain = (rng.random((300, 40)) * 9).astype(code)  # more than the short bytes of old protocols
    arrays = {
        "plain": plain,
        "fortran": np.asfortranarray(plain),
        "big": plain.astype(np.dtype(code).newbyteorder(">")),
        "scalar": np.array(plain[0, 0]),
        "empty": plain[:0],
        "view": plain[1:, ::2],
    }
    session, result = load(pickle.dumps(arrays, protocol))
    for name, expected in arrays.items():
        made = array_of(session, result.root[name].number)
        assert made.shape == expected.shape
        assert np.array_equal(made, expected)
    assert session.tensors.extra[result.root["fortran"].number].get("fortran", False) is True
    assert session.tensors.problem == {}


@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize("code", NUMBERS)
def test_that_scalars_hold_their_value(protocol: int, code: str) -> None:
    expected = np.dtype(code).type(3)
    _, nodes = tree_of(pickle.dumps(expected, protocol))
    assert nodes.kind[0] == Kind.SCALAR
    assert nodes.value[0] == expected.item()
    assert type(nodes.value[0]) is type(expected.item())
    assert nodes.type_name(0) == ("numpy.bool_" if code == "?" else f"numpy.{expected.dtype.name}")


def test_that_names_of_numpy_1_mean_the_same() -> None:
    data = pickle.dumps([np.float64(1.5), np.arange(3)], 2).replace(b"numpy._core.", b"numpy.core.")
    session, nodes = tree_of(data)
    assert values(nodes)[0,] == 1.5
    assert array_of(session, 0).tolist() == [0, 1, 2]
    assert all(use.harmless for use in session.globals())


def test_that_an_array_of_python_2_is_read_from_its_str() -> None:
    # What Python 2 writes: the values as STRING, the dtype's state without an alignment of its own.
    data = (
        b"\x80\x02cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85U\x01b\x87R(K\x01K\x02\x85cnumpy\ndtype\n"
        b"U\x02f4K\x00K\x01\x87R(K\x03U\x01<NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb\x89U\x08\x00\x00\x80?\xff\xff\x7f\xfftb."
    )
    session, _ = load(data)
    assert session.blobs == [b"\x00\x00\x80?\xff\xff\x7f\xff"]
    assert session.tensors.shape == [(2,)]


@pytest.mark.parametrize("protocol", range(6))
def test_that_arrays_torch_has_no_dtype_for_are_objects_with_a_note(protocol: int) -> None:
    arrays = {
        "text": np.array([["a", "bc"], ["", "\u540d"]]),
        "bytes": np.array([b"a", b"bc"]),
        "objects": np.array([1, "x", None], dtype=object),
        "structured": np.zeros(2, dtype=[("x", "<f4"), ("y", "<i8")]),
        "dates": np.array(["2024-01-01"], dtype="datetime64[D]"),
    }
    _, nodes = tree_of(pickle.dumps(arrays, protocol))
    shown = values(nodes)
    assert shown["text",] == "U2, 2×2"
    assert [shown["text", "items", n] for n in range(4)] == ["a", "bc", "", "\u540d"]
    assert [shown["bytes", "items", n] for n in range(2)] == [b"a", b"bc"]
    assert [shown["objects", "items", n] for n in range(3)] == [1, "x", None]
    assert shown["structured",] == "[x: f4, y: i8], 2"
    assert shown["dates",] == "datetime64[D], 1"
    for name in arrays:
        assert nodes.kind[nodes.first_child[0] + list(arrays).index(name)] == Kind.OBJECT


def test_that_dtypes_are_values() -> None:
    _, nodes = tree_of(pickle.dumps([np.dtype("f4"), np.dtype(">i8"), np.dtype("U3")]))
    assert [nodes.value[node] for node in nodes.children(0)] == ["float32", ">int64", "U3"]


def test_that_one_buffer_under_two_arrays_is_one_storage() -> None:
    array = np.arange(4.0)
    session, result = load(pickle.dumps([array, array], 2))
    assert result.root[0] is result.root[1]
    assert len(session.blobs) == 1


def test_that_an_array_that_is_too_long_for_its_bytes_keeps_its_row_with_the_reason() -> None:
    call = (
        named("numpy._core.numeric", "_frombuffer") + b"(C\x08" + b"x" * 8 + named("numpy", "dtype") + b"(U\x02f4tR"
    )
    session, result = load(b"\x80\x03" + call + b"K\x05\x85U\x01CtR.")
    assert session.tensors.problem[result.root.number] == "reaches outside its storage: needs 20 bytes of 8"


@pytest.mark.parametrize(
    "shape", [b"(J\xff\xff\xff\xfft", b"K\x05", b"(" + b"K\x01" * 65 + b"t", b"(" + b"J\xff\xff\xff\x7f" * 9 + b"t"]
)
def test_that_impossible_shapes_are_objects(shape: bytes) -> None:
    call = (
        named("numpy._core.numeric", "_frombuffer") + b"(C\x08" + b"x" * 8 + named("numpy", "dtype") + b"(U\x02f4tR"
    )
    _, nodes = tree_of(b"\x80\x03" + call + shape + b"U\x01CtR.")
    assert nodes.kind[0] == Kind.OBJECT
    assert nodes.value[0] == "of a shape or dtype that cannot be read"


@pytest.mark.parametrize("state", [b"K\x01", b"(K\x01K\x02t", b"(K\x01K\x02K\x03K\x04K\x05t", b"N"])
def test_that_an_array_with_a_state_of_its_own_keeps_it(state: bytes) -> None:
    made = named("numpy._core.multiarray", "_reconstruct") + b"(" + named("pandas", "Index") + b"K\x00\x85C\x01btR"
    _, nodes = tree_of(b"\x80\x03" + made + state + b"b.")
    assert nodes.kind[0] == Kind.OBJECT
    assert nodes.type_name(0) == "pandas.Index"
