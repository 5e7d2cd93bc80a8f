"""Models in several files: by their index, with all that index, shards and folder can disagree about."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from tests.formats.container_files import bytes_of, save_zip, tensors_at_root, torch_bytes
from viewer import open_checkpoint
from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.nodes import Kind
from viewer.errors import LimitExceeded, MalformedFile, NotACheckpoint, ViewerError
from viewer.formats.content import content_task
from viewer.formats.opening import open_task
from viewer.formats.pickle import TensorStandIn
from viewer.formats.storage_bytes import StorageReader
from viewer.task import Progress, run

ST = "model.safetensors.index.json"


def shard(number: int, count: int = 3) -> str:
    return f"model-{number:05d}-of-{count:05d}.safetensors"


def write_index(folder: Path, weight_map: Mapping[str, object], *, total: int | None = None, name: str = ST) -> Path:
    index = folder / name
    metadata = {} if total is None else {"total_size": total}
    index.write_text(json.dumps({"metadata": metadata, "weight_map": weight_map}, indent=1))
    return index


def problem_at(checkpoint: Checkpoint, name: str) -> str:
    node = checkpoint.find(name)
    assert checkpoint.nodes.kind[node] == Kind.PROBLEM
    return str(checkpoint.nodes.value[node])


def assert_holds(checkpoint: Checkpoint, expected: Mapping[str, torch.Tensor]) -> None:
    found = tensors_at_root(checkpoint)
    assert list(found) == list(expected)
    for name, tensor in expected.items():
        storage = found[name].storage
        assert storage is not None
        assert found[name].shape == tuple(tensor.shape)
        assert bytes_of(checkpoint, storage) == torch_bytes(tensor)


@pytest.fixture
def model() -> dict[str, torch.Tensor]:
    return {f"layer{nth}.weight": torch.arange(6.0).reshape(2, 3) + 10 * nth for nth in range(3)}


@pytest.fixture
def whole(tmp_path: Path, model: dict[str, torch.Tensor]) -> Path:
    """Three safetensors shards; the index lists them in another order than that of the files."""
    weight_map = {}
    for nth, (name, tensor) in enumerate(model.items(), 1):
        save_file({name: tensor}, tmp_path / shard(nth))
        weight_map[name] = shard(nth)
    return write_index(tmp_path, dict(reversed(weight_map.items())), total=72)


def test_that_all_shards_are_one_flat_model_in_the_order_of_the_index(
    whole: Path, model: dict[str, torch.Tensor]
) -> None:
    checkpoint = open_checkpoint(whole)
    assert checkpoint.container == "sharded safetensors"
    assert checkpoint.warnings == []
    assert checkpoint.facts["shards"] == "3"
    assert_holds(checkpoint, dict(reversed(model.items())))


def test_that_each_tensor_knows_its_shard(whole: Path) -> None:
    checkpoint = open_checkpoint(whole)
    files = {
        name: checkpoint.files[tensor.storage.file].path.name
        for name, tensor in tensors_at_root(checkpoint).items()
        if tensor.storage is not None
    }
    assert files == {f"layer{nth}.weight": shard(nth + 1) for nth in range(3)}
    assert checkpoint.files[0].path == whole


def test_that_what_is_written_of_it_is_a_plain_dict(whole: Path, model: dict[str, torch.Tensor]) -> None:
    content = run(content_task(whole))
    assert type(content.root) is dict
    assert list(content.root) == list(reversed(model))
    assert all(isinstance(item, TensorStandIn) for item in content.root.values())


def test_that_shards_of_torch_zips_are_read_the_same_way(tmp_path: Path, model: dict[str, torch.Tensor]) -> None:
    weight_map = {}
    for nth, (name, tensor) in enumerate(model.items(), 1):
        weight_map[name] = f"pytorch_model-{nth:05d}-of-000003.bin"
        save_zip(tmp_path / weight_map[name], {name: tensor})
    index = write_index(tmp_path, weight_map, total=72, name="pytorch_model.bin.index.json")
    checkpoint = open_checkpoint(index)
    assert checkpoint.container == "sharded torch zip"
    assert checkpoint.warnings == []
    assert_holds(checkpoint, model)


def test_that_a_missing_shard_is_a_row_that_names_it(whole: Path, model: dict[str, torch.Tensor]) -> None:
    (whole.parent / shard(3)).unlink()
    checkpoint = open_checkpoint(whole)
    assert problem_at(checkpoint, "layer2.weight").startswith(f"missing: {shard(3)} not found")
    assert checkpoint.facts["shards"] == "2 of 3 present"
    assert any("1 of 3 shards cannot be shown" in warning for warning in checkpoint.warnings)
    assert any("promises 72 bytes" in warning and "hold 48" in warning for warning in checkpoint.warnings)
    found = tensors_at_root(checkpoint)
    assert set(found) == {"layer0.weight", "layer1.weight"}


def test_that_a_broken_shard_is_a_row_with_its_error(whole: Path) -> None:
    (whole.parent / shard(2)).write_bytes(b"<!DOCTYPE html><html>quota</html>")
    checkpoint = open_checkpoint(whole)
    assert "HTML page" in problem_at(checkpoint, "layer1.weight")
    assert len(tensors_at_root(checkpoint)) == 2


def test_that_a_truncated_shard_keeps_its_row_with_a_problem(whole: Path) -> None:
    path = whole.parent / shard(2)
    path.write_bytes(path.read_bytes()[:-4])
    checkpoint = open_checkpoint(whole)
    tensor = tensors_at_root(checkpoint)["layer1.weight"]
    assert tensor.problem is not None
    assert "incomplete" in tensor.problem
    assert any(warning.startswith(f"{shard(2)}: the file is incomplete") for warning in checkpoint.warnings)


def test_that_a_stale_index_and_what_the_shard_holds_instead_are_both_shown(tmp_path: Path) -> None:
    save_file({"y": torch.ones(2)}, tmp_path / shard(1))
    checkpoint = open_checkpoint(write_index(tmp_path, {"x.old": shard(1)}, total=8))
    assert problem_at(checkpoint, "x.old") == f"index and file disagree: {shard(1)} does not hold it"
    assert set(tensors_at_root(checkpoint)) == {"y"}
    assert any(f"not in the index: y in {shard(1)}" in warning for warning in checkpoint.warnings)
    assert any("not in the shards: x.old" in warning for warning in checkpoint.warnings)


def test_that_a_tensor_in_two_shards_is_told_and_shown_as_the_index_says(tmp_path: Path) -> None:
    save_file({"w": torch.zeros(2), "a": torch.zeros(1)}, tmp_path / shard(1))
    save_file({"w": torch.ones(2), "b": torch.zeros(1)}, tmp_path / shard(2))
    checkpoint = open_checkpoint(write_index(tmp_path, {"w": shard(2), "a": shard(1), "b": shard(2)}))
    assert any(f"w again in {shard(1)}" in warning for warning in checkpoint.warnings)
    storage = tensors_at_root(checkpoint)["w"].storage
    assert storage is not None
    assert bytes_of(checkpoint, storage) == torch_bytes(torch.ones(2))


def test_that_files_that_are_in_no_index_are_named_and_left_out(whole: Path) -> None:
    save_file({"layer0.weight": torch.zeros(9)}, whole.parent / "extra.safetensors")
    checkpoint = open_checkpoint(whole)
    assert checkpoint.warnings == ["in the folder but not in the index, so not shown: extra.safetensors"]
    assert tensors_at_root(checkpoint)["layer0.weight"].shape == (2, 3)


@pytest.mark.parametrize(
    "target", ["../secret.bin", "../../secret.bin", "/etc/hostname", "C:\\x.bin", "C:x.bin", "a\\b", "", ".", "x\0y"]
)
def test_that_an_index_that_points_outside_its_folder_is_refused_per_row(tmp_path: Path, target: str) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    save_zip(tmp_path / "secret.bin", {"a.weight": torch.ones(2)})
    save_file({"b.weight": torch.ones(2)}, folder / shard(1))
    checkpoint = open_checkpoint(write_index(folder, {"a.weight": target, "b.weight": shard(1)}))
    assert "outside its folder" in problem_at(checkpoint, "a.weight")
    assert set(tensors_at_root(checkpoint)) == {"b.weight"}
    assert all("secret" not in facts.path.name for facts in checkpoint.files)


def test_that_a_name_without_a_file_is_a_row_and_the_rest_is_shown(
    whole: Path, model: dict[str, torch.Tensor]
) -> None:
    index = json.loads(whole.read_text())
    index["weight_map"]["odd"] = 5
    whole.write_text(json.dumps(index))
    checkpoint = open_checkpoint(whole)
    assert problem_at(checkpoint, "odd") == "the index gives no file for it"
    found = tensors_at_root(checkpoint)
    assert set(found) == set(model)


def test_that_a_shard_that_is_a_link_is_followed(tmp_path: Path) -> None:
    """Download caches keep the files elsewhere and link to them."""
    blobs, snapshot = tmp_path / "blobs", tmp_path / "snapshot"
    blobs.mkdir()
    snapshot.mkdir()
    save_file({"w": torch.ones(2)}, blobs / "0a1b2c.safetensors")
    (snapshot / shard(1)).symlink_to(blobs / "0a1b2c.safetensors")
    assert_holds(open_checkpoint(write_index(snapshot, {"w": shard(1)}, total=8)), {"w": torch.ones(2)})


def test_that_indexes_that_name_themselves_or_each_other_are_no_loop(tmp_path: Path) -> None:
    (tmp_path / "folder.bin").mkdir()
    write_index(tmp_path, {"w": ST}, name="other.bin")
    checkpoint = open_checkpoint(write_index(tmp_path, {"w": ST, "v": "other.bin", "u": "folder.bin"}))
    assert problem_at(checkpoint, "w") == f"{ST} is an index itself"
    assert problem_at(checkpoint, "v") == "other.bin is an index itself"
    assert problem_at(checkpoint, "u") == "folder.bin is a folder"


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b'{"weight_map": {"a": "b"}', MalformedFile),
        (b'{"metadata": {}}', MalformedFile),
        (b'{"weight_map": ["a"]}', MalformedFile),
        (b'{"weight_map": {"a": 1}}', MalformedFile),
        (b'{"weight_map": {"a": {"b": "c"}}}', MalformedFile),
        (b"[1, 2]", NotACheckpoint),
        (b'{"a":' * 100_000, LimitExceeded),
        (b'{"weight_map": {}, "metadata": {"total_size": ' + b"9" * 5_000 + b"}}", LimitExceeded),
        (b'{"weight_map": {"\xff": "b"}}', MalformedFile),
        (json.dumps({"weight_map": {f"w{n}": f"{n}.bin" for n in range(20_000)}}).encode(), LimitExceeded),
    ],
)
def test_that_an_index_of_another_form_is_refused_in_words(
    tmp_path: Path, content: bytes, kind: type[ViewerError]
) -> None:
    path = tmp_path / ST
    path.write_bytes(content)
    with pytest.raises(kind) as raised:
        open_checkpoint(path)
    assert str(raised.value).startswith(ST)
    assert "sys." not in str(raised.value)


def test_that_an_index_is_known_by_its_content_under_any_name(whole: Path) -> None:
    renamed = whole.rename(whole.with_name("weights.json"))
    assert len(tensors_at_root(open_checkpoint(renamed))) == 3


def test_that_metadata_of_the_shards_is_shown_once(tmp_path: Path) -> None:
    for nth in (1, 2):
        save_file({f"w{nth}": torch.ones(2)}, tmp_path / shard(nth), metadata={"format": "pt"})
    checkpoint = open_checkpoint(write_index(tmp_path, {"w1": shard(1), "w2": shard(2)}, total=16))
    assert checkpoint.nodes.value[checkpoint.find("__metadata__/format")] == "pt"
    assert checkpoint.warnings == []


def test_that_opening_can_stop_between_shards(whole: Path) -> None:
    task = open_task(whole)
    seen = [progress for progress in task if isinstance(progress, Progress) and progress.unit == "shards"]
    assert [(progress.done, progress.total) for progress in seen] == [(0, 3), (1, 3), (2, 3)]


def test_that_reading_from_many_shards_keeps_few_files_open(tmp_path: Path) -> None:
    count = 150
    weight_map = {}
    for nth in range(count):
        weight_map[f"w{nth}"] = shard(nth, count)
        save_file({f"w{nth}": torch.full((2,), float(nth))}, tmp_path / shard(nth, count))
    checkpoint = open_checkpoint(write_index(tmp_path, weight_map, total=8 * count))
    descriptors = Path("/proc/self/fd")
    before = len(list(descriptors.iterdir())) if descriptors.exists() else 0
    with StorageReader(checkpoint) as reader:
        for name, tensor in tensors_at_root(checkpoint).items():
            assert tensor.storage is not None
            buffer = bytearray(8)
            reader.read_into(tensor.storage, 0, buffer)
            assert buffer == torch_bytes(torch.full((2,), float(name[1:])))
        if descriptors.exists():
            assert len(list(descriptors.iterdir())) - before <= 70
