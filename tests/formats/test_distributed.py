"""Folders of torch.distributed.checkpoint: one tree, tensors put together from pieces, each fault on its own row."""

from __future__ import annotations

import io
import pickle
import random
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.metadata import MetadataIndex

from tests.formats.container_files import bytes_of, save_zip, tensors_at_root, torch_bytes
from tests.formats.distributed_files import Piece, cut, save_pieces
from viewer import open_checkpoint
from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.nodes import Kind
from viewer.checkpoint.tensors import CHUNKED, STORED, UNREADABLE
from viewer.errors import FileChanged, MalformedFile, ViewerError
from viewer.formats.distributed import nest
from viewer.formats.opening import open_task
from viewer.formats.storage_bytes import StorageReader
from viewer.task import Progress

pytestmark = pytest.mark.filterwarnings("ignore:torch.distributed is disabled:UserWarning")


def values_at(checkpoint: Checkpoint, path: str) -> bytes:
    tensor = checkpoint.tensor_of_node(checkpoint.find(path))
    assert tensor is not None
    assert tensor.storage is not None
    assert tensor.problem is None
    return bytes_of(checkpoint, tensor.storage)


def problem_of(checkpoint: Checkpoint, path: str) -> str:
    """The problem of a row, be it a tensor's or the row's own."""
    node = checkpoint.find(path)
    tensor = checkpoint.tensor_of_node(node)
    if tensor is None:
        assert checkpoint.nodes.kind[node] == Kind.PROBLEM
        return str(checkpoint.nodes.value[node])
    assert tensor.storage is not None
    assert tensor.storage.encoding == UNREADABLE
    assert tensor.problem is not None
    return tensor.problem


def edit_metadata(folder: Path, edit: Callable[[object], None]) -> None:
    path = folder / ".metadata"
    metadata = pickle.loads(path.read_bytes())
    edit(metadata)
    path.write_bytes(pickle.dumps(metadata))


@pytest.fixture
def saved(tmp_path: Path) -> tuple[Path, dict[str, object]]:
    """A training state as torch itself writes it."""
    torch.manual_seed(0)
    model = torch.nn.Linear(4, 3)
    optimizer = torch.optim.AdamW(model.parameters())
    model(torch.ones(2, 4)).sum().backward()
    optimizer.step()
    state = {
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "step": 7,
        "notes": {"tags": ["a", "b"], "when": None},
        "half": torch.arange(10, dtype=torch.bfloat16),
        "scalar": torch.tensor(3),
        "empty": torch.zeros(0, 3),
    }
    dcp.save(state, checkpoint_id=tmp_path / "dcp", no_dist=True)
    return tmp_path / "dcp", state


def test_that_what_torch_saves_is_one_nested_tree(saved: tuple[Path, dict[str, object]]) -> None:
    folder, state = saved
    checkpoint = open_checkpoint(folder)
    assert checkpoint.container == "torch distributed"
    assert checkpoint.warnings == []
    assert all(use.harmless for use in checkpoint.globals)
    assert checkpoint.path == folder
    for path, tensor in {
        "model/weight": state["model"]["weight"],  # type: ignore[index]
        "model/bias": state["model"]["bias"],  # type: ignore[index]
        "optimizer/state/0/exp_avg": state["optimizer"]["state"][0]["exp_avg"],  # type: ignore[index]
        "half": state["half"],
        "scalar": state["scalar"],
        "empty": state["empty"],
    }.items():
        found = checkpoint.tensor_of_node(checkpoint.find(path))
        assert found is not None
        assert found.shape == tuple(tensor.shape)
        assert values_at(checkpoint, path) == torch_bytes(tensor), path
    for path, value in {
        "step": 7,
        "notes/tags[1]": "b",
        "notes/when": None,
        "optimizer/param_groups[0]/lr": 0.001,
    }.items():
        node = checkpoint.find(path)
        assert checkpoint.nodes.kind[node] == Kind.SCALAR
        assert checkpoint.nodes.value[node] == value


def test_that_tensors_in_one_piece_are_read_in_place(saved: tuple[Path, dict[str, object]]) -> None:
    checkpoint = open_checkpoint(saved[0])
    assert set(checkpoint.storages.encoding) == {STORED}
    assert checkpoint.chunks == []


@pytest.mark.parametrize("name", [".metadata", "__0_0.distcp"])
def test_that_a_file_of_the_folder_opens_the_whole(saved: tuple[Path, dict[str, object]], name: str) -> None:
    checkpoint = open_checkpoint(saved[0] / name)
    assert checkpoint.path == saved[0]
    assert checkpoint.find("model/weight")


@pytest.mark.parametrize("counts", [(3,), (1, 4), (2, 3), (1, 1, 5), (4, 1, 2), (2, 2, 5)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.complex128, torch.uint8])
def test_that_pieces_of_a_grid_read_as_the_whole_tensor(
    tmp_path: Path, counts: tuple[int, ...], dtype: torch.dtype
) -> None:
    tensor = torch.arange(7 * 6 * 5).to(dtype).reshape(7, 6, 5)
    folder = save_pieces(tmp_path / "dcp", {"w": (tensor.shape, cut(tensor, *counts))})
    checkpoint = open_checkpoint(folder)
    (found,) = tensors_at_root(checkpoint).values()
    assert found.shape == (7, 6, 5)
    assert found.is_contiguous
    assert found.storage is not None
    assert found.storage.encoding == CHUNKED
    assert len(checkpoint.tensors) == 1
    assert bytes_of(checkpoint, found.storage) == torch_bytes(tensor)
    loaded = {"w": torch.zeros_like(tensor)}
    dcp.load(loaded, checkpoint_id=folder, no_dist=True)
    assert torch.equal(loaded["w"], tensor)


def test_that_any_range_of_a_tensor_in_pieces_is_read_right(tmp_path: Path) -> None:
    tensor = torch.arange(60_000, dtype=torch.int32).reshape(100, 600)
    checkpoint = open_checkpoint(save_pieces(tmp_path / "dcp", {"w": (tensor.shape, cut(tensor, 3, 7))}))
    storage = checkpoint.storage(len(checkpoint.storages) - 1)
    expected = torch_bytes(tensor)
    chosen = random.Random(2)
    with StorageReader(checkpoint) as reader:
        for _ in range(200):
            offset = chosen.randrange(storage.nbytes)
            buffer = bytearray(min(chosen.choice([1, 3, 4, 1000, 9_999, 50_000]), storage.nbytes - offset))
            reader.read_into(storage, offset, buffer)
            assert buffer == expected[offset : offset + len(buffer)]


def test_that_a_small_range_reads_little_of_the_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from viewer.formats.source import FileSource

    tensor = torch.arange(1 << 20, dtype=torch.float32).reshape(1024, 1024)
    checkpoint = open_checkpoint(save_pieces(tmp_path / "dcp", {"w": (tensor.shape, cut(tensor, 2, 2))}))
    storage = checkpoint.storage(len(checkpoint.storages) - 1)
    asked: list[int] = []
    original = FileSource.read_into

    def read_into(self: FileSource, offset: int, buffer: bytearray | memoryview) -> None:
        asked.append(len(buffer))
        original(self, offset, buffer)

    monkeypatch.setattr(FileSource, "read_into", read_into)
    with StorageReader(checkpoint) as reader:
        buffer = bytearray(4096)
        reader.read_into(storage, 600 * 4096, buffer)
    assert buffer == torch_bytes(tensor)[600 * 4096 : 601 * 4096]
    assert sum(asked) == 4096


@pytest.mark.parametrize("dtype", [torch.float64, torch.int16, torch.uint8, torch.complex128])
def test_that_pieces_that_are_views_read_as_the_whole(tmp_path: Path, dtype: torch.dtype) -> None:
    tensor = torch.arange(48).to(dtype).reshape(6, 8)
    halves: list[Piece] = [((0, 0), tensor[:3].t().contiguous().t()), ((3, 0), tensor[3:].t().contiguous().t())]
    assert not halves[0][1].is_contiguous()
    checkpoint = open_checkpoint(save_pieces(tmp_path / "dcp", {"w": (tensor.shape, halves)}))
    assert values_at(checkpoint, "w") == torch_bytes(tensor)


def test_that_pieces_that_are_conjugated_lazily_are_not_shown_as_if_they_were_not(tmp_path: Path) -> None:
    tensor = torch.tensor([1 + 2j, 3 - 4j])
    pieces: list[Piece] = [((0,), tensor[:1].conj()), ((1,), tensor[1:].conj())]
    folder = save_pieces(tmp_path / "dcp", {"w": ((2,), pieces)})
    assert "conjugate" in problem_of(open_checkpoint(folder), "w")


def test_that_a_piece_that_repeats_one_element_is_spread(tmp_path: Path) -> None:
    tensor = torch.cat([torch.full((2, 3), 5.0), torch.ones(1, 3)])
    pieces: list[Piece] = [((0, 0), torch.tensor(5.0).expand(2, 3)), ((2, 0), torch.ones(1, 3))]
    checkpoint = open_checkpoint(save_pieces(tmp_path / "dcp", {"w": (tensor.shape, pieces)}))
    assert values_at(checkpoint, "w") == torch_bytes(tensor)


def test_that_statistics_are_those_of_the_whole(tmp_path: Path) -> None:
    from viewer.task import run
    from viewer.tensors.summary import summarise_task

    tensor = torch.randn(50, 70, generator=torch.Generator().manual_seed(1))
    checkpoint = open_checkpoint(save_pieces(tmp_path / "dcp", {"w": (tensor.shape, cut(tensor, 2, 3))}))
    summary = run(summarise_task(checkpoint, 0))
    assert summary.statistics.count == 3500
    assert summary.statistics.min == tensor.min().item()
    assert summary.statistics.max == tensor.max().item()


def test_that_a_missing_file_is_a_problem_of_what_lies_in_it(tmp_path: Path) -> None:
    tensor = torch.arange(24.0).reshape(4, 6)
    folder = save_pieces(
        tmp_path / "dcp",
        {"cut": (tensor.shape, cut(tensor, 2)), "whole": ((3,), [((0,), torch.ones(3))])},
        {"step": 3},
    )
    (folder / "__1_0.distcp").unlink()
    checkpoint = open_checkpoint(folder)
    assert "missing: __1_0.distcp not found" in problem_of(checkpoint, "cut")
    tensors = tensors_at_root(checkpoint)
    assert tensors["cut"].shape == (4, 6)
    assert values_at(checkpoint, "whole") == torch_bytes(torch.ones(3))
    assert checkpoint.nodes.value[checkpoint.find("step")] == 3
    assert "1 of 2 files cannot be read: __1_0.distcp" in checkpoint.warnings


def test_that_a_missing_only_file_leaves_shapes_and_says_so(saved: tuple[Path, dict[str, object]]) -> None:
    folder, _ = saved
    (folder / "__0_0.distcp").unlink()
    checkpoint = open_checkpoint(folder)
    assert problem_of(checkpoint, "model/weight").startswith("missing: __0_0.distcp")
    assert problem_of(checkpoint, "step").startswith("missing: __0_0.distcp")
    found = checkpoint.tensor_of_node(checkpoint.find("model/weight"))
    assert found is not None
    assert (found.shape, found.dtype.name) == ((3, 4), "float32")


def test_that_a_file_cut_short_is_a_problem_of_its_last_items_only(tmp_path: Path) -> None:
    tensors = {name: ((50,), [((0,), torch.full((50,), 2.0))]) for name in "ab"}
    folder = save_pieces(tmp_path / "dcp", tensors)
    path = folder / "__0_0.distcp"
    path.write_bytes(path.read_bytes()[:-100])
    checkpoint = open_checkpoint(folder)
    assert problem_of(checkpoint, "b") == "__0_0.distcp is incomplete: 100 of its bytes are missing"
    assert values_at(checkpoint, "a") == torch_bytes(torch.full((50,), 2.0))


def test_that_pieces_with_a_gap_are_not_shown_as_a_whole(tmp_path: Path) -> None:
    tensor = torch.arange(24.0).reshape(4, 6)
    folder = save_pieces(tmp_path / "dcp", {"w": (tensor.shape, cut(tensor, 4)[:3])})
    assert problem_of(open_checkpoint(folder), "w") == "its pieces hold 18 of its 24 elements"


def test_that_pieces_that_overlap_and_leave_a_gap_are_found_out(tmp_path: Path) -> None:
    pieces: list[Piece] = [((0, 0), torch.ones(2, 3)), ((1, 0), torch.ones(2, 3))]
    folder = save_pieces(tmp_path / "dcp", {"w": ((4, 3), pieces)})
    assert "overlap" in problem_of(open_checkpoint(folder), "w")


@pytest.mark.parametrize("file", ["../secret.distcp", "/etc/hostname", "C:\\x"])
def test_that_metadata_that_points_outside_its_folder_is_refused_per_row(tmp_path: Path, file: str) -> None:
    folder = save_pieces(tmp_path / "dcp", {"w": ((3,), [((0,), torch.ones(3))])})
    save_zip(tmp_path / "secret.distcp", torch.ones(3))

    def redirect(metadata: object) -> None:
        for info in metadata.storage_data.values():  # type: ignore[attr-defined]
            info.relative_path = file

    edit_metadata(folder, redirect)
    checkpoint = open_checkpoint(folder)
    assert "outside its folder" in problem_of(checkpoint, "w")
    assert [facts.path.name for facts in checkpoint.files] == [".metadata"]


def test_that_entries_without_a_place_and_places_without_an_entry_are_told(tmp_path: Path) -> None:
    folder = save_pieces(tmp_path / "dcp", {"w": ((3,), [((0,), torch.ones(3))])}, {"step": 1, "lost": 2})

    def disturb(metadata: object) -> None:
        places = metadata.storage_data  # type: ignore[attr-defined]
        places[MetadataIndex("stranger")] = places.pop(MetadataIndex("step"))
        del metadata.state_dict_metadata["lost"]  # type: ignore[attr-defined]

    edit_metadata(folder, disturb)
    checkpoint = open_checkpoint(folder)
    assert problem_of(checkpoint, "step") == ".metadata does not say where it lies"
    assert any(warning.startswith("2 items have no entry") for warning in checkpoint.warnings)


def test_that_items_behind_a_transform_are_not_guessed_at(tmp_path: Path) -> None:
    folder = save_pieces(tmp_path / "dcp", {"w": ((3,), [((0,), torch.ones(3))])})

    def compress(metadata: object) -> None:
        for info in metadata.storage_data.values():  # type: ignore[attr-defined]
            info.transform_descriptors = ["stream.zstd"]

    edit_metadata(folder, compress)
    assert "stream.zstd" in problem_of(open_checkpoint(folder), "w")


def test_that_a_shape_that_no_tensor_can_have_is_a_problem(tmp_path: Path) -> None:
    folder = save_pieces(tmp_path / "dcp", {"w": ((1 << 40, 1 << 40), [((0, 0), torch.ones(2, 2))])})
    assert "more than any tensor has" in problem_of(open_checkpoint(folder), "w")


def test_that_files_of_no_entry_are_named(tmp_path: Path) -> None:
    folder = save_pieces(tmp_path / "dcp", {"w": ((3,), [((0,), torch.ones(3))])})
    (folder / "__9_0.distcp").write_bytes(b"x")
    assert open_checkpoint(folder).warnings == [
        "in the folder but not in .metadata, so not shown: __9_0.distcp",
    ]


def test_that_metadata_of_another_kind_is_refused_in_words(tmp_path: Path) -> None:
    (tmp_path / ".metadata").write_bytes(pickle.dumps({"a": 1}))
    with pytest.raises(MalformedFile, match="does not list what was saved"):
        open_checkpoint(tmp_path)
    (tmp_path / ".metadata").write_bytes(b"not a pickle")
    with pytest.raises(ViewerError):
        open_checkpoint(tmp_path)


def test_that_a_piece_that_changes_later_is_not_read(tmp_path: Path) -> None:
    tensor = torch.arange(24.0).reshape(4, 6)
    folder = save_pieces(tmp_path / "dcp", {"w": (tensor.shape, cut(tensor, 2))})
    checkpoint = open_checkpoint(folder)
    path = folder / "__1_0.distcp"
    path.write_bytes(path.read_bytes() + b"x")
    with pytest.raises(FileChanged):
        values_at(checkpoint, "w")


def test_that_the_window_is_not_given_where_pieces_lie(tmp_path: Path) -> None:
    tensor = torch.arange(24.0).reshape(4, 6)
    checkpoint = open_checkpoint(save_pieces(tmp_path / "dcp", {"w": (tensor.shape, cut(tensor, 2))}))
    with pytest.raises(ViewerError, match="the process that opened the file"):
        values_at(checkpoint.without_blobs(), "w")


def test_that_nothing_in_the_metadata_is_run(tmp_path: Path) -> None:
    class Attack:
        def __reduce__(self) -> tuple[object, ...]:
            return Path.touch, (tmp_path / "ran",)

    folder = save_pieces(tmp_path / "dcp", {"w": ((3,), [((0,), torch.ones(3))])})
    edit_metadata(folder, lambda metadata: setattr(metadata, "planner_data", {"w": Attack()}))
    (tmp_path / "ran").unlink(missing_ok=True)
    checkpoint = open_checkpoint(folder)
    assert not (tmp_path / "ran").exists()
    assert values_at(checkpoint, "w") == torch_bytes(torch.ones(3))


def test_that_opening_can_stop_between_items(tmp_path: Path) -> None:
    folder = save_pieces(tmp_path / "dcp", {f"w{nth}": ((3,), [((0,), torch.ones(3))]) for nth in range(200)})
    items = [
        progress for progress in open_task(folder) if isinstance(progress, Progress) and progress.unit == "items"
    ]
    assert [progress.done for progress in items] == [0, 64, 128, 192]
    assert items[0].total == 200


def test_that_names_whose_paths_collide_stay_on_top() -> None:
    members: dict[str, object] = {"a": 1, "a.b": 2, "c.0": 3, "c.1": 4, "d.1": 5, "plain": 6, "a again": 7}
    paths: dict[str, tuple[str | int, ...]] = {
        "a": ("a",),
        "a.b": ("a", "b"),
        "c.0": ("c", 0),
        "c.1": ("c", 1),
        "d.1": ("d", 1),
        "a again": ("a",),
    }
    assert nest(members, paths) == {"a": 1, "a.b": 2, "c": [3, 4], "d": {1: 5}, "plain": 6, "a again": 7}


def test_that_an_object_saved_as_bare_bytes_is_shown_as_bytes(tmp_path: Path) -> None:
    folder = save_pieces(tmp_path / "dcp", {}, {"raw": 1})
    stream = io.BytesIO(b"\xff\x01 bare \x00 bytes")
    (folder / "__0_0.distcp").write_bytes(stream.getvalue())

    def shorten(metadata: object) -> None:
        for info in metadata.storage_data.values():  # type: ignore[attr-defined]
            info.length = len(stream.getvalue())

    edit_metadata(folder, shorten)
    checkpoint = open_checkpoint(folder)
    assert checkpoint.nodes.value[checkpoint.find("raw")] == stream.getvalue()
