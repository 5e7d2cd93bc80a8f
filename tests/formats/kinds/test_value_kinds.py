"""Every kind of plain value, container and object: its kind, type name and parts."""

from __future__ import annotations

import argparse
import collections
import dataclasses
import datetime
import decimal
import enum
import fractions
import pathlib
import sys
import types
import uuid
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch

from tests.formats.kinds.kind_files import assert_reads_as, opened, rows
from viewer.checkpoint.nodes import Kind, OtherKey
from viewer.tensors.reading import read_values

NAN = float("nan")


class Point(NamedTuple):
    """A namedtuple."""

    x: int
    y: int


class Color(enum.Enum):
    """An enum."""

    RED = "red"


class Mode(enum.IntFlag):
    """A flag enum."""

    A = 1
    B = 2


@dataclasses.dataclass
class Config:
    """A dataclass."""

    lr: float
    name: str


@dataclasses.dataclass(frozen=True, slots=True)
class Slotted:
    """A dataclass with slots."""

    lr: float
    name: str


class AttributeDict(dict[str, Any]):
    """As Lightning keeps hyperparameters."""

    def __getattr__(self, key: str) -> Any:
        return self[key]


def hook(module: object, args: object) -> None:
    """A function."""


def unnamed() -> None:
    """Stands in for a lambda, which pickle itself cannot write."""


LEAVES = {
    "none": (None, "NoneType", None),
    "bool": (True, "bool", True),
    "int": (2**200, "int", 2**200),
    "float": (-0.0, "float", -0.0),
    "inf": (float("inf"), "float", float("inf")),
    "complex": (1 + 2j, "complex", 1 + 2j),
    "str": ("naïve 🎈\n", "str", "naïve 🎈\n"),
    "bytes": (b"\0\xff", "bytes", b"\0\xff"),
    "bytearray": (bytearray(b"ab"), "bytearray", b"ab"),
    "slice": (slice(1, None, 2), "slice", "slice(1, None, 2)"),
    "range": (range(1, 9, 2), "range", "range(1, 9, 2)"),
    "path": (pathlib.PurePosixPath("/a/b.c"), "pathlib.PurePosixPath", "/a/b.c"),
    "datetime": (datetime.datetime(2024, 5, 6, 7, 8, 9), "datetime.datetime", "2024-05-06 07:08:09"),
    "date": (datetime.date(2024, 5, 6), "datetime.date", "2024-05-06"),
    "time": (datetime.time(7, 8), "datetime.time", "07:08:00"),
    "timedelta": (datetime.timedelta(1, 3), "datetime.timedelta", "1 day, 0:00:03"),
    "decimal": (decimal.Decimal("1.50"), "decimal.Decimal", "1.50"),
    "fraction": (fractions.Fraction(1, 3), "fractions.Fraction", "1/3"),
    "uuid": (uuid.UUID(int=5), "uuid.UUID", "00000000-0000-0000-0000-000000000005"),
    "dtype": (torch.bfloat16, "torch.dtype", "torch.bfloat16"),
    "device": (torch.device("cuda", 1), "torch.device", "cuda:1"),
    "layout": (torch.sparse_coo, "torch.layout", "torch.sparse_coo"),
}


def test_that_plain_values_are_shown_as_python_prints_them(tmp_path: Path) -> None:
    shown = rows(opened(tmp_path, {name: value for name, (value, *_) in LEAVES.items()}))
    assert {name: shown[name] for name in LEAVES} == {
        name: ("SCALAR", type_name, value) for name, (_, type_name, value) in LEAVES.items()
    }
    assert str(shown["float"][2]) == "-0.0"


def test_that_containers_have_their_plain_names_and_facts(tmp_path: Path) -> None:
    containers = {
        "OrderedDict": collections.OrderedDict(a=1),
        "defaultdict": collections.defaultdict(list, a=[1]),
        "Counter": collections.Counter("aab"),
        "deque": collections.deque([1, 2], maxlen=3),
        "dict": {"a": 1},
        "list": [1],
        "tuple": (1,),
        "set": {3, 1, 2},
        "frozenset": frozenset("ba"),
        "size": torch.Size([2, 3]),
    }
    checkpoint = opened(tmp_path, containers)
    shown = rows(checkpoint)
    names = {name: shown[name][1] for name in containers}
    assert names == {**{name: name for name in containers}, "size": "torch.Size"}
    assert shown["Counter/a"][2] == 2
    assert shown['defaultdict[{".default_factory"}]'] == ("REFERENCE", "name", "builtins.list")
    assert shown['deque[{".maxlen"}]'][2] == 3
    assert [shown[f"set[{at}]"][2] for at in range(3)] == [1, 2, 3]
    assert [shown[f"size[{at}]"][2] for at in range(2)] == [2, 3]
    assert [use.dotted for use in checkpoint.globals if not use.harmless] == []


def test_that_objects_of_unknown_classes_show_their_state_under_their_full_name(tmp_path: Path) -> None:
    items = {
        "point": Point(1, 2),
        "color": Color.RED,
        "mode": Mode.A | Mode.B,
        "config": Config(0.1, "adam"),
        "slotted": Slotted(0.1, "adam"),
        "hparams": AttributeDict(lr=0.1, model={"depth": 18}),
        "args": argparse.Namespace(lr=0.1, nested={"a": 1}),
        "simple": types.SimpleNamespace(lr=0.1),
    }
    checkpoint = opened(tmp_path, items)
    shown = rows(checkpoint)
    assert {shown[name][0] for name in items} == {"OBJECT"}
    assert [shown[name][1] for name in items] == [
        "Point", "Color", "Mode", "Config", "Slotted", "AttributeDict", "argparse.Namespace", "types.SimpleNamespace",
    ]  # fmt: skip
    assert str(shown["point"][2]).endswith("Point(1, 2)")
    assert str(shown["color"][2]).endswith("Color('red')")
    assert [shown[f"config/{key}"][2] for key in ("lr", "name")] == [0.1, "adam"]
    assert [shown[f"slotted/state[{at}]"][2] for at in range(2)] == [0.1, "adam"]
    assert shown["hparams/model/depth"][2] == 18
    assert shown["args/nested/a"][2] == 1
    assert shown["simple/lr"][2] == 0.1
    full = checkpoint.nodes.type_name(checkpoint.find("config"))
    assert full == f"{Config.__module__}.Config"


def test_that_functions_and_lambdas_are_named_and_never_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[__name__], "<lambda>", unnamed, raising=False)
    monkeypatch.setattr(unnamed, "__qualname__", "<lambda>")
    checkpoint = opened(tmp_path, {"hook": hook, "lambda": unnamed, "class": Config, "len": len})
    shown = rows(checkpoint)
    assert [shown[name][0] for name in ("hook", "lambda", "class", "len")] == ["REFERENCE"] * 4
    assert shown["hook"][2] == f"{__name__}.hook"
    assert shown["lambda"][2] == f"{__name__}.<lambda>"
    assert shown["class"][2] == f"{__name__}.Config"
    assert shown["len"][2] == "builtins.len"


def test_that_the_state_of_generators_is_a_tensor(tmp_path: Path) -> None:
    state = torch.Generator().manual_seed(3).get_state()
    assert_reads_as(opened(tmp_path, {"rng": state}), "rng", state)


def test_that_what_is_shared_or_cyclic_is_a_link_and_the_tree_ends(tmp_path: Path) -> None:
    shared: list[object] = [1, 2]
    cyclic: dict[str, object] = {"a": 1}
    cyclic["self"] = cyclic
    tensor = torch.arange(3.0)
    checkpoint = opened(tmp_path, {"x": shared, "y": {"z": shared}, "c": cyclic, "t": tensor, "u": tensor})
    shown = rows(checkpoint)
    assert shown["y/z"] == ("LINK", "list", checkpoint.find("x"))
    assert shown["c/self"] == ("LINK", "dict", checkpoint.find("c"))
    assert shown["t"] == shown["u"]
    assert len(checkpoint.tensors) == 1


def test_that_a_dict_of_100_000_entries_is_shown_whole(tmp_path: Path) -> None:
    many = {f"key {n}": n for n in range(100_000)}
    checkpoint = opened(tmp_path, many)
    nodes = checkpoint.nodes
    assert {nodes.key[at]: nodes.value[at] for at in nodes.children(0)} == many


def test_that_odd_keys_are_told_apart_and_found_by_their_path(tmp_path: Path) -> None:
    keys: list[Any] = [
        "", "a.b", "a/b", "a\nb", "[0]", '"', "\\", "ключ 🎈", "x" * 10_000, 0, -1, 2**70, "0", 1.5, NAN, None,
        b"raw", b"raw ", (1, "a"), (1, ("b",)), frozenset({1}), torch.float32, Color.RED,
    ]  # fmt: skip
    checkpoint = opened(tmp_path, {key: nth for nth, key in enumerate(keys)})
    nodes = checkpoint.nodes
    children = list(nodes.children(0))
    assert [nodes.value[at] for at in children] == list(range(len(keys)))
    paths = [checkpoint.path_of(at) for at in children]
    assert len(set(paths)) == len(keys)
    assert [checkpoint.find(path) for path in paths] == children
    for at, key in zip(children, keys, strict=True):
        shown = nodes.key[at]
        assert shown == key if isinstance(key, (str, int)) else isinstance(shown, OtherKey)


def test_that_a_tensor_may_be_a_key(tmp_path: Path) -> None:
    checkpoint = opened(tmp_path, {torch.arange(3.0): "a", torch.arange(3.0): "b"})
    assert [checkpoint.nodes.value[at] for at in checkpoint.nodes.children(0)] == ["a", "b"]


def test_that_a_whole_module_is_a_tree_of_modules(tmp_path: Path) -> None:
    module = torch.nn.Sequential(collections.OrderedDict(conv=torch.nn.Conv2d(1, 2, 3), norm=torch.nn.BatchNorm2d(2)))
    handle = module.register_forward_pre_hook(hook)
    module.norm.eval()
    checkpoint = opened(tmp_path, {"model": module})
    shown = rows(checkpoint)
    assert shown["model"][:2] == ("OBJECT", "torch.nn.modules.container.Sequential")
    assert shown["model/_modules/conv"][1] == "torch.nn.modules.conv.Conv2d"
    assert (shown["model/training"][2], shown["model/_modules/norm/training"][2]) == (True, False)
    assert shown[f"model/_forward_pre_hooks[{handle.id}]"] == ("REFERENCE", "name", f"{__name__}.hook")
    for name, parameter in module.named_parameters():
        part, _, last = name.partition(".")
        assert_reads_as(checkpoint, f"model/_modules/{part}/_parameters/{last}", parameter)
    for name, buffer in module.named_buffers():
        part, _, last = name.partition(".")
        assert_reads_as(checkpoint, f"model/_modules/{part}/_buffers/{last}", buffer)


def test_that_a_whole_optimizer_shows_its_groups_and_the_moments_of_each_parameter(tmp_path: Path) -> None:
    module = torch.nn.Linear(2, 3)
    optimizer = torch.optim.Adam(module.parameters(), lr=0.125)
    module(torch.ones(4, 2)).sum().backward()
    optimizer.step()
    checkpoint = opened(tmp_path, {"optimizer": optimizer})
    shown = rows(checkpoint)
    assert shown["optimizer"][:2] == ("OBJECT", "torch.optim.adam.Adam")
    assert shown["optimizer/param_groups[0]/lr"][2] == 0.125
    assert_reads_as(checkpoint, "optimizer/param_groups[0]/params[0]", module.weight)
    nodes = checkpoint.nodes
    states = [at for at in nodes.children(checkpoint.find("optimizer/state")) if nodes.kind[at] == Kind.MAPPING]
    for at, parameter in zip(states, module.parameters(), strict=True):
        moments = {str(nodes.key[child]): nodes.value[child] for child in nodes.children(at)}
        for name, expected in optimizer.state[parameter].items():
            number = moments[name]
            assert isinstance(number, int)
            assert read_values(checkpoint, number).tolist() == expected.reshape(-1).tolist()
