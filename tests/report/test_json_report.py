"""The JSON of a checkpoint: every node once, in tree order, streamed."""

from __future__ import annotations

import json

import pytest

from tests.report.trees import Float32, Node, checkpoint_of
from viewer.checkpoint.document import GlobalUse
from viewer.checkpoint.nodes import Kind
from viewer.report.extract import Extract
from viewer.report.json_report import iter_json


def parsed(extract: Extract) -> dict[str, list[dict[str, object]]]:
    result = json.loads("".join(iter_json(extract)), parse_constant=pytest.fail)
    assert isinstance(result, dict)
    return result


TREE = {
    "model": {"a.weight": Float32((3, 4)), "a/b": Float32((), "cuda:0"), 0: [1, {"x": float("nan")}]},
    "epoch": 7,
    "name": "run \x1b[31m",
    (1, 2): b"\x00",
}


def test_that_every_node_is_an_entry_in_tree_order() -> None:
    checkpoint = checkpoint_of(TREE)
    entries = parsed(Extract(checkpoint))["entries"]
    assert [entry["path"] for entry in entries] == [
        checkpoint.path_of(node) for node in checkpoint.nodes.tree_order()
    ]
    assert [entry["kind"] for entry in entries] == (
        ["dict", "dict", "tensor", "tensor", "list", "int", "dict", "float", "int", "str", "bytes"]
    )


def test_that_keys_hold_strings_numbers_and_objects() -> None:
    entries = {entry["path"]: entry for entry in parsed(Extract(checkpoint_of(TREE)))["entries"]}
    assert entries[""]["keys"] == []
    assert entries["model[0][1]/x"]["keys"] == ["model", 0, 1, "x"]
    assert entries['model["a/b"]']["keys"] == ["model", "a/b"]
    assert entries['[{"(1, 2)"}]']["keys"] == [{"key": "(1, 2)"}]


def test_that_a_tensor_has_its_geometry_and_a_leaf_its_value() -> None:
    entries = {entry["path"]: entry for entry in parsed(Extract(checkpoint_of(TREE)))["entries"]}
    tensor = entries["model/a.weight"]
    assert (tensor["dtype"], tensor["shape"], tensor["stride"]) == ("float32", [3, 4], [4, 1])
    assert (tensor["numel"], tensor["nbytes"], tensor["requires_grad"]) == (12, 48, False)
    assert (tensor["device"], entries['model["a/b"]']["device"]) == ("cpu", "cuda:0")
    assert "value" not in tensor
    assert entries["epoch"]["value"] == 7
    assert entries["name"]["value"] == "run \x1b[31m"
    assert entries["model[0][1]/x"]["value"] == "nan"
    assert "value" not in entries["model"]


@pytest.mark.parametrize("path", ["model", "model[0]", "model/a.weight", '[{"(1, 2)"}]'])
def test_that_a_part_is_the_same_entries_as_in_the_whole(path: str) -> None:
    checkpoint = checkpoint_of(TREE)
    root = checkpoint.find(path)
    part = parsed(Extract(checkpoint, root))["entries"]
    whole = parsed(Extract(checkpoint))["entries"]
    below = {checkpoint.path_of(node) for node in checkpoint.nodes.tree_order(root)}
    assert part[0]["path"] == path
    assert part == [entry for entry in whole if entry["path"] in below]


def test_that_links_problems_references_and_objects_say_what_they_are() -> None:
    tree = {
        "model": {"x": 1},
        "again": Node(Kind.LINK, "dict", 1),
        "lost": Node(Kind.PROBLEM, "tensor", "the record holds 3 of 12 bytes"),
        "hook": Node(Kind.REFERENCE, "function", "os.system"),
        "object": Node(Kind.OBJECT, "models.Net", "made with 2 arguments"),
        "empty": Node(Kind.OBJECT, "models.Net"),
    }
    report = parsed(Extract(checkpoint_of(tree)))
    entries = {entry["path"]: entry for entry in report["entries"]}
    assert (entries["again"]["kind"], entries["again"]["target"]) == ("link", "model")
    assert (entries["lost"]["kind"], entries["lost"]["problem"]) == ("problem", "the record holds 3 of 12 bytes")
    assert (entries["hook"]["kind"], entries["hook"]["value"]) == ("function", "os.system")
    assert (entries["object"]["kind"], entries["object"]["value"]) == ("models.Net", "made with 2 arguments")
    assert (entries["empty"]["category"], "value" in entries["empty"]) == ("object", False)
    assert report["warnings"] == ["lost cannot be read: the record holds 3 of 12 bytes"]


def test_that_a_storage_problem_is_the_problem_of_its_tensors_and_is_told_once() -> None:
    checkpoint = checkpoint_of({"a": Float32((2,)), "b": Float32((2,)), "c": Float32((2,))})
    checkpoint.storages.problem.update({0: "cut short", 2: "cut off"})
    checkpoint.warnings.append("the file ends early")
    report = parsed(Extract(checkpoint))
    assert [entry.get("problem") for entry in report["entries"]] == [None, "cut short", None, "cut off"]
    assert report["warnings"] == ["the file ends early", "2 entries cannot be read; the first is a: cut short"]


def test_that_globals_are_dotted_names_with_their_details_beside() -> None:
    checkpoint = checkpoint_of({})
    checkpoint.globals = [GlobalUse("os", "system", False), GlobalUse("collections", "OrderedDict", True, 3)]
    report = parsed(Extract(checkpoint))
    assert report["globals"] == ["collections.OrderedDict", "os.system"]
    assert report["global_details"] == [
        {"module": "collections", "name": "OrderedDict", "harmless": True, "count": 3, "path": None},
        {"module": "os", "name": "system", "harmless": False, "count": 1, "path": None},
    ]


def test_that_the_head_names_file_container_and_size() -> None:
    report = parsed(Extract(checkpoint_of({"a": 1})))
    assert (report["file"], report["container"], report["nbytes"]) == ("made.pth", "torch zip", 1234)
    assert list(report)[-2:] == ["entries", "warnings"]


def test_that_no_piece_grows_with_the_number_of_entries() -> None:
    pieces = list(iter_json(Extract(checkpoint_of(list(range(5000))))))
    assert len(pieces) > 5000
    assert max(map(len, pieces)) < 1000
