"""Facts about tensors, storages and parts of the tree."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from tests.gui.details.handmade import CheckpointBuilder, training_checkpoint
from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.nodes import Kind
from viewer.checkpoint.tensors import NO_STORAGE
from viewer.errors import MalformedFile
from viewer.gui.details.facts import (
    Fact,
    file_facts,
    headline,
    storage_facts,
    tensor_facts,
    tensor_problem,
    usage,
    view_facts,
)
from viewer.gui.details.subtree import SubtreeFacts, levels_below, names_task, sharing_task, subtree_task
from viewer.gui.details.wording import unread_words
from viewer.task import run


def shown(facts: list[Fact]) -> dict[str, str]:
    return {fact.label: fact.shown for fact in facts}


def sums(checkpoint: Checkpoint, path: str = "") -> SubtreeFacts:
    return run(subtree_task(checkpoint, [checkpoint.find(path)]))


def test_that_the_headline_says_dtype_shape_size_and_devices() -> None:
    checkpoint = training_checkpoint()
    tensor = checkpoint.tensor_of_node(checkpoint.find("model/layer1.0.conv1.weight"))
    assert tensor is not None
    assert headline(tensor, "cpu") == "float32 · 64×64×3×3 · 144 KB · saved on cuda:0 · computed on cpu"
    assert headline(tensor) == "float32 · 64×64×3×3 · 144 KB · saved on cuda:0"
    step = checkpoint.tensor_of_node(checkpoint.find("model/steps"))
    assert step is not None
    assert headline(step).startswith("int64 · scalar · 8 B")


def test_that_the_facts_of_a_tensor_are_those_of_its_columns() -> None:
    checkpoint = training_checkpoint()
    node = checkpoint.find("model/fc.transposed")
    tensor = checkpoint.tensor_of_node(node)
    assert tensor is not None
    assert tensor.storage is not None
    assert shown(tensor_facts(checkpoint, node, tensor))["elements"] == "512,000"
    view = shown(view_facts(tensor))
    assert view["stride"] == "(1, 512)"
    assert view["contiguous"] == "no"
    storage = shown(storage_facts(checkpoint, tensor.storage))
    assert storage["offset in file"] == "4,096"
    assert storage["bytes stored"] == "2.0 MB"
    assert storage["encoding"] == "stored as it is"


def test_that_quantization_facts_are_shown() -> None:
    checkpoint = training_checkpoint()
    node = checkpoint.find("model/quantized")
    tensor = checkpoint.tensor_of_node(node)
    assert tensor is not None
    facts = shown(tensor_facts(checkpoint, node, tensor))
    assert facts["qscheme"] == "per_tensor_affine"
    assert facts["scale"] == "0.1"
    assert facts["zero point"] == "3"


def test_that_a_tensor_in_an_unreadable_storage_has_its_problem() -> None:
    checkpoint = training_checkpoint()
    tensor = checkpoint.tensor_of_node(checkpoint.find("model/broken"))
    assert tensor is not None
    problem = tensor_problem(tensor)
    assert problem is not None
    assert "data/5" in problem


@pytest.mark.parametrize(
    ("shape", "stride"),
    [
        ((3, 4), (4, 1)),
        ((3, 4), (0, 1)),
        ((5,), (3,)),
        ((3, 3), (1, 1)),
        ((3, 3), (2, 2)),
        ((0, 3), (3, 1)),
        ((), ()),
        ((2, 3, 4), (1, 2, 6)),
    ],
)
def test_that_bytes_used_are_those_of_distinct_elements(shape: tuple[int, ...], stride: tuple[int, ...]) -> None:
    make = CheckpointBuilder(Path("a.pt"))
    number = make.tensor("float32", shape, make.storage(400), stride=stride)
    tensor = make.build({}).tensor(number)
    used = usage(tensor)
    assert used is not None
    places = {sum(i * step for i, step in zip(index, stride, strict=True)) for index in product(*map(range, shape))}
    if used.exact:
        assert used.used == 4 * len(places)
    else:
        assert used.used >= 4 * len(places)
        assert str(used).startswith("at most")
    assert used.stored == 400


def test_that_levels_are_exactly_the_nodes_below() -> None:
    checkpoint = training_checkpoint()
    for root in range(len(checkpoint.nodes)):
        below = {node for level in levels_below(checkpoint.nodes, root) for node in level}
        assert below == set(checkpoint.nodes.tree_order(root)) - {root}


def test_that_sums_count_a_tensor_once_and_parts_of_a_tensor_not_at_all() -> None:
    checkpoint = training_checkpoint()
    found = sums(checkpoint, "model")
    tensors = {
        checkpoint.nodes.value[node]
        for node in checkpoint.nodes.children(checkpoint.find("model"))
        if checkpoint.nodes.kind[node] == Kind.TENSOR
    }
    numels = [int(np.prod(checkpoint.tensors.shape[number])) for number in tensors]  # type: ignore[index]
    assert found.tensors == len(tensors) == 12
    assert found.names == 13
    assert found.elements == sum(numels)
    assert found.parameters == 1
    sparse_nbytes = 2 * 5 * 8 + 5 * 4
    dense = sum(
        checkpoint.tensor(number).nbytes  # type: ignore[arg-type]
        for number in tensors
        if checkpoint.tensors.storage[number] != NO_STORAGE  # type: ignore[index]
    )
    assert found.nbytes == dense + sparse_nbytes
    assert sum(share.nbytes for share in found.by_dtype) == found.nbytes
    assert found.by_dtype[0].dtype.name == "float32"
    assert found.devices == {"cuda:0": 11, "cpu": 1}
    assert [checkpoint.path_of(node) for node in found.problems] == ["model/broken"]


def test_that_shared_storages_are_added_once() -> None:
    checkpoint = training_checkpoint()
    nodes = [checkpoint.find(f"model/{name}") for name in ("fc.weight", "fc.top", "fc.transposed")]
    found = run(subtree_task(checkpoint, nodes))
    assert found.storages == 1
    assert found.stored_nbytes == 4 * 1000 * 512
    assert found.nbytes > found.stored_nbytes


def test_that_a_container_without_tensors_adds_up_to_nothing() -> None:
    found = sums(training_checkpoint(), "net")
    assert (found.tensors, found.elements, found.nbytes, found.nodes) == (0, 0, 0, 2)


def test_that_the_other_names_and_sharers_of_a_tensor_are_found() -> None:
    checkpoint = training_checkpoint()
    node = checkpoint.find("model/tied")
    number = checkpoint.nodes.value[node]
    assert isinstance(number, int)
    names = run(names_task(checkpoint, frozenset({number}), besides=node))
    assert [checkpoint.path_of(name) for name in names] == ["model/layer1.0.bn1.weight"]
    sharing = run(sharing_task(checkpoint, checkpoint.find("model/fc.top")))
    assert [checkpoint.path_of(name) for name in sharing] == ["model/fc.weight", "model/fc.transposed"]
    assert run(sharing_task(checkpoint, checkpoint.find("model/sparse"))) == []


def test_that_the_file_is_described() -> None:
    facts = {fact.label: fact for fact in file_facts(training_checkpoint())}
    assert facts["size on disk"].shown == "44.7 MB"
    assert facts["size on disk"].exact == "46,871,347 bytes"
    assert facts["format version"].shown == "3"


def test_that_where_the_values_are_is_no_fault_and_nothing_to_try_again() -> None:
    make = CheckpointBuilder(Path("/x/a.pth"))
    checkpoint = make.build({"fine": make.tensor_leaf("float32", (4,))})
    tensor = checkpoint.tensor_of_node(1)
    assert tensor is not None
    error = MalformedFile("a sparse_coo tensor: its values are in the rows below it", path="/x/a.pth")
    assert unread_words(tensor, error) == (f"✕ {error}", "Try again")
    sparse = replace(tensor, storage=None)
    words = "A sparse_coo tensor: its values are in the rows below it."
    assert unread_words(sparse, error) == (words, "")
    assert unread_words(replace(sparse, problem="no such dtype"), error) == (f"✕ {error}", "")
