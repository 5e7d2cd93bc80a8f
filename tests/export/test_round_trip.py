"""What is exported is loaded by torch as what it was."""

from __future__ import annotations

import datetime
import decimal
import functools
import pathlib
import zipfile
from argparse import Namespace
from collections import Counter, OrderedDict, defaultdict, deque
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.export.contents import exported, loaded, many_dtypes, same, same_bits, save, training_content


@pytest.mark.parametrize("mmap", [False, True])
@pytest.mark.parametrize("legacy", [False, True])
def test_that_a_training_checkpoint_is_loaded_as_what_it_was(tmp_path: Path, mmap: bool, legacy: bool) -> None:
    content = training_content()
    result = exported(save(content, tmp_path / "a.pt", legacy=legacy))
    assert result.plan.weights_only
    assert same(loaded(result.path, mmap=mmap), content)


def test_that_every_dtype_keeps_every_bit(tmp_path: Path) -> None:
    content = many_dtypes()
    for options in ({}, {"keep_strides": True}):
        result = exported(save(content, tmp_path / "a.pt"), **options)
        again = loaded(result.path)
        assert list(again) == list(content)
        for name, tensor in content.items():
            assert same_bits(again[name], tensor), name
            assert again[name].untyped_storage().nbytes() == tensor.numel() * tensor.itemsize, name


def test_that_strides_are_kept_where_that_was_asked_for_and_possible(tmp_path: Path) -> None:
    base = torch.arange(24.0)
    content = {
        "t": base.reshape(4, 6).t(),
        "nhwc": base.reshape(1, 2, 3, 4).to(memory_format=torch.channels_last),
        "steps": base[::2],
        "expanded": base[:1].expand(3),
    }
    again = loaded(exported(save(content, tmp_path / "a.pt"), keep_strides=True).path)
    assert [again[name].stride() for name in ("t", "nhwc", "steps", "expanded")] == [
        (1, 6),
        (24, 1, 8, 2),
        (1,),
        (1,),
    ]
    assert all(same_bits(again[name], tensor) for name, tensor in content.items())
    plain = loaded(exported(tmp_path / "a.pt").path)
    assert all(tensor.is_contiguous() for tensor in plain.values())


@pytest.mark.filterwarnings(
    "ignore:.*quantized tensor creation.*", "ignore:.*TypedStorage.*", "ignore:Sparse.*", "ignore:.*beta state.*"
)
def test_that_odd_tensors_are_kept(tmp_path: Path) -> None:
    content: dict[str, Any] = {
        "q": torch.quantize_per_tensor(torch.tensor([0.0, 1.5]), 0.5, 2, torch.qint8),
        "qc": torch.quantize_per_channel(
            torch.ones(2, 3), torch.tensor([0.5, 0.25]), torch.tensor([0, 1]), 0, torch.quint8
        ),
        "coo": torch.sparse_coo_tensor(torch.tensor([[0, 0, 1]]), torch.tensor([1.0, 2.0, 3.0]), (3,)),
        "csr": torch.eye(3).to_sparse_csr(),
        "meta": torch.empty(2, 3, device="meta"),
        "storage": torch.tensor([1, 2], dtype=torch.int16).untyped_storage(),
    }
    result = exported(save(content, tmp_path / "a.pt"))
    again = loaded(result.path)
    for name in ("q", "qc", "coo", "csr"):
        assert same_bits(again[name], content[name]), name
    assert not again["coo"].is_coalesced()
    assert again["meta"].shape == (2, 3)
    assert bytes(again["storage"].tolist()) == bytes(content["storage"].tolist())
    assert again["qc"].q_per_channel_scales().tolist() == [0.5, 0.25]


def test_that_attributes_of_tensors_are_kept(tmp_path: Path) -> None:
    tensor = torch.ones(2)
    tensor.note = "hello"  # type: ignore[attr-defined]
    parameter = torch.nn.Parameter(torch.zeros(2))
    parameter.tag = {"group": 1}  # type: ignore[attr-defined]
    again = loaded(exported(save({"t": tensor, "p": parameter}, tmp_path / "a.pt")).path)
    assert again["t"].note == "hello"
    assert again["p"].tag == {"group": 1}
    assert type(again["p"]) is torch.nn.Parameter


def test_that_shared_lists_and_dicts_stay_shared_and_cycles_stay_cycles(tmp_path: Path) -> None:
    shared = [1, 2]
    content: dict[str, Any] = {"a": shared, "b": shared, "c": [1, 2]}
    content["self"] = content
    again = loaded(exported(save(content, tmp_path / "a.pt")).path)
    assert again["a"] is again["b"]
    assert again["a"] is not again["c"]
    assert again["self"] is again


def test_that_the_same_tensor_stays_the_same_and_other_views_are_separated(tmp_path: Path) -> None:
    base = torch.arange(10.0)
    content = {"a": base, "b": base, "again": base.view(10), "part": base[2:4], "shape": base.view(2, 5)}
    result = exported(save(content, tmp_path / "a.pt"))
    again = loaded(result.path)
    assert again["a"].data_ptr() == again["b"].data_ptr() == again["again"].data_ptr()
    assert len({again[name].data_ptr() for name in ("a", "part", "shape")}) == 3
    assert any(found.kind == "separated" and "part" in found.text for found in result.plan.findings)
    assert all(torch.equal(again[name], tensor) for name, tensor in content.items())


def test_that_known_values_of_the_standard_library_are_kept(tmp_path: Path) -> None:
    default = defaultdict(list, a=[1])
    content = {
        "deque": deque([1, 2], maxlen=5),
        "default": default,
        "frozen": frozenset({1, "a"}),
        "date": datetime.datetime(2024, 5, 6, 7, 8, 9, tzinfo=datetime.UTC),
        "decimal": decimal.Decimal("1.50"),
        "path": pathlib.PurePosixPath("a/b"),
        "range": range(1, 9, 2),
        "slice": slice(1, None),
        "namespace": Namespace(lr=0.1),
        "int": int,
        "big": 1 << 4000,
        "counter": Counter("aab"),
        "bytearray": bytearray(b"abc"),
    }
    result = exported(save(content, tmp_path / "a.pt"))
    assert not result.plan.weights_only
    again = loaded(result.path, weights_only=False)
    assert again == content
    assert again["deque"].maxlen == 5
    assert again["default"].default_factory is list


class Config:
    """An object of a class that only this module has."""

    def __init__(self, lr: float, w: torch.Tensor) -> None:
        self.lr = lr
        self.w = w
        self.me = self


class Nested:
    class Inner(dict[str, int]):
        pass


def test_that_kept_objects_are_made_again_of_the_same_class(tmp_path: Path) -> None:
    inner = Nested.Inner(a=1)
    inner.note = "n"  # type: ignore[attr-defined]
    content = {"c": Config(0.1, torch.ones(2)), "n": inner, "f": functools.partial(int, base=2), "cls": Config}
    result = exported(save(content, tmp_path / "a.pt"), objects="keep")
    again = loaded(result.path, weights_only=False)
    assert type(again["c"]) is Config
    assert again["c"].me is again["c"]
    assert torch.equal(again["c"].w, torch.ones(2))
    assert type(again["n"]) is Nested.Inner
    assert again["n"] == {"a": 1}
    assert again["n"].note == "n"
    assert again["f"]("101") == 5
    assert again["cls"] is Config


def test_that_a_whole_module_is_kept(tmp_path: Path) -> None:
    model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Dropout(0.5))
    again = loaded(exported(save(model, tmp_path / "a.pt"), objects="keep").path, weights_only=False)
    assert torch.equal(again(torch.ones(1, 2).double().float()).isfinite(), torch.ones(1, 3).bool())
    assert same(again.state_dict(), model.state_dict())


def test_that_the_archive_is_a_sound_zip_with_aligned_records(tmp_path: Path) -> None:
    path = exported(save(training_content(), tmp_path / "a.pt")).path
    with zipfile.ZipFile(path) as archive, path.open("rb") as file:
        assert archive.testzip() is None
        names = archive.namelist()
        assert names[:4] == [f"archive/{name}" for name in ("data.pkl", ".canonical", "byteorder", "version")]
        assert names[4:] == [f"archive/data/{nth}" for nth in range(len(names) - 4)]
        for info in archive.infolist():
            assert info.date_time == (1980, 1, 1, 0, 0, 0)
            file.seek(info.header_offset + 26)
            lengths = file.read(4)
            start = info.header_offset + 30 + int.from_bytes(lengths[:2], "little")
            assert (start + int.from_bytes(lengths[2:], "little")) % 64 == 0


def test_that_more_records_than_16_bits_count_make_a_zip64_archive(tmp_path: Path) -> None:
    from viewer.export.zip_writer import ZipRecord, zip_nbytes, zip_stream

    records = [ZipRecord(f"archive/data/{nth}", 1, b"x") for nth in range(70_000)]
    data = b"".join(map(bytes, zip_stream(records, iter)))
    assert len(data) == zip_nbytes(records)
    (tmp_path / "a.zip").write_bytes(data)
    with zipfile.ZipFile(tmp_path / "a.zip") as archive:
        assert len(archive.namelist()) == 70_000
        assert archive.read("archive/data/69999") == b"x"


def test_that_records_beyond_4_gib_are_written_with_64_bit_sizes() -> None:
    from viewer.export.zip_writer import ZipRecord, zip_nbytes, zip_stream

    nbytes = (4 << 30) + 5
    chunk = bytes(1 << 24)

    def chunks() -> Any:
        for _ in range(nbytes // len(chunk)):
            yield chunk
        yield chunk[: nbytes % len(chunk)]

    records = [ZipRecord("archive/data/0", nbytes, chunks), ZipRecord("archive/data/1", 3, b"abc")]
    head, total, tail = b"", 0, b""
    for piece in zip_stream(records, lambda content: content()):
        head = head or bytes(piece)
        total += len(piece)
        tail = (tail + bytes(piece[-400:]))[-600:]
    assert total == zip_nbytes(records)
    assert head[4:6] == (45).to_bytes(2, "little")
    assert nbytes.to_bytes(8, "little") in head
    assert tail.count(b"PK\x06\x06") == tail.count(b"PK\x06\x07") == 1
    assert nbytes.to_bytes(8, "little") * 2 in tail


def test_that_an_empty_ordered_dict_with_metadata_keeps_it(tmp_path: Path) -> None:
    value: Any = OrderedDict()
    value._metadata = {"": {"version": 2}}
    again = loaded(exported(save(value, tmp_path / "a.pt")).path)
    assert again._metadata == {"": {"version": 2}}
