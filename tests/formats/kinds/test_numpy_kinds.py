"""numpy scalars and arrays of every dtype and order, as numpy has them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.formats.kinds.kind_files import number_at, opened, rows
from viewer import open_checkpoint
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


RECORD = np.dtype([("x", "<f4"), ("y", ">i8", (2,)), ("n", "U3"), ("sub", [("a", "u1"), ("t", "M8[D]")])])


def records() -> Any:
    made = np.zeros((2, 3), RECORD)
    made["x"] = np.arange(6).reshape(2, 3)
    made["y"] = np.arange(12).reshape(2, 3, 2)
    made["n"] = np.array(list("abcdef")).reshape(2, 3)
    made["sub"]["a"] = np.arange(6).reshape(2, 3)
    made["sub"]["t"] = np.datetime64("2024-02-29")
    return made


@pytest.mark.parametrize("protocol", [2, 5])
@pytest.mark.parametrize("order", ["C", "F"])
def test_that_a_structured_array_is_an_array_for_each_field(tmp_path: Path, protocol: int, order: Any) -> None:
    array = np.array(records(), order=order)
    checkpoint = opened(tmp_path, {"r": array}, pickle_protocol=protocol)
    shown = rows(checkpoint)
    assert shown["r"] == (
        "OBJECT", "numpy.ndarray", "[x: f4, y: 2×i8, n: U3, sub: [a: u1, t: datetime64[D]]], 2×3",
    )  # fmt: skip
    assert np.array_equal(array_at(checkpoint, "r/x"), array["x"])
    assert np.array_equal(array_at(checkpoint, "r/y"), array["y"])
    assert np.array_equal(array_at(checkpoint, "r/sub/a"), array["sub"]["a"])
    assert [shown[f"r/n/items[{nth}]"][2] for nth in range(6)] == list("abcdef")
    assert shown["r/sub/t/items[5]"] == ("SCALAR", "numpy.datetime64", "2024-02-29")


def test_that_a_record_is_a_row_for_each_field(tmp_path: Path) -> None:
    shown = rows(opened(tmp_path, {"one": records()[1, 0], "rec": np.rec.array([(1, 2.5)], dtype="i4,f8")}))
    assert shown["one"][:2] == ("OBJECT", "numpy.void")
    assert shown["one/x"] == ("SCALAR", "numpy.float32", 3.0)
    assert shown["one/n"] == ("SCALAR", "numpy.str_", "d")
    assert shown["one/sub/t"] == ("SCALAR", "numpy.datetime64", "2024-02-29")
    assert shown["rec"] == ("OBJECT", "numpy.rec.recarray", "[f0: i4, f1: f8], 1")
    assert shown["rec/f1"][0] == "TENSOR"


def test_that_dates_and_durations_are_texts(tmp_path: Path) -> None:
    items = {
        "dates": np.array(["2024-05-06T01:02:03.5", "NaT"], dtype=">M8[ms]"),
        "times": np.array([[5, -3]], dtype="m8[25us]"),
        "date": np.datetime64("2024-05-06T07:08"),
        "time": np.timedelta64(90, "m"),
    }
    shown = rows(opened(tmp_path, items))
    assert shown["dates"][2] == "datetime64[ms], 2"
    assert [shown[f"dates/items[{nth}]"][2] for nth in range(2)] == [str(date) for date in items["dates"]]
    assert [shown[f"times/items[{nth}]"][2] for nth in range(2)] == [str(time) for time in items["times"][0]]
    assert shown["date"] == ("SCALAR", "numpy.datetime64", "2024-05-06T07:08")
    assert shown["time"] == ("SCALAR", "numpy.timedelta64", "90 minutes")


@pytest.mark.skipif(np.finfo(np.longdouble).nmant != 63, reason="long double is not x86's here")
def test_that_long_doubles_are_texts_with_all_their_digits(tmp_path: Path) -> None:
    third = np.longdouble(1) / 3
    pair = np.array([third], np.clongdouble) + np.clongdouble(2j)
    shown = rows(opened(tmp_path, {"one": third, "some": np.array([third, 2]), "pair": pair}))
    assert shown["one"] == ("SCALAR", "numpy.longdouble", str(third))
    assert [shown[f"some/items[{nth}]"][2] for nth in range(2)] == [str(third), "2.0"]
    assert shown["pair/items[0]"] == ("SCALAR", "numpy.clongdouble", f"({third!s}+2.0j)")


def test_that_a_masked_array_shows_data_mask_and_fill_value(tmp_path: Path) -> None:
    masked = np.ma.array([1.0, 2.0, 3.0], mask=[False, True, False], fill_value=-1)
    checkpoint = opened(tmp_path, {"m": masked})
    assert rows(checkpoint)["m"] == ("OBJECT", "numpy.ma.MaskedArray", "float64, 3")
    assert array_at(checkpoint, "m/data").tolist() == [1, 2, 3]
    assert array_at(checkpoint, "m/mask").tolist() == [False, True, False]
    assert array_at(checkpoint, "m/fill_value").tolist() == -1
    assert "_mareconstruct" in [use.name for use in checkpoint.globals if not use.harmless]


def test_that_texts_in_fortran_order_are_listed_in_logical_order(tmp_path: Path) -> None:
    array = np.asfortranarray(np.array([["a", "b", "c"], ["d", "e", "f"]]))
    shown = rows(opened(tmp_path, {"t": array}))
    assert [shown[f"t/items[{nth}]"][2] for nth in range(6)] == list("abcdef")


def test_that_files_of_numpy_show_the_same(tmp_path: Path) -> None:
    np.save(tmp_path / "r.npy", records())
    np.save(tmp_path / "d.npy", np.array(["2024-05-06"], dtype="M8[D]"))
    shown = rows(open_checkpoint(tmp_path / "r.npy"))
    assert shown[""][2] == "[x: f4, y: 2×i8, n: U3, sub: [a: u1, t: datetime64[D]]], 2×3"
    assert shown["sub/t/items[5]"][2] == "2024-02-29"
    assert array_at(open_checkpoint(tmp_path / "r.npy"), "y").tolist() == records()["y"].tolist()
    assert rows(open_checkpoint(tmp_path / "d.npy"))["items[0]"][2] == "2024-05-06"


def test_that_fields_of_aligned_records_are_found(tmp_path: Path) -> None:
    array = np.zeros(3, np.dtype([("a", "u1"), ("b", "f8")], align=True))
    array["b"] = [1, 2, 3]
    np.save(tmp_path / "a.npy", array)
    for checkpoint, path in ((opened(tmp_path, {"a": array}), "a/b"), (open_checkpoint(tmp_path / "a.npy"), "b")):
        assert array_at(checkpoint, path).tolist() == [1, 2, 3]


def test_that_texts_of_any_length_and_many_fields_are_shown(tmp_path: Path) -> None:
    columns = np.zeros(2, [(f"c{nth}", "f4") for nth in range(200)])
    columns["c150"] = [1, 2]
    words = np.array(["a", "a longer one"], dtype=np.dtypes.StringDType())
    checkpoint = opened(tmp_path, {"words": words, "columns": columns})
    assert rows(checkpoint)["words"] == ("OBJECT", "numpy.ndarray", "StringDType, 2")
    assert rows(checkpoint)["words/items[1]"][2] == "a longer one"
    assert array_at(checkpoint, "columns/c150").tolist() == [1, 2]
    assert all(use.harmless for use in checkpoint.globals)
