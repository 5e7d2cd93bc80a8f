"""Where in the tree the names stand that a file's pickles use."""

from __future__ import annotations

import collections
import json
import pickle
from pathlib import Path

import pytest
import torch

from viewer import open_checkpoint
from viewer.checkpoint.document import Checkpoint, GlobalUse
from viewer.formats.tree import build_nodes


class Net(torch.nn.Module):
    """A class of the file's own."""


class Color:
    """Another."""


def helper() -> None:
    """A function that is named."""


class Evil:
    def __reduce__(self) -> tuple[object, ...]:
        return print, ("never printed",)


def places(checkpoint: Checkpoint) -> dict[str, str | None]:
    """By the last part of the name: the path of the first node; None for names without."""
    return {use.name: checkpoint.path_of(use.node) if use.node >= 0 else None for use in checkpoint.globals}


def test_that_the_first_node_of_each_unknown_name_is_known(tmp_path: Path) -> None:
    path = tmp_path / "model.pth"
    item = {"epoch": 3, "hook": helper, "later": {"net": Net(), "color": [Color(), Color()]}, "run": Evil()}
    torch.save(item, path)
    found = places(open_checkpoint(path))
    assert found["helper"] == "hook"
    assert found["Net"] == "later/net"
    assert found["Color"] == "later/color[0]"
    assert found["print"] == "run"
    assert found["OrderedDict"] is None


@pytest.mark.parametrize("protocol", range(6))
def test_that_it_is_known_in_every_protocol(tmp_path: Path, protocol: int) -> None:
    path = tmp_path / "model.pkl"
    path.write_bytes(pickle.dumps({"a": [Color()], "b": len}, protocol))
    found = places(open_checkpoint(path))
    assert found["Color"] == "a[0]"
    assert found["len"] == "b"


def test_that_a_name_in_a_key_alone_has_no_node(tmp_path: Path) -> None:
    path = tmp_path / "model.pkl"
    path.write_bytes(pickle.dumps({(len, 1): 2}))
    assert places(open_checkpoint(path)) == {"len": None}


def test_that_a_file_that_is_one_object_has_it_at_the_root(tmp_path: Path) -> None:
    path = tmp_path / "model.pth"
    torch.save(Net(), path)
    assert places(open_checkpoint(path))["Net"] == ""


def test_that_the_first_node_is_the_one_that_a_walk_finds(tmp_path: Path) -> None:
    path = tmp_path / "model.pkl"
    items = [[Color(), {"x": helper}], {"y": [helper, Color(), collections.Counter("a")]}, Color(), helper]
    path.write_bytes(pickle.dumps(items))
    checkpoint = open_checkpoint(path)
    nodes = checkpoint.nodes
    for use in checkpoint.globals:
        shows = [at for at in range(len(nodes)) if use.dotted in (nodes.type_name(at), nodes.value[at])]
        assert use.node == (-1 if use.harmless else shows[0])


def test_that_uses_without_a_tree_keep_their_columns() -> None:
    from viewer.formats.pickle import PickleSession
    from viewer.formats.placing import place_globals

    uses = [GlobalUse("collections", "OrderedDict", True, 4), GlobalUse("os", "system", False, 2)]
    assert place_globals(uses, build_nodes({}, PickleSession())) == uses


def test_that_the_reports_say_where(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from viewer.cli.main import main

    path = tmp_path / "model.pkl"
    path.write_bytes(pickle.dumps({"a": {"run": Evil()}, (len,): 1}))
    assert main(["show", str(path)]) == 0
    text = capsys.readouterr().out
    assert "builtins.print, first at a/run\n" in text
    assert "builtins.len\n" in text
    assert main(["show", "--json", str(path)]) == 0
    details = {use["name"]: use["path"] for use in json.loads(capsys.readouterr().out)["global_details"]}
    assert details == {"print": "a/run", "len": None}
