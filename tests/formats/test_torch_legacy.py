"""The legacy container against torch, and by hand where no torch writes it any more."""

from __future__ import annotations

import pickle
import random
import struct
from pathlib import Path

import pytest
import torch
from torch import nn

from tests.formats.container_files import assert_reads_as_torch, bytes_of, many_tensors, save_legacy, tensors_at_root
from viewer import open_checkpoint
from viewer.checkpoint.nodes import Kind
from viewer.checkpoint.tensors import INLINE, STORED, UNREADABLE
from viewer.errors import MalformedFile, ViewerError
from viewer.formats.torch_legacy import MAGIC_NUMBER, PROTOCOL_VERSION, begins_legacy


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return save_legacy(tmp_path / "model.pth")


def test_that_every_tensor_reads_as_torch_reads_it(file: Path) -> None:
    checkpoint = assert_reads_as_torch(file)
    assert checkpoint.container == "torch legacy"
    assert checkpoint.warnings == []
    assert set(checkpoint.storages.encoding) == {STORED}
    assert checkpoint.facts == {
        "byte order": "little-endian",
        "protocol version": "1001",
        "pickle protocol": "2",
    }


@pytest.mark.parametrize("protocol", range(2, 6))
def test_that_every_pickle_protocol_is_read(tmp_path: Path, protocol: int) -> None:
    path = tmp_path / "model.pth"
    torch.save(many_tensors(), path, pickle_protocol=protocol, _use_new_zipfile_serialization=False)
    assert_reads_as_torch(path, many_tensors())


@pytest.mark.parametrize("protocol", range(6))
def test_that_the_magic_number_is_known_in_every_protocol(protocol: int) -> None:
    assert begins_legacy(pickle.dumps(MAGIC_NUMBER, protocol) + b"rest")
    assert not begins_legacy(pickle.dumps(MAGIC_NUMBER + 1, protocol) + b"rest")


def test_that_a_pickle_longer_than_the_first_window_is_read(tmp_path: Path) -> None:
    content = {"notes": ["x" * 1000 + str(number) for number in range(2_000)], "w": torch.arange(5.0)}
    path = save_legacy(tmp_path / "long.pth", content)
    checkpoint = open_checkpoint(path)
    tensor = checkpoint.tensor_of_node(checkpoint.find("w"))
    assert tensor is not None
    assert tensor.storage is not None
    assert bytes_of(checkpoint, tensor.storage) == struct.pack("<5f", 0, 1, 2, 3, 4)


class _Storage:
    """A storage reference in a pickle made by hand."""

    def __init__(self, persistent_id: object) -> None:
        self.persistent_id = persistent_id


class _Tensor:
    def __init__(self, storage: _Storage, offset: int, shape: tuple[int, ...]) -> None:
        self.args = (storage, offset, shape, (1,), False, {})

    def __reduce__(self) -> tuple[object, ...]:
        return torch._utils._rebuild_tensor_v2, self.args


class _Pickler(pickle._Pickler):
    def persistent_id(self, obj: object) -> object:
        return obj.persistent_id if isinstance(obj, _Storage) else None


def write_by_hand(
    path: Path,
    content: object,
    storages: list[tuple[str, int, bytes]],
    *,
    count: str = "<q",
    little_endian: bool = True,
    version: int = PROTOCOL_VERSION,
    keys: object = None,
) -> Path:
    with path.open("wb") as file:
        for part in (MAGIC_NUMBER, version, {"protocol_version": version, "little_endian": little_endian}):
            pickle.dump(part, file, 2)
        _Pickler(file, 2).dump(content)
        pickle.dump([key for key, _, _ in storages] if keys is None else keys, file, 2)
        for _, numel, data in storages:
            file.write(struct.pack(count, numel) + data)
    return path


def floats(*values: float) -> bytes:
    return struct.pack(f"<{len(values)}f", *values)


def reference(key: str, numel: int, view: object = None) -> _Storage:
    return _Storage(("storage", torch.FloatStorage, key, "cpu", numel, view))


@pytest.mark.parametrize("count", ["<q", ">q"])
def test_that_the_values_of_a_big_endian_machine_are_little_endian_as_torch_reads_them(
    tmp_path: Path, count: str
) -> None:
    content = {"a": _Tensor(reference("7", 3), 0, (3,)), "b": _Tensor(reference("8", 2), 0, (2,))}
    storages = [("8", 2, floats(4, 5)), ("7", 3, floats(1, 2, 3))]
    path = write_by_hand(tmp_path / "big.pth", content, storages, count=count, little_endian=False)
    expected = {"a": torch.tensor([1.0, 2.0, 3.0]), "b": torch.tensor([4.0, 5.0])}
    checkpoint = assert_reads_as_torch(path, expected)
    assert "big-endian machine" in checkpoint.facts["byte order"]
    if count == "<q":
        assert_reads_as_torch(path)


def test_that_views_of_a_root_storage_share_its_bytes(tmp_path: Path) -> None:
    content = {
        "whole": _Tensor(reference("1", 10), 0, (4,)),
        "part": _Tensor(reference("1", 10, ("2", 5, 3)), 0, (3,)),
    }
    path = write_by_hand(tmp_path / "views.pth", content, [("1", 10, floats(*range(10)))])
    checkpoint = open_checkpoint(path)
    tensors = tensors_at_root(checkpoint)
    assert tensors["whole"].storage == tensors["part"].storage
    assert (tensors["whole"].storage_offset, tensors["part"].storage_offset) == (0, 5)
    assert torch.load(path, weights_only=True)["part"].tolist() == [5.0, 6.0, 7.0]


def test_that_a_whole_module_with_class_sources_opens(tmp_path: Path) -> None:
    path = save_legacy(tmp_path / "module.pth", {"net": nn.Sequential(nn.Linear(4, 2)), "epoch": 9})
    checkpoint = open_checkpoint(path)
    assert checkpoint.nodes.value[checkpoint.find("epoch")] == 9
    assert sorted(checkpoint.tensor(number).shape for number in range(len(checkpoint.tensors))) == [(2,), (2, 4)]
    assert checkpoint.tensors.problem == {}


def test_that_a_storage_that_nothing_uses_is_a_warning(tmp_path: Path) -> None:
    content = {"a": _Tensor(reference("1", 2), 0, (2,)), "b": _Tensor(reference("2", 2), 0, (2,))}
    storages = [("1", 2, floats(1, 2)), ("stray", 1, floats(9)), ("2", 2, floats(3, 4))]
    checkpoint = open_checkpoint(write_by_hand(tmp_path / "stray.pth", content, storages))
    assert any("'stray'" in warning for warning in checkpoint.warnings)
    tensors = tensors_at_root(checkpoint)
    assert tensors["a"].problem is None
    assert tensors["b"].problem is not None


def test_that_a_count_that_contradicts_the_pickle_is_told_and_the_next_storage_is_found(tmp_path: Path) -> None:
    content = {"a": _Tensor(reference("1", 40), 0, (40,)), "b": _Tensor(reference("2", 2), 0, (2,))}
    path = write_by_hand(tmp_path / "short.pth", content, [("1", 4, floats(1, 2, 3, 4)), ("2", 2, floats(3, 4))])
    checkpoint = open_checkpoint(path)
    tensors = tensors_at_root(checkpoint)
    assert tensors["a"].problem == "the file stores 16 bytes of it, but 160 are needed"
    assert tensors["a"].storage is not None
    assert tensors["a"].storage.encoding == UNREADABLE
    assert tensors["b"].storage is not None
    assert bytes_of(checkpoint, tensors["b"].storage) == floats(3, 4)


@pytest.mark.parametrize("count", [-1, -(2**63), 2**62, 2**63 - 1])
def test_that_an_absurd_count_ends_the_walk(tmp_path: Path, count: int) -> None:
    content = {"a": _Tensor(reference("1", 2), 0, (2,)), "b": _Tensor(reference("2", 2), 0, (2,))}
    path = write_by_hand(tmp_path / "absurd.pth", content, [("1", count, floats(1, 2)), ("2", 2, floats(3, 4))])
    checkpoint = open_checkpoint(path)
    assert set(checkpoint.storages.encoding) == {UNREADABLE}
    assert all(tensor.problem for tensor in tensors_at_root(checkpoint).values())


@pytest.mark.parametrize("keys", [{"1": 1}, 5, [["1"]], [None]])
def test_that_an_odd_list_of_storages_is_no_crash(tmp_path: Path, keys: object) -> None:
    content = {"a": _Tensor(reference("1", 2), 0, (2,))}
    path = write_by_hand(tmp_path / "odd.pth", content, [("1", 2, floats(1, 2))], keys=keys)
    checkpoint = open_checkpoint(path)
    assert checkpoint.warnings
    assert tensors_at_root(checkpoint)["a"].problem is not None


def test_that_another_protocol_version_is_a_warning(tmp_path: Path) -> None:
    content = {"a": _Tensor(reference("1", 2), 0, (2,))}
    path = write_by_hand(tmp_path / "v.pth", content, [("1", 2, floats(1, 2))], version=1002)
    checkpoint = open_checkpoint(path)
    assert any("1002" in warning for warning in checkpoint.warnings)
    assert tensors_at_root(checkpoint)["a"].problem is None


def test_that_a_file_cut_in_its_values_shows_the_tree_and_says_what_is_missing(file: Path) -> None:
    whole = file.read_bytes()
    file.write_bytes(whole[:-500])
    checkpoint = open_checkpoint(file)
    assert list(tensors_at_root(checkpoint)) == list(many_tensors())
    (warning,) = checkpoint.warnings
    assert f"incomplete: it has {len(whole) - 500:,} bytes, and 500 are missing" in warning
    readable = [tensor for tensor in tensors_at_root(checkpoint).values() if tensor.problem is None]
    assert readable
    for tensor in readable:
        assert tensor.storage is not None
        bytes_of(checkpoint, tensor.storage)
    assert all(problem.startswith("the file ends") for problem in checkpoint.tensors.problem.values())


def test_that_a_file_cut_anywhere_is_a_tree_or_an_error(tmp_path: Path) -> None:
    content = {"a": torch.arange(5.0), "b": [1, "two", None], "c": torch.ones(3, dtype=torch.int64)}
    whole = save_legacy(tmp_path / "whole.pth", content).read_bytes()
    path = tmp_path / "cut.pth"
    trees = named = 0
    for length in range(1, len(whole)):
        path.write_bytes(whole[:length])
        try:
            checkpoint = open_checkpoint(path)
        except ViewerError as error:
            named += error.path == path
            continue
        trees += 1
        assert checkpoint.warnings, length
    assert trees > 90
    assert named == len(whole) - 1 - trees


def test_that_any_few_bytes_changed_are_a_tree_or_an_error(tmp_path: Path) -> None:
    content = {"a": torch.arange(5.0), "b": [1, "two", None], "c": torch.ones(3, dtype=torch.int64)}
    whole = save_legacy(tmp_path / "whole.pth", content).read_bytes()
    path = tmp_path / "mutated.pth"
    chosen = random.Random(3)
    trees = 0
    for _ in range(700):
        mutated = bytearray(whole)
        for _ in range(chosen.randint(1, 3)):
            mutated[chosen.randrange(len(whole))] = chosen.choice((0, 1, 0x7F, 0x80, 0xFF, chosen.randrange(256)))
        path.write_bytes(mutated)
        try:
            checkpoint = open_checkpoint(path)
        except ViewerError:
            continue
        trees += 1
        for number in range(len(checkpoint.storages)):
            storage = checkpoint.storage(number)
            if storage.encoding == STORED:
                assert len(bytes_of(checkpoint, storage)) == storage.nbytes
    assert trees > 150


def test_that_bytes_behind_the_last_storage_are_a_warning(file: Path) -> None:
    file.write_bytes(file.read_bytes() + b"more")
    assert open_checkpoint(file).warnings == ["4 further bytes follow the last storage"]


def test_that_a_pickled_state_dict_is_read_through_its_nested_streams(tmp_path: Path) -> None:
    content = {"w": torch.arange(6.0).reshape(2, 3), "b": torch.ones(2, dtype=torch.int16)}
    path = tmp_path / "dump.pkl"
    with path.open("wb") as file:
        pickle.dump(content, file)
    checkpoint = open_checkpoint(path)
    for name, tensor in tensors_at_root(checkpoint).items():
        assert tensor.storage is not None
        assert tensor.storage.encoding == INLINE
        assert tensor.shape == tuple(content[name].shape)
        assert bytes_of(checkpoint, tensor.storage) == content[name].numpy().tobytes()
    without = checkpoint.without_blobs()
    storage = tensors_at_root(without)["w"].storage
    assert storage is not None
    with pytest.raises(ViewerError, match="kept by the process that opened the file"):
        bytes_of(without, storage)


def test_that_a_broken_nested_stream_is_a_problem_and_no_failure(tmp_path: Path) -> None:
    raw = pickle.dumps({"w": torch.arange(6.0), "n": 5}, 2)
    # pickle.dumps makes the nested stream's bytes a str of their Latin-1 characters at this protocol
    start = raw.index(pickle.dumps(PROTOCOL_VERSION, 2).decode("latin-1").encode())
    path = tmp_path / "dump.pkl"
    path.write_bytes(raw[:start] + b"zzz" + raw[start + 3 :])
    checkpoint = open_checkpoint(path)
    assert checkpoint.nodes.value[checkpoint.find("n")] == 5
    assert Kind.PROBLEM in checkpoint.nodes.kind or checkpoint.warnings


def test_that_a_file_that_ends_in_its_first_pickles_says_so(tmp_path: Path) -> None:
    path = tmp_path / "cut.pth"
    path.write_bytes(pickle.dumps(MAGIC_NUMBER, 2))
    with pytest.raises(MalformedFile, match="ends before the protocol version"):
        open_checkpoint(path)
