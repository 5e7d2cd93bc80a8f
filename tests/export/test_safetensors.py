"""The safetensors flavour, read by the library of that name and by this program."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file

from tests.export.contents import digest, exported, many_dtypes, same_bits, save, training_content
from viewer import open_checkpoint
from viewer.checkpoint.nodes import Kind
from viewer.formats.canonical_tree import TREE_KEY


def test_that_the_library_reads_all_tensors_by_their_paths(tmp_path: Path) -> None:
    content = training_content()
    result = exported(save(content, tmp_path / "a.pt"), flavour="safetensors")
    tensors = load_file(result.path)
    for key, tensor in content["model"].items():
        assert same_bits(tensors[f"model/{key}"], tensor)
    assert same_bits(tensors["optimizer/state[0]/exp_avg"], content["optimizer"]["state"][0]["exp_avg"])
    assert same_bits(tensors["tied[0]"], content["tied"][0])
    assert "tied[1]" not in tensors
    with safe_open(result.path, "pt") as file:
        assert file.metadata()["format"] == "pt"


def test_that_every_dtype_of_the_format_is_read_bit_by_bit(tmp_path: Path) -> None:
    content = many_dtypes()
    left_out = {"complex128", "complex32", "float8_e4m3fnuz", "float8_e5m2fnuz"}
    for name in left_out:
        del content[name]
    tensors = load_file(exported(save(content, tmp_path / "a.pt"), flavour="safetensors").path)
    assert tensors.keys() == content.keys()
    for name, tensor in content.items():
        assert same_bits(tensors[name], tensor), name


def test_that_the_data_are_aligned_and_in_order(tmp_path: Path) -> None:
    content = {"b": torch.ones(3, dtype=torch.int8), "a": torch.ones(3, dtype=torch.float64), "c": torch.ones(1)}
    data = exported(save(content, tmp_path / "a.pt"), flavour="safetensors").path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    assert (8 + length) % 64 == 0
    header = json.loads(data[8 : 8 + length])
    assert list(header) == ["__metadata__", "a", "b", "c"]
    assert [header[name]["data_offsets"] for name in "acb"] == [[0, 24], [24, 28], [28, 31]]


def test_that_a_flat_sorted_dict_of_tensors_needs_no_tree(tmp_path: Path) -> None:
    content = {"a.weight": torch.ones(2), "b": torch.zeros(1)}
    path = exported(save(content, tmp_path / "a.pt"), flavour="safetensors").path
    with safe_open(path, "pt") as file:
        assert file.metadata() == {"format": "pt"}
    assert digest(path) == digest(tmp_path / "a.pt")


def test_that_the_viewer_shows_the_whole_tree_again(tmp_path: Path) -> None:
    content = training_content()
    source = save(content, tmp_path / "a.pt")
    shown = open_checkpoint(exported(source, flavour="safetensors").path)
    before = open_checkpoint(source)
    paths = {before.path_of(node) for node in range(len(before.nodes)) if before.nodes.kind[node] != Kind.LINK}
    assert paths == {shown.path_of(node) for node in range(len(shown.nodes)) if shown.nodes.kind[node] != Kind.LINK}
    assert shown.nodes.value[shown.find("epoch")] == 3
    assert shown.nodes.type_name(shown.find("parameter")) == "Parameter"
    assert shown.nodes.type_name(shown.find("names")) == "tuple"


def test_that_metadata_of_the_source_is_kept(tmp_path: Path) -> None:
    from safetensors.torch import save_file

    save_file({"w": torch.ones(2)}, tmp_path / "a.safetensors", metadata={"format": "pt", "note": 'ümlaut "x"'})
    result = exported(tmp_path / "a.safetensors", tmp_path / "b.safetensors", flavour="safetensors")
    with safe_open(result.path, "pt") as file:
        assert file.metadata() == {"format": "pt", "note": 'ümlaut "x"'}
    assert digest(result.path) == digest(tmp_path / "a.safetensors")


@pytest.mark.parametrize(
    "tree",
    [
        "",
        "[]",
        '{"form":2,"root":null}',
        '{"form":1}',
        '{"form":1,"root":["tensor","missing"]}',
        '{"form":1,"root":["ref",0]}',
        '{"form":1,"root":["ref",-1]}',
        '{"form":1,"root":["nonsense"]}',
        '{"form":1,"root":["call",1,[],null,null,[]]}',
        '{"form":1,"root":["call",["name","os","system"],["echo"],[1],[["a",1]],[["dict",[]]],[],[],[]]}',
        '{"form":1,"root":["dict",[[["list",[]],1]]]}',
        '{"form":1,"root":' + "[" * 100_000 + "]" * 100_000 + "}",
        '{"form":1,"root":' + '["list",[' * 5_000 + "]]" * 5_000 + "}",
        '{"form":1,"root":["float","00"]}',
        '{"form":1,"root":["tensor","w",9]}',
    ],
)
def test_that_a_broken_tree_is_a_warning_and_the_tensors_are_shown(tmp_path: Path, tree: str) -> None:
    from safetensors.torch import save_file

    save_file({"w": torch.ones(2)}, tmp_path / "a.safetensors", metadata={TREE_KEY: tree})
    shown = open_checkpoint(tmp_path / "a.safetensors")
    assert shown.tensor_of_node(shown.find("w")) is not None
    assert any("tree in its metadata" in warning for warning in shown.warnings)


def test_that_names_in_a_tree_are_never_imported(tmp_path: Path) -> None:
    from safetensors.torch import save_file

    tree = '{"form":1,"root":["call",["name","antigravity","f"],["x"],null,null,[]]}'
    save_file({"w": torch.ones(2)}, tmp_path / "a.safetensors", metadata={TREE_KEY: tree})
    import sys

    shown = open_checkpoint(tmp_path / "a.safetensors")
    assert shown.nodes.type_name(0) == "antigravity.f"
    assert "antigravity" not in sys.modules
    assert [use.dotted for use in shown.globals] == ["antigravity.f"]


def test_that_strides_which_the_format_has_not_are_packed_and_said(tmp_path: Path) -> None:
    from safetensors.torch import load_file

    tensor = torch.arange(24.0).reshape(2, 3, 4).permute(2, 0, 1)
    source = save({"w": tensor}, tmp_path / "a.pt")
    result = exported(source, flavour="safetensors", keep_strides=True)
    assert torch.equal(load_file(result.path)["w"], tensor)
    assert [finding.kind for finding in result.plan.findings] == ["changed"]
