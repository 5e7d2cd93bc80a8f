from __future__ import annotations

import io
import pickle
import struct
import tarfile
from collections import OrderedDict
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.formats.container_files import bytes_of, tensors_at_root, torch_bytes
from viewer import open_checkpoint
from viewer.checkpoint.nodes import Kind
from viewer.errors import MalformedFile

STORAGE_CLASSES: dict[torch.dtype, type] = {
    torch.float32: torch.FloatStorage,
    torch.float64: torch.DoubleStorage,
    torch.int64: torch.LongStorage,
    torch.uint8: torch.ByteStorage,
}


class Persistent:
    """What the pickler below writes as a persistent id."""

    def __init__(self, key: str) -> None:
        self.key = key


class Pickler(pickle._Pickler):  # the C pickler would have to be told by a method of the same name
    def persistent_id(self, obj: Any) -> str | None:
        return obj.key if isinstance(obj, Persistent) else None


def write_tar(
    path: Path,
    tensors: dict[str, torch.Tensor],
    *,
    views: list[tuple[int, int, int, int]] | None = None,
    location: str = "cpu",
    edit: dict[str, bytes] | None = None,
) -> Path:
    """A file as torch 0.1 wrote it; tensors that share a storage share it there."""
    storages: dict[int, tuple[int, torch.Tensor]] = {}
    entries = b""
    content: OrderedDict[str, Persistent] = OrderedDict()
    keys: dict[int, int] = {}
    for name, tensor in tensors.items():
        pointer = tensor.untyped_storage().data_ptr()
        key = storages.setdefault(pointer, (1000 + len(storages), tensor))[0]
        if id(tensor) not in keys:
            keys[id(tensor)] = 5000 + len(keys)
            entries += pickle.dumps((keys[id(tensor)], key, torch.FloatTensor), 2)
            entries += struct.pack("<ii", tensor.dim(), 0)
            entries += struct.pack(f"<{2 * tensor.dim()}q", *tensor.shape, *tensor.stride())
            entries += struct.pack("<q", tensor.storage_offset())
        content[name] = Persistent(str(keys[id(tensor)]))
    data = pickle.dumps(len(storages), 2)
    for key, tensor in storages.values():
        data += pickle.dumps((key, location, STORAGE_CLASSES[tensor.dtype]), 2)
        data += struct.pack("<q", tensor.untyped_storage().nbytes() // tensor.element_size()) + torch_bytes(tensor)
    data += pickle.dumps(views or [], 2)
    buffer = io.BytesIO()
    Pickler(buffer, 2).dump(content)
    members = {
        "sys_info": pickle.dumps({"protocol_version": 1000, "little_endian": True}, 2),
        "pickle": buffer.getvalue(),
        "tensors": pickle.dumps(len(keys), 2) + entries,
        "storages": data,
    }
    members.update(edit or {})
    with tarfile.open(path, "w") as archive:
        for name, member_data in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(member_data)
            archive.addfile(member, io.BytesIO(member_data))
    return path


def example() -> dict[str, torch.Tensor]:
    base = torch.arange(20.0)
    return {
        "weight": base[:12].reshape(3, 4),
        "transposed": base[:12].reshape(3, 4).t(),
        "offset": base[15:],
        "doubles": torch.tensor([1.5, float("nan")], dtype=torch.float64),
        "count": torch.tensor(7),
        "bytes": torch.arange(5, dtype=torch.uint8),
    }


def test_that_a_file_of_torch_0_1_reads_as_torch_reads_it(tmp_path: Path) -> None:
    path = write_tar(tmp_path / "model.pth", example())
    expected = torch.load(path, weights_only=False)

    checkpoint = open_checkpoint(path)

    assert checkpoint.container == "torch tar (0.1)"
    assert checkpoint.warnings == []
    assert checkpoint.facts["protocol version"] == "1000"
    found = tensors_at_root(checkpoint)
    assert list(found) == list(expected)
    for name, tensor in expected.items():
        there = found[name]
        assert there.problem is None
        assert (there.shape, there.stride, there.storage_offset) == (
            tuple(tensor.shape),
            tensor.stride(),
            tensor.storage_offset(),
        )
        assert there.dtype.name == str(tensor.dtype).removeprefix("torch.")
        assert there.storage is not None
        assert bytes_of(checkpoint, there.storage) == torch_bytes(tensor)
    assert found["weight"].storage == found["offset"].storage


def test_that_a_tensor_of_two_names_is_one_tensor(tmp_path: Path) -> None:
    shared = torch.ones(3)
    found = tensors_at_root(open_checkpoint(write_tar(tmp_path / "m.pth", {"a": shared, "b": shared})))

    assert found["a"].number == found["b"].number


def test_that_the_device_in_the_file_is_kept(tmp_path: Path) -> None:
    path = write_tar(tmp_path / "m.pth", {"w": torch.ones(2)}, location="cuda:1")

    assert tensors_at_root(open_checkpoint(path))["w"].device == "cuda:1"


def test_that_views_of_storages_begin_where_the_file_says(tmp_path: Path) -> None:
    base = torch.arange(10.0)
    entry = pickle.dumps(1, 2) + pickle.dumps((5000, 77, torch.FloatTensor), 2)
    entry += struct.pack("<iiqqq", 1, 0, 3, 1, 1)
    path = write_tar(tmp_path / "m.pth", {"w": base}, views=[(77, 1000, 4, 6)], edit={"tensors": entry})

    found = tensors_at_root(open_checkpoint(path))["w"]

    assert (found.shape, found.storage_offset) == ((3,), 5)
    assert torch.equal(torch.load(path, weights_only=False)["w"], base[5:8])


class Call:
    """Pickles as the call of torch's rebuilder with a plain tuple in place of a persistent id."""

    def __init__(self, key: str, numel: int) -> None:
        self.arguments = (
            ("storage", torch.FloatStorage, key, "cpu", numel), 1, (numel - 1,), (1,), False, OrderedDict(),
        )  # fmt: skip

    def __reduce__(self) -> tuple[object, ...]:
        return torch._utils._rebuild_tensor_v2, self.arguments


def test_that_an_imitation_without_tensors_shows_them_all_the_same(tmp_path: Path) -> None:
    content = OrderedDict(w=Call("0", 4), nested={"v": [Call("0", 4)]})
    storages = pickle.dumps(1, 2) + pickle.dumps(("0", "cpu", torch.FloatStorage), 2)
    storages += struct.pack("<q4f", 4, 1, 2, 3, 4)
    path = tmp_path / "m.tar"
    with tarfile.open(path, "w") as archive:
        for name, data in (("pickle", pickle.dumps(content, 2)), ("storages", storages)):
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))

    checkpoint = open_checkpoint(path)

    found = tensors_at_root(checkpoint)["w"]
    assert (found.shape, found.storage_offset, found.problem) == ((3,), 1, None)
    assert found.storage is not None
    assert bytes_of(checkpoint, found.storage) == struct.pack("<4f", 1, 2, 3, 4)
    assert checkpoint.tensor_of_node(checkpoint.find("nested/v[0]")) is not None


def test_that_an_imitation_which_asks_for_more_than_is_stored_gets_nothing(tmp_path: Path) -> None:
    storages = (
        pickle.dumps(1, 2) + pickle.dumps(("0", "cpu", torch.FloatStorage), 2) + struct.pack("<q4f", 4, *range(4))
    )
    path = tmp_path / "m.tar"
    with tarfile.open(path, "w") as archive:
        for name, data in (("pickle", pickle.dumps(OrderedDict(w=Call("0", 400)), 2)), ("storages", storages)):
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))

    found = tensors_at_root(open_checkpoint(path))["w"]

    assert "stores 16 bytes of it, but 1,600 are needed" in str(found.problem)


def test_that_a_cut_storage_marks_its_tensors_and_the_others_are_read(tmp_path: Path) -> None:
    path = write_tar(tmp_path / "m.pth", {"a": torch.ones(2), "b": torch.arange(5000.0)})
    path.write_bytes(path.read_bytes()[:-16_000])

    checkpoint = open_checkpoint(path)

    found = tensors_at_root(checkpoint)
    assert found["a"].problem is None
    assert "ends early" in str(found["b"].problem)
    assert any("incomplete" in text for text in checkpoint.warnings)


HOSTILE = {
    "a negative count": {"storages": pickle.dumps(-1, 2)},
    "a huge count": {"storages": pickle.dumps(10**12, 2)},
    "a count that is text": {"storages": pickle.dumps("many", 2)},
    "facts that are none": {"storages": pickle.dumps(1, 2) + pickle.dumps(7, 2)},
    "a class of no storage": {"storages": pickle.dumps(1, 2) + pickle.dumps((1, "cpu", OrderedDict), 2)},
    "a negative size": {
        "storages": pickle.dumps(1, 2) + pickle.dumps((1000, "cpu", torch.FloatStorage), 2) + struct.pack("<q", -5)
    },
    "an overflowing size": {
        "storages": pickle.dumps(1, 2)
        + pickle.dumps((1000, "cpu", torch.FloatStorage), 2)
        + struct.pack("<q", 1 << 61)
    },
    "too many dimensions": {
        "tensors": pickle.dumps(1, 2)
        + pickle.dumps((5000, 1000, torch.FloatTensor), 2)
        + struct.pack("<ii", 1 << 30, 0)
    },
    "a view that cannot be": {"tensors": pickle.dumps(0, 2)},
}


@pytest.mark.parametrize("name", HOSTILE)
def test_that_what_cannot_be_is_a_warning_or_a_row_and_never_more(tmp_path: Path, name: str) -> None:
    path = write_tar(
        tmp_path / "m.pth", {"w": torch.ones(2)}, edit=HOSTILE[name], views=[(1, 1000, 1 << 61, 1 << 61)]
    )

    checkpoint = open_checkpoint(path)

    assert checkpoint.warnings
    assert checkpoint.nodes.kind[checkpoint.find("w")] == Kind.PROBLEM


def test_that_a_broken_pickle_in_it_is_one_clear_error(tmp_path: Path) -> None:
    path = write_tar(tmp_path / "m.pth", {"w": torch.ones(2)}, edit={"pickle": b"\x80\x02garbage"})
    with pytest.raises(MalformedFile) as caught:
        open_checkpoint(path)
    assert caught.value.path == path
