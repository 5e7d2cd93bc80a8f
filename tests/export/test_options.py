"""What may be chosen: parts, objects, prefixes, casts."""

from __future__ import annotations

import datetime
import struct
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.export.contents import digest, exported, loaded, same, same_bits, save, training_content
from viewer.errors import ViewerError
from viewer.export.options import ExportOptions, ExportRefused
from viewer.export.save import export_task, plan_task
from viewer.task import run


class Config:
    """An object of a class that is not known."""

    def __init__(self) -> None:
        self.lr = 0.1
        self.layers = [1, 2]


def test_that_objects_are_refused_with_their_paths_unless_something_else_is_chosen(tmp_path: Path) -> None:
    path = save({"a": {"cfg": Config()}, "list": [1, Config()], "w": torch.ones(2)}, tmp_path / "a.pt")
    with pytest.raises(ExportRefused, match=r"a/cfg: an object of the class .*Config; list\[1\]: an object"):
        run(export_task(path, tmp_path / "out.pth"))
    assert not (tmp_path / "out.pth").exists()
    plain = loaded(exported(path, objects="plain").path)
    assert plain["a"]["cfg"] == {"lr": 0.1, "layers": [1, 2]}
    dropped = loaded(exported(path, objects="drop").path)
    assert dropped["a"] == {}
    assert dropped["list"] == [1, None]
    kept = exported(path, objects="keep")
    assert not kept.plan.weights_only
    assert sum(found.kind == "needs-trust" for found in kept.plan.findings) == 2


def test_that_plain_data_of_other_libraries_becomes_what_weights_only_loads(tmp_path: Path) -> None:
    array = np.arange(6, dtype=np.int16).reshape(2, 3)
    content = {
        "scalar": np.float64(0.5),
        "array": array,
        "words": np.array(["a", "bc"]),
        "when": datetime.date(2024, 5, 6),
        "moment": datetime.datetime(2024, 5, 6, 7, tzinfo=datetime.UTC),
        "dtype": np.dtype("float32"),
        "frozen": frozenset({1}),
    }
    path = save(content, tmp_path / "a.pt")
    known = exported(path)
    assert torch.load(known.path, weights_only=False)["array"].tolist() == array.tolist()
    result = exported(path, objects="plain")
    found = torch.load(result.path, weights_only=False)
    assert found["scalar"] == 0.5
    assert type(found["scalar"]) is float
    assert same_bits(found["array"], torch.from_numpy(array))
    assert found["when"] == "2024-05-06"
    assert found["moment"].startswith("2024-05-06 07:00:00")
    assert found["dtype"] == "f4"
    assert found["words"]["shape"] == (2,)


def test_that_a_part_is_written_by_its_path(tmp_path: Path) -> None:
    content = training_content()
    path = save(content, tmp_path / "a.pt")
    assert same(loaded(exported(path, select="model").path), content["model"])
    assert same(
        loaded(exported(path, select="optimizer/state[0]/exp_avg").path), content["optimizer"]["state"][0]["exp_avg"]
    )
    assert loaded(exported(path, select="names").path) == content["names"]


def test_that_the_ready_choices_find_what_they_say(tmp_path: Path) -> None:
    content = {**training_content(), "ema_state_dict": {"w": torch.ones(1)}, "lr_scheduler": {"last_epoch": 1}}
    path = save(content, tmp_path / "a.pt")
    assert same(loaded(exported(path, part="model").path), content["model"])
    assert same(loaded(exported(path, part="ema").path), content["ema_state_dict"])
    rest = exported(path, part="no-optimizer")
    assert list(loaded(rest.path)) == [key for key in content if key not in ("optimizer", "lr_scheduler")]
    assert [found.text for found in rest.plan.findings if found.kind == "dropped"] == [
        "the entry 'optimizer'",
        "the entry 'lr_scheduler'",
    ]
    flat = save(content["model"], tmp_path / "flat.pt")
    assert same(loaded(exported(flat, part="model").path), content["model"])
    for part in ("ema", "no-optimizer"):
        with pytest.raises(ViewerError):
            run(plan_task(flat, ExportOptions(part=part)))  # type: ignore[arg-type]


def test_that_prefixes_are_changed_in_keys_and_metadata(tmp_path: Path) -> None:
    model = torch.nn.DataParallel(torch.nn.BatchNorm1d(2))
    path = save(model.state_dict(), tmp_path / "a.pt")
    bare: Any = loaded(exported(path, strip_prefix="module.").path)
    assert same(bare, model.module.state_dict())
    assert bare._metadata[""] == {"version": 2}
    both: Any = loaded(exported(path, strip_prefix="module.", add_prefix="net.").path)
    assert list(both) == [f"net.{key}" for key in bare]
    assert both._metadata["net"] == {"version": 2}
    with pytest.raises(ExportRefused, match="no key begins with"):
        run(plan_task(path, ExportOptions(strip_prefix="x.")))
    clash = save({"a.w": torch.ones(1), "w": torch.zeros(1)}, tmp_path / "clash.pt")
    with pytest.raises(ExportRefused, match="two of the keys are 'w'"):
        run(plan_task(clash, ExportOptions(strip_prefix="a.")))


@pytest.mark.parametrize("target", ["float64", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2"])
def test_that_a_cast_writes_what_torch_makes_and_counts_what_it_changes(tmp_path: Path, target: str) -> None:
    torch.manual_seed(1)
    values = torch.cat([torch.randn(10_000), torch.tensor([float("nan"), float("inf"), 1e30, -0.0, 1.0])])
    content = {"w": values, "t": values[:6].reshape(2, 3).t(), "i": torch.arange(3)}
    result = exported(save(content, tmp_path / "a.pt"), cast=target)
    again = loaded(result.path)
    dtype = getattr(torch, target)
    assert same_bits(again["w"], values.to(dtype))
    assert same_bits(again["t"], content["t"].to(dtype))
    assert same_bits(again["i"], content["i"])
    cast = {entry.path: entry for entry in result.casts}["w"]
    exact = [struct.unpack("<f", raw)[0] for raw in struct.iter_unpack("4s", values.numpy().tobytes()) for raw in raw]
    given = values.to(dtype).to(torch.float64).tolist()
    pairs = list(zip(exact, given, strict=True))
    assert cast.changed == sum(x != y and not (x != x and y != y) for x, y in pairs)
    errors = [abs(x - y) for x, y in pairs if abs(x) < float("inf") and abs(y) < float("inf")]
    assert cast.largest_error == max(errors)
    assert cast.became_infinite == sum(abs(x) < float("inf") and abs(y) == float("inf") for x, y in pairs)
    assert (cast.source, cast.target, cast.numel) == ("float32", target, 10_005)


def test_that_sorted_keys_are_sorted_everywhere(tmp_path: Path) -> None:
    content = {"b": OrderedDict(z=1, a=2), "a": {2: 1, 1: 2, "x": 3, None: 4}}
    again = loaded(exported(save(content, tmp_path / "a.pt"), sort_keys=True).path)
    assert list(again) == ["a", "b"]
    assert list(again["b"]) == ["a", "z"]
    assert list(again["a"]) == [None, 1, 2, "x"]
    assert digest(save(again, tmp_path / "b.pt")) == digest(tmp_path / "a.pt", sort_keys=True)


def test_that_a_plan_says_what_would_be_written_and_writes_nothing(tmp_path: Path) -> None:
    base = torch.arange(1000.0)
    path = save({"v": base[:10], "t": base[:6].reshape(2, 3).t(), "cfg": Config()}, tmp_path / "a.pt")
    plan = run(plan_task(path, ExportOptions(objects="drop")))
    assert plan.nbytes == exported(path, objects="drop").nbytes
    assert (plan.tensors, plan.records, plan.data_nbytes) == (2, 2, 64)
    kinds = {found.kind: found.text for found in plan.findings}
    assert "packed into rows" in kinds["changed"]
    assert "overlap" in kinds["separated"]
    assert kinds["dropped"].startswith("an object of the class")
    refused = run(plan_task(path, ExportOptions()))
    assert [found.path for found in refused.obstacles] == ["cfg"]
    assert refused.nbytes == 0


def test_that_what_a_safetensors_file_cannot_hold_is_listed_before_writing(tmp_path: Path) -> None:
    content = {"ok": torch.ones(2), "c": torch.ones(1, dtype=torch.complex128), "m": torch.empty(2, device="meta")}
    path = save(content, tmp_path / "a.pt")
    plan = run(plan_task(path, ExportOptions(flavour="safetensors")))
    assert [found.path for found in plan.obstacles] == ["c", "m"]
    with pytest.raises(ExportRefused, match="complex128"):
        run(export_task(path, tmp_path / "a.safetensors", ExportOptions(flavour="safetensors")))
    exported(path, tmp_path / "a.safetensors", flavour="safetensors", objects="drop")


class Items(list):  # type: ignore[type-arg]
    """A list with attributes, one of them named as what it holds is named."""


def test_that_plain_forms_of_objects_are_sorted_and_hold_no_name_twice(tmp_path: Path) -> None:
    items = Items([1, 2])
    items.items = "mine"  # type: ignore[attr-defined]
    content = {"items": items, "rows": np.array([(1, 2.0)], dtype=[("b", "i4"), ("a", "f8")]), "c": Config()}
    path = save(content, tmp_path / "a.pt")
    for options in ({}, {"sort_keys": True}):
        once = exported(path, tmp_path / "b.pth", objects="plain", **options)
        assert loaded(once.path)["items"] == {"items": "mine", "items_": [1, 2]}
        assert exported(once.path, tmp_path / "c.pth", **options).sha256 == once.sha256
    assert list(loaded(once.path)["rows"]) == ["data", "shape"]


class Made:
    """An object that pickle makes by a method of its class."""

    @classmethod
    def of(cls, name: str) -> Made:
        made = cls()
        made.name = name
        return made

    name = ""

    def __reduce__(self) -> tuple[Any, ...]:
        return Made.of, (self.name,)


def test_that_a_method_that_a_pickle_calls_is_called_by_the_export_as_well(tmp_path: Path) -> None:
    path = save({"it": Made.of("x")}, tmp_path / "a.pt")
    once = exported(path, tmp_path / "b.pth", objects="keep")
    assert loaded(once.path, weights_only=False)["it"].name == "x"
    assert exported(once.path, tmp_path / "c.pth", objects="keep").sha256 == once.sha256
    assert digest(path) == once.sha256
