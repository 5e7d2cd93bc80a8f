"""What a whole file adds up to: tied tensors once, parts, devices, the largest, and bytes that no tensor shows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.gui.details.handmade import CheckpointBuilder
from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.meaning.results import Label, Recognition, StateDictFacts
from viewer.gui.details.whole_facts import N_LARGEST, WholeFacts, whole_task
from viewer.gui.details.whole_rows import label_rows, model_facts, sum_rows, waste_words
from viewer.task import Task


def result_of(task: Task[Any]) -> Any:
    while True:
        try:
            next(task)
        except StopIteration as stop:
            return stop.value


def facts_of(checkpoint: Checkpoint) -> WholeFacts:
    facts = result_of(whole_task(checkpoint))
    assert isinstance(facts, WholeFacts)
    return facts


def test_that_tensors_that_are_the_same_elements_count_once() -> None:
    make = CheckpointBuilder(Path("/x/a.pth"))
    shared = make.storage(4 * 100)
    tree = {
        "model": {"wte": make.tensor_leaf("float32", (10, 10), shared), "rest": make.tensor_leaf("float32", (5,))},
        "head": {"w": make.tensor_leaf("float32", (10, 10), shared)},
    }
    facts = facts_of(make.build(tree))
    assert (facts.tensors, facts.elements, facts.nbytes, facts.tied) == (2, 105, 420, 1)
    assert facts.n_wasteful == 0
    assert waste_words(facts).startswith("None:")


def test_that_another_view_of_the_same_storage_is_a_tensor_of_its_own() -> None:
    make = CheckpointBuilder(Path("/x/a.pth"))
    shared = make.storage(4 * 100)
    tree = {
        "a": make.tensor_leaf("float32", (10, 10), shared),
        "b": make.tensor_leaf("float32", (10, 10), shared, stride=(1, 10)),
    }
    facts = facts_of(make.build(tree))  # type: ignore[arg-type]
    assert (facts.tensors, facts.tied) == (2, 0)


def test_that_parts_are_the_entries_of_the_outermost_container_that_has_several() -> None:
    make = CheckpointBuilder(Path("/x/a.pth"))
    tree = {"state": {"inner": {"a": make.tensor_leaf("float32", (4,)), "b": {"c": make.tensor_leaf("int64", (2,))}}}}
    checkpoint = make.build(tree)
    facts = facts_of(checkpoint)
    assert checkpoint.path_of(facts.part_of) == "state/inner"
    assert [(part.name, part.tensors, part.nbytes) for part in facts.parts] == [("a", 1, 16), ("b", 1, 16)]


def test_that_dotted_names_are_parted_after_what_they_all_begin_with() -> None:
    make = CheckpointBuilder(Path("/x/a.pth"))
    names = ("module.stem.weight", "module.stem.bias", "module.blocks.0.weight", "module.blocks.1.weight")
    facts = facts_of(make.build({name: make.tensor_leaf("float32", (4,)) for name in names}))
    assert [(part.name, part.tensors) for part in facts.parts] == [("module.blocks", 2), ("module.stem", 2)]
    assert all(part.node is None for part in facts.parts)


def test_that_devices_carry_their_bytes() -> None:
    make = CheckpointBuilder(Path("/x/a.pth"))
    tree = {
        "a": make.tensor_leaf("float32", (4,), make.storage(16, location="cuda:0")),
        "b": make.tensor_leaf("float32", (8,), make.storage(32, location="cpu")),
        "c": make.tensor_leaf("float32", (2,), make.storage(8, location="cuda:0")),
    }
    facts = facts_of(make.build(tree))  # type: ignore[arg-type]
    assert [(device.name, device.tensors, device.nbytes) for device in facts.devices] == [
        ("cpu", 1, 32),
        ("cuda:0", 2, 24),
    ]


def test_that_the_largest_come_first_and_no_more_than_a_screen_of_them() -> None:
    make = CheckpointBuilder(Path("/x/a.pth"))
    checkpoint = make.build({f"w{size}": make.tensor_leaf("float32", (size,)) for size in range(40)})
    facts = facts_of(checkpoint)
    assert [checkpoint.path_of(node) for node, _ in facts.largest] == [f"w{39 - n}" for n in range(N_LARGEST)]


def test_that_a_storage_that_holds_more_than_its_views_show_is_found_with_its_bytes() -> None:
    make = CheckpointBuilder(Path("/x/a.pth"))
    wide = make.storage(4 * 1000)
    pair = make.storage(4 * 100)
    tree = {
        "row": make.tensor_leaf("float32", (10,), wide, offset=20),
        "column": make.tensor_leaf("float32", (10,), make.storage(400), stride=(10,)),
        "left": make.tensor_leaf("float32", (40,), pair),
        "right": make.tensor_leaf("float32", (40,), pair, offset=30),
        "whole": make.tensor_leaf("float32", (7,)),
    }
    checkpoint = make.build(tree)  # type: ignore[arg-type]
    facts = facts_of(checkpoint)
    assert [(checkpoint.path_of(w.node), w.tensors, w.used, w.stored) for w in facts.wasteful] == [
        ("row", 1, 40, 4000),
        ("column", 1, 40, 400),
        ("left", 2, 280, 400),
    ]
    assert facts.wasted == 3960 + 360 + 120
    assert "4.3 KB (4,440 bytes)" in waste_words(facts)


def test_that_what_comes_after_the_first_dozen_parts_is_one_row_with_their_sum() -> None:
    make = CheckpointBuilder(Path("/x/a.pth"))
    facts = facts_of(make.build({f"w{n}": make.tensor_leaf("float32", (100 - n,)) for n in range(30)}))
    rows = sum_rows(facts.parts, facts.nbytes)
    assert len(rows) == 13
    assert [cell.shown for cell in rows[-1].cells[:2]] == ["18 more", "18"]
    assert sum(row.share or 0 for row in rows) == 1 or abs(sum(row.share or 0 for row in rows) - 1) < 1e-12


def test_that_labels_say_whether_they_are_known_or_inferred_and_why(checkpoint: Checkpoint) -> None:
    model = checkpoint.find("model")
    found = Recognition(
        "a model",
        {model: Label("model state_dict", False, "names"), 0: Label("checkpoint", True, "its keys")},
        [StateDictFacts(model, "state_dict", numel=12, n_parameters=10)],
    )
    rows = label_rows(checkpoint, found)
    assert [tuple(cell.shown for cell in row.cells) for row in rows] == [
        ("the whole file", "checkpoint", "● known", "its keys"),
        ("model", "model state_dict", "○ inferred", "names"),
    ]
    assert [row.node for row in rows] == [None, model]
    (fact,) = model_facts(checkpoint, found)
    assert (fact.label, fact.shown) == ("parameters of model", "10 and 2 in buffers · ○ inferred")


def test_that_a_file_without_tensors_adds_up_to_nothing() -> None:
    facts = facts_of(CheckpointBuilder(Path("/x/a.pth")).build({}))
    assert (facts.tensors, facts.parts, facts.devices, waste_words(facts)) == (0, [], [], "")


def test_that_a_large_file_is_gone_through_in_many_steps() -> None:
    make = CheckpointBuilder(Path("/x/a.pth"))
    names = [f"model.layers.{layer}.w{part}" for layer in range(400) for part in range(25)]
    checkpoint = make.build({name: make.tensor_leaf("float32", (4,)) for name in names})
    steps = list(whole_task(checkpoint))
    # Several passes, each with a step for a thousand tensors: how long one takes is the machine's affair.
    assert len(steps) >= 4 * len(names) // 1_000
