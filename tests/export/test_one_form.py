"""What has one content has one form, down to what pickle, zip and safetensors leave open."""

from __future__ import annotations

import json
import pickle
import struct
from collections import OrderedDict
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from tests.export.contents import digest, exported, loaded, save
from viewer.errors import ViewerError
from viewer.export import zip_writer
from viewer.export.zip_writer import ZipRecord, zip_stream


class Plain:
    """An object with a state."""

    def __init__(self) -> None:
        self.b, self.a = 1, [2]


class Slotted:
    """An object whose state is a pair: no dict, and slots."""

    __slots__ = ("first", "second")

    def __init__(self) -> None:
        self.first, self.second = 1, "x"


def pickled(value: object, path: Path, protocol: int) -> Path:
    path.write_bytes(pickle.dumps(value, protocol))
    return path


IMMUTABLE: dict[str, Any] = {
    "complex": lambda: complex(1, float("2")),
    "device": lambda: torch.device("cuda", int("1")),
    "frozenset": lambda: frozenset([("x", 1), ("x", 2)]),
    "tuple": lambda: (1, ("a", 2.5)),
    "bytes": lambda: bytes([1, 200]),
    "size": lambda: torch.Size([2, int("3")]),
}
MUTABLE: dict[str, Any] = {
    "set": lambda: {1, 2},
    "list": lambda: [1],
    "dict": lambda: {"a": 1},
    "ordered": lambda: OrderedDict(a=1),
}


@pytest.mark.parametrize("name", IMMUTABLE)
def test_that_equal_immutable_values_are_one_whether_or_not_they_were(name: str, tmp_path: Path) -> None:
    make = IMMUTABLE[name]
    one = make()
    shared = save([one, one, {"k": one}], tmp_path / "shared.pt")
    apart = save([make(), make(), {"k": make()}], tmp_path / "apart.pt")
    assert digest(shared) == digest(apart)
    other = save([one, one, {"k": None}], tmp_path / "other.pt")
    assert digest(other) != digest(shared)
    result = exported(shared)
    back = loaded(result.path, weights_only=result.plan.weights_only)
    assert back == [one, one, {"k": one}]


@pytest.mark.parametrize("name", MUTABLE)
def test_that_equal_mutable_values_stay_two_and_one_stays_one(name: str, tmp_path: Path) -> None:
    make = MUTABLE[name]
    one = make()
    shared, apart = save([one, one], tmp_path / "shared.pt"), save([make(), make()], tmp_path / "apart.pt")
    assert digest(shared) != digest(apart)
    for path, is_one in ((shared, True), (apart, False)):
        result = exported(path)
        first, second = loaded(result.path, weights_only=result.plan.weights_only)
        assert (first is second) is is_one
        assert first == second == one


@pytest.mark.parametrize("kind", [Plain, Slotted])
def test_that_the_protocol_of_a_pickle_leaves_no_trace_of_an_object(kind: type, tmp_path: Path) -> None:
    protocols = range(6) if kind is Plain else range(2, 6)  # slots need protocol 2
    made = kind()
    digests = {digest(pickled({"x": made}, tmp_path / f"{protocol}.pkl", protocol)) for protocol in protocols}
    assert len(digests) == 1
    state = {"b": 1, "a": [2]} if kind is Plain else {"first": 1, "second": "x"}
    as_dict = digest(pickled({"x": state}, tmp_path / "dict.pkl", 2))
    assert {
        digest(pickled({"x": made}, tmp_path / f"{protocol}.pkl", protocol), objects="plain")
        for protocol in protocols
    } == {as_dict}


def test_that_keys_of_a_plain_form_keep_their_order_unless_they_are_sorted(tmp_path: Path) -> None:
    source = pickled({"x": Plain()}, tmp_path / "a.pkl", 2)
    for sort, expected in ((False, ["b", "a"]), (True, ["a", "b"])):
        result = exported(source, tmp_path / f"{sort}.pth", objects="plain", sort_keys=sort)
        assert list(loaded(result.path)["x"]) == expected


def test_that_sets_of_anything_have_one_order(tmp_path: Path) -> None:
    members = [("b", 1), ("a", 2), ("a", 1), frozenset("ab"), frozenset("c"), (), None, 2.5, -1, "x", b"x"]
    one = save(set(members), tmp_path / "a.pt")
    other = pickled(set(members), tmp_path / "b.pkl", 4)
    assert digest(one) == digest(other)
    result = exported(one)
    assert loaded(result.path, weights_only=result.plan.weights_only) == set(members)
    assert exported(result.path, tmp_path / "again.pth").sha256 == result.sha256


def test_that_a_parameter_on_the_meta_device_stays_one(tmp_path: Path) -> None:
    meta = torch.nn.Parameter(torch.empty(2, 3, device="meta"))
    result = exported(save({"p": meta, "t": torch.empty(2, device="meta")}, tmp_path / "a.pt"))
    back = loaded(result.path, weights_only=False)
    assert type(back["p"]) is torch.nn.Parameter
    assert type(back["t"]) is torch.Tensor


@pytest.mark.parametrize("keep_strides", [False, True])
def test_that_strides_of_extents_of_one_mean_nothing(keep_strides: bool, tmp_path: Path) -> None:
    values = torch.arange(3.0)
    odd = torch.as_strided(values, (1, 3, 1), (77, 1, 5))
    plain = values.reshape(1, 3, 1)
    digests = [
        digest(save({"x": value}, tmp_path / f"{at}.pt"), keep_strides=keep_strides)
        for at, value in enumerate((odd, plain))
    ]
    assert digests[0] == digests[1]


def named_records(path: Path) -> dict[str, dict[str, Any]]:
    data = path.read_bytes()
    header: dict[str, Any] = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    header.pop("__metadata__", None)
    return header


def test_that_names_of_safetensors_are_paths_and_never_meet(tmp_path: Path) -> None:
    names: dict[Any, str] = {
        "a.b": "a.b",
        "ü 层": "ü 层",
        "lone \udcff": "lone ?",
        None: '[{"None"}]',
        True: '[{"True"}]',
        2.5: '[{"2.5"}]',
        (1, 1): '[{"<tuple>"}]',
        (1, 2): '[{"<tuple>"}]#2',
        (1, 3): '[{"<tuple>"}]#3',
        7: "[7]",
    }
    content: dict[Any, Any] = {key: torch.full((1,), float(at)) for at, key in enumerate(names)}
    content["a"] = {"b": torch.full((1,), 20.0), "b#2": torch.full((1,), 21.0)}
    result = exported(save(content, tmp_path / "a.pt"), flavour="safetensors")
    found = {name: tensor.item() for name, tensor in load_file(result.path).items()}
    assert found == {**{name: at for at, name in enumerate(names.values())}, "a/b": 20.0, "a/b#2": 21.0}
    assert named_records(result.path).keys() == found.keys()


@pytest.mark.parametrize("shape", [(3,), (2, 3), (5, 2, 3)])
def test_that_packed_numbers_are_counted_along_the_last_dimension(shape: tuple[int, ...], tmp_path: Path) -> None:
    numel = torch.Size(shape).numel()
    packed = torch.arange(numel, dtype=torch.uint8).reshape(shape).view(torch.float4_e2m1fn_x2)
    result = exported(save({"x": packed}, tmp_path / "a.pt"), flavour="safetensors")
    assert named_records(result.path)["x"]["shape"] == [*shape[:-1], 2 * shape[-1]]


@pytest.mark.filterwarnings("ignore:Sparse.*", "ignore:.*quantize.*", "ignore:.*torch.ao.quantization.*")
@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: torch.quantize_per_tensor(torch.ones(2), 0.5, 2, torch.quint8), "quantized"),
        (lambda: torch.empty(2, device="meta"), "of device meta, without values"),
        (lambda: torch.ones(2).to_sparse(), "sparse_coo"),
        (lambda: torch.ones(2, dtype=torch.complex128), "complex128"),
        (lambda: torch.ones(2).untyped_storage(), "a storage by itself"),
    ],
)
def test_that_what_safetensors_cannot_hold_is_named(make: Any, words: str, tmp_path: Path) -> None:
    source = save({"good": torch.ones(1), "x": make()}, tmp_path / "a.pt")
    with pytest.raises(ViewerError, match=words):
        exported(source, flavour="safetensors")


@pytest.mark.parametrize("nbytes", [0, 100, (1 << 32) - 2, (1 << 32) - 1, 1 << 32, 5 << 32])
@pytest.mark.parametrize("at", [0, 61, (1 << 32) - 1, 1 << 33])
def test_that_headers_are_aligned_and_have_64_bits_where_they_must(nbytes: int, at: int) -> None:
    """APPNOTE.TXT 4.3.7, 4.3.12 and 4.5.3, read here by hand: the fields of an entry, and of its extra fields."""
    record = ZipRecord("archive/data/0", nbytes, None)
    local = zip_writer._local_header(record, at)
    name_nbytes, extra_nbytes = struct.unpack_from("<HH", local, 26)
    assert (at + len(local)) % 64 == 0
    assert len(local) == 30 + name_nbytes + extra_nbytes
    assert local[30 : 30 + name_nbytes] == b"archive/data/0"
    fields = extra_fields(local[30 + name_nbytes :])
    is_large = nbytes >= (1 << 32) - 1
    sizes = struct.unpack_from("<II", local, 18)
    assert sizes == ((0xFFFFFFFF, 0xFFFFFFFF) if is_large else (0, 0))
    assert (1 in fields) is is_large
    if is_large:
        assert struct.unpack("<QQ", fields[1]) == (nbytes, nbytes)
    entry = zip_writer._central_entry(record, 0x12345678, at)
    crc, packed, size, name_nbytes, extra_nbytes, comment_nbytes = struct.unpack_from("<IIIHHH", entry, 16)
    assert (crc, comment_nbytes, len(entry)) == (0x12345678, 0, 46 + name_nbytes + extra_nbytes)
    wide = list(struct.unpack(f"<{extra_nbytes // 8}Q", extra_fields(entry[46 + name_nbytes :]).get(1, b"")))
    for value, short in ((nbytes, size), (nbytes, packed), (at, struct.unpack_from("<I", entry, 42)[0])):
        assert value == (wide.pop(0) if short == 0xFFFFFFFF else short)
    assert wide == []


def extra_fields(data: bytes) -> dict[int, bytes]:
    """By tag; they fill the data exactly."""
    found: dict[int, bytes] = {}
    while data:
        tag, nbytes = struct.unpack_from("<HH", data)
        assert len(data) >= 4 + nbytes
        found[tag] = data[4 : 4 + nbytes]
        data = data[4 + nbytes :]
    return found


def test_that_the_size_of_an_archive_is_known_before_it_is_written() -> None:
    for count in (0, 1, 3):
        records = [ZipRecord(f"a/{number}", 10 * number, bytes(10 * number)) for number in range(count)]
        written = b"".join(bytes(piece) for piece in zip_stream(records, iter))
        assert zip_writer.zip_nbytes(records) == len(written)
