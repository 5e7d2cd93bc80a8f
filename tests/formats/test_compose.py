"""One checkpoint out of several: numbers of the parts move, and nothing of them is lost."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.formats.container_files import bytes_of, save_legacy, save_zip, torch_bytes
from tests.formats.distributed_files import save_pieces
from viewer import open_checkpoint
from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.nodes import Kind
from viewer.checkpoint.tensors import CHUNKED, INLINE
from viewer.errors import LimitExceeded
from viewer.formats.compose import Branch, Composer, Graft, Leaf
from viewer.formats.limits import Limits


def compose(parts: dict[str, Checkpoint], limits: Limits | None = None) -> Checkpoint:
    composer = Composer() if limits is None else Composer(limits)
    children = {name: Graft(composer.add(part, name)) for name, part in parts.items()}
    return composer.finish(Path("whole"), "test", Branch(children), {})


def values_at(checkpoint: Checkpoint, path: str) -> bytes:
    tensor = checkpoint.tensor_of_node(checkpoint.find(path))
    assert tensor is not None
    assert tensor.storage is not None
    return bytes_of(checkpoint, tensor.storage)


@pytest.fixture
def parts(tmp_path: Path) -> dict[str, torch.Tensor]:
    return {"zip": torch.arange(5.0), "legacy": torch.arange(6), "second": torch.full((3,), 2.5)}


def test_that_each_tensor_of_each_part_reads_from_its_own_file(
    tmp_path: Path, parts: dict[str, torch.Tensor]
) -> None:
    whole = compose(
        {
            "zip": open_checkpoint(save_zip(tmp_path / "a.pth", {"w": parts["zip"]})),
            "legacy": open_checkpoint(save_legacy(tmp_path / "b.pth", {"w": parts["legacy"]})),
            "second": open_checkpoint(save_zip(tmp_path / "c.pth", {"w": parts["second"]})),
        }
    )
    for name, tensor in parts.items():
        assert values_at(whole, f"{name}/w") == torch_bytes(tensor)
    assert [facts.path.name for facts in whole.files] == ["a.pth", "b.pth", "c.pth"]
    assert [whole.storage(number).file for number in range(3)] == [0, 1, 2]


def test_that_bytes_inside_pickles_move_with_their_storages(tmp_path: Path) -> None:
    arrays = {name: np.arange(4, dtype=np.float32) + nth for nth, name in enumerate("ab")}
    opened = {}
    for name, array in arrays.items():
        (tmp_path / name).write_bytes(pickle.dumps({"array": array}))
        opened[name] = open_checkpoint(tmp_path / name)
    whole = compose(opened)
    assert set(whole.storages.encoding) == {INLINE}
    for name, array in arrays.items():
        assert values_at(whole, f"{name}/array") == array.tobytes()


def test_that_tensors_in_pieces_move_with_their_pieces(tmp_path: Path) -> None:
    tensors = {name: torch.arange(24.0).reshape(4, 6) + 100 * nth for nth, name in enumerate("ab")}
    opened = {}
    for name, tensor in tensors.items():
        halves = [((0, 0), tensor[:, :2].clone()), ((0, 2), tensor[:, 2:].clone())]
        opened[name] = open_checkpoint(save_pieces(tmp_path / name, {"w": (tensor.shape, halves)}))
    whole = compose(opened)
    assert list(whole.storages.encoding).count(CHUNKED) == 2
    for name, tensor in tensors.items():
        assert values_at(whole, f"{name}/w") == torch_bytes(tensor)


def test_that_checksums_and_problems_keep_their_storages_and_tensors(tmp_path: Path) -> None:
    first = open_checkpoint(save_zip(tmp_path / "a.pth", {"x": torch.ones(2), "y": torch.ones(3)}))
    second = open_checkpoint(save_zip(tmp_path / "b.pth", {"x": torch.ones(2), "y": torch.ones(3)}))
    second.storages.crc[1] = 7
    second.storages.problem[0] = "lost"
    second.tensors.problem[1] = "odd"
    second.tensors.extra[0] = {"scales": 1, "axis": 1}
    whole = compose({"a": first, "b": second})
    assert whole.storages.crc[3] == 7
    assert whole.storages.problem == {2: "lost"}
    assert whole.tensors.problem == {3: "odd"}
    assert whole.tensors.extra == {2: {"scales": 3, "axis": 1}}


def test_that_links_lead_to_the_moved_nodes(tmp_path: Path) -> None:
    shared = [1, 2]
    parts = {
        name: open_checkpoint(save_zip(tmp_path / f"{name}.pth", {"one": shared, "two": shared})) for name in "ab"
    }
    whole = compose(parts)
    for name in parts:
        link = whole.find(f"{name}/two")
        assert whole.nodes.kind[link] == Kind.LINK
        assert whole.nodes.value[link] == whole.find(f"{name}/one")


def test_that_a_link_out_of_what_is_shown_says_so(tmp_path: Path) -> None:
    shared = [1, 2]
    part = open_checkpoint(save_zip(tmp_path / "a.pth", {"one": shared, "two": shared}))
    composer = Composer()
    number = composer.add(part)
    whole = composer.finish(Path("whole"), "test", Branch({"two": Graft(number, part.find("two"))}), {})
    assert whole.nodes.kind[whole.find("two")] == Kind.PROBLEM


def test_that_children_are_consecutive_and_behind_their_parents(tmp_path: Path) -> None:
    part = open_checkpoint(save_zip(tmp_path / "a.pth", {"m": {"x": 1, "y": [2, 3]}, "n": {"z": {}}}))
    nodes = compose({"a": part, "b": part}).nodes
    seen = {0}
    for node in range(len(nodes)):
        for child in nodes.children(node):
            assert child > node
            assert nodes.parent[child] == node
            seen.add(child)
    assert seen == set(range(len(nodes)))


def test_that_globals_are_added_up_and_warnings_say_which_part(tmp_path: Path) -> None:
    part = open_checkpoint(save_zip(tmp_path / "a.pth", {"w": torch.ones(1)}))
    part.warnings.append("odd")
    whole = compose({"a": part, "b": part})
    assert whole.warnings == ["a: odd", "b: odd"]
    counts = {used.dotted: used.count for used in part.globals}
    assert {used.dotted: used.count for used in whole.globals} == {name: 2 * count for name, count in counts.items()}


def test_that_rows_of_our_own_stand_beside_those_of_parts(tmp_path: Path) -> None:
    part = open_checkpoint(save_zip(tmp_path / "a.pth", {"w": 1}))
    composer = Composer()
    root = Branch({"part": Graft(composer.add(part)), "lost": Leaf.problem("why")}, "dict", Kind.MAPPING)
    whole = composer.finish(Path("whole"), "test", root, {"fact": "value"})
    assert whole.nodes.value[whole.find("part/w")] == 1
    assert whole.nodes.kind[whole.find("lost")] == Kind.PROBLEM
    assert whole.nodes.value[whole.find("lost")] == "why"
    assert whole.facts == {"fact": "value"}


def test_that_too_many_rows_together_are_refused(tmp_path: Path) -> None:
    part = open_checkpoint(save_zip(tmp_path / "a.pth", {"many": list(range(60))}))
    with pytest.raises(LimitExceeded, match="100 entries together"):
        compose({"a": part, "b": part}, Limits(nodes=100))


@pytest.mark.filterwarnings("ignore")
def test_that_the_numbers_of_parts_of_tensors_move_with_them(tmp_path: Path) -> None:
    nested = torch.nested.nested_tensor([torch.zeros(2, 3), torch.zeros(4, 3)])
    save_zip(tmp_path / "a.pth", {"w": torch.ones(3)})
    torch.save({"s": torch.eye(2).to_sparse(), "n": nested}, tmp_path / "b.pth")
    names = ("a.pth", "b.pth")
    whole = compose({name: open_checkpoint(tmp_path / name) for name in names})
    for path, parts in (("s", ("indices", "values")), ("n", ("values", "sizes", "strides", "storage_offsets"))):
        tensor = whole.tensor_of_node(whole.find(f"b.pth/{path}"))
        assert tensor is not None
        for part in parts:
            assert tensor.extra[part] == whole.nodes.value[whole.find(f"b.pth/{path}/{part}")]
