"""`show --json` says of a file what torch says of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from tests.cli.files import every_dtype, jsonable, nodes_of, save, training_checkpoint
from tests.cli.running import run_main


@pytest.mark.parametrize("legacy", [False, True], ids=["zip", "legacy"])
def test_that_every_node_is_there_in_order_as_torch_loads_it(
    legacy: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = save(training_checkpoint(), tmp_path / "run.pth", legacy=legacy)
    entries = run_main(capsys, "show", path, "--json").json["entries"]
    expected = list(nodes_of(torch.load(path, weights_only=True)))
    assert [json.dumps(entry["keys"]) for entry in entries] == [keys for keys, _ in expected]
    for entry, (_, node) in zip(entries, expected, strict=True):
        if isinstance(node, torch.Tensor):
            assert entry["kind"] == "tensor"
            assert entry["dtype"] == str(node.dtype).removeprefix("torch.")
            assert entry["shape"] == list(node.shape)
            assert entry["stride"] == list(node.stride())
            assert entry["storage_offset"] == node.storage_offset()
            assert entry["numel"] == node.numel()
            assert entry["nbytes"] == node.numel() * node.element_size()
            assert entry["device"] == str(node.device)
            assert entry["requires_grad"] == node.requires_grad
        else:
            assert entry["kind"].rpartition(".")[2] == type(node).__name__
            if not isinstance(node, (dict, list, tuple)):
                assert entry["value"] == jsonable(node)


@pytest.mark.parametrize("legacy", [False, True], ids=["zip", "legacy"])
def test_that_the_head_has_what_it_promises(legacy: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = save(training_checkpoint(), tmp_path / "run.pth", legacy=legacy)
    report = run_main(capsys, "show", path, "--json").json
    assert report["file"] == str(path)
    assert report["container"] == ("torch legacy" if legacy else "torch zip")
    assert report["nbytes"] == path.stat().st_size
    assert "torch._utils._rebuild_tensor_v2" in report["globals"]
    assert report["globals"] == sorted(report["globals"])
    assert report["warnings"] == []
    assert "stats" not in report["entries"][1]
    assert "values" not in report["entries"][1]


def test_that_values_are_the_first_elements_in_logical_order(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tensors = every_dtype() | training_checkpoint()["views"] | training_checkpoint()["odd"]
    path = save(tensors, tmp_path / "values.pth")
    for count in (0, 1, 3, 1000):
        entries = run_main(capsys, "show", path, "--json", "--values", str(count)).entries
        for name, tensor in tensors.items():
            expected = [jsonable(element) for element in tensor.flatten()[:count].tolist()]
            assert entries[name]["values"] == expected, name
            assert [type(a) for a in entries[name]["values"]] == [type(b) for b in expected], name


def test_that_values_of_a_large_tensor_come_from_all_its_chunks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tensor = torch.arange(300_000, dtype=torch.int32).view(500, 600).t()
    path = save([tensor], tmp_path / "large.pth")
    entries = run_main(capsys, "show", path, "--json", "--values", "250000").entries
    assert entries["[0]"]["values"] == tensor.flatten()[:250_000].tolist()


def test_that_only_the_part_at_the_path_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = save(training_checkpoint(), tmp_path / "run.pth")
    whole = run_main(capsys, "show", path, "--json").entries
    part = run_main(capsys, "show", path, "--json", "--path", "optimizer/state[0]").entries
    assert next(iter(part)) == "optimizer/state[0]"
    assert part == {name: entry for name, entry in whole.items() if name.startswith("optimizer/state[0]")}
    assert len(part) == 4


def test_that_a_shared_tensor_has_its_values_under_every_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tied = torch.tensor([1.5, 2.5])
    path = save({"a": tied, "b": {"c": tied}}, tmp_path / "tied.pth")
    entries = run_main(capsys, "show", path, "--json", "--values", "2", "--stats").entries
    assert entries["a"]["values"] == entries["b/c"]["values"] == [1.5, 2.5]
    assert entries["a"]["stats"] == entries["b/c"]["stats"]
    assert entries["a"]["storage"] == entries["b/c"]["storage"]
