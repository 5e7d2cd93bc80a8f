"""What is found without reading a value."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from tests.compare.measured import compare_files, compare_objects, rows_by_path, statuses
from viewer import open_checkpoint
from viewer.compare.results import CompareOptions, Status
from viewer.compare.task import compare_structure

STRUCTURE = CompareOptions(structure_only=True)


@pytest.mark.parametrize(
    ("a", "b", "status", "numbers"),
    [
        ((0.9, 0.999), [0.9, 0.999], "kind", True),
        (torch.Size([2]), (2,), "kind", True),
        (1, 1.0, "kind", True),
        (1, True, "kind", True),
        (1, 2.5, "kind", False),
        ("a", b"a", "kind", False),
        (None, 0, "kind", False),
        (1, 2, "changed", False),
        ("x", "y", "changed", False),
        (0.0, -0.0, "equal", True),
        (float("nan"), float("nan"), "identical", True),
        (torch.tensor(2.0), 2.0, "kind", True),
        (3, torch.tensor(2), "kind", False),
        (torch.ones(2), "text", "kind", False),
        (torch.ones(2), torch.ones(3), "shape", False),
        (torch.ones(2), torch.ones(2).double(), "dtype", True),
    ],
)
def test_that_leaves_get_their_status_and_verdict(
    a: object, b: object, status: str, numbers: bool, tmp_path: Path
) -> None:
    comparison = compare_objects(tmp_path, {"x": a}, {"x": b})
    row = rows_by_path(comparison)["x"]
    assert comparison.status(row).name.lower() == status
    assert comparison.verdicts(row)[1] is numbers


def test_that_an_empty_dict_is_not_a_missing_one(tmp_path: Path) -> None:
    assert statuses(compare_objects(tmp_path, {"e": {}}, {})) == {"e": "removed"}


def test_that_facts_beside_the_values_are_notes(tmp_path: Path) -> None:
    a = {"grad": torch.ones(2, requires_grad=True), "t": torch.ones(2, 3).t(), "p": torch.nn.Parameter(torch.ones(1))}
    b = {"grad": torch.ones(2), "t": torch.ones(3, 2), "p": torch.ones(1, requires_grad=True)}
    comparison = compare_objects(tmp_path, a, b)
    rows = rows_by_path(comparison)
    assert set(statuses(comparison).values()) == {"identical"}
    aspects = {path: {note.aspect for note in comparison.notes(row)} for path, row in rows.items()}
    assert aspects["grad"] == {"requires_grad"}
    assert aspects["t"] == {"stride"}
    assert "parameter" in aspects["p"] or "type" in aspects["p"]


def test_that_sharing_is_compared(tmp_path: Path) -> None:
    tied = torch.ones(3)
    comparison = compare_objects(tmp_path, {"x": tied, "y": tied}, {"x": tied, "y": tied.clone()})
    notes = comparison.notes(rows_by_path(comparison)["y"])
    assert [(note.aspect, note.a, note.b) for note in notes] == [
        ("sharing", "shares the storage of x", "its own storage")
    ]


def test_that_unread_is_never_identical(tmp_path: Path) -> None:
    comparison = compare_objects(tmp_path, {"x": torch.ones(2), "n": 1}, {"x": torch.zeros(2), "n": 1}, STRUCTURE)
    assert statuses(comparison) == {"x": "unread", "n": "identical"}
    assert comparison.verdict() == (None, None, None)
    assert not comparison.rows.same_checksum[rows_by_path(comparison)["x"]]


def test_that_equal_checksums_are_told_without_reading(tmp_path: Path) -> None:
    a, b = {"x": torch.ones(9), "y": torch.ones(9)}, {"x": torch.ones(9), "y": torch.zeros(9)}
    comparison = compare_objects(tmp_path, a, b, STRUCTURE)
    rows = rows_by_path(comparison)
    assert statuses(comparison) == {"x": "unread", "y": "unread"}
    assert [bool(comparison.rows.same_checksum[rows[name]]) for name in "xy"] == [True, False]


def test_that_tensor_data_is_not_touched_for_the_structure(tmp_path: Path) -> None:
    torch.save({"x": torch.ones(1000)}, tmp_path / "a.pt")
    a = open_checkpoint(tmp_path / "a.pt")
    (tmp_path / "a.pt").unlink()
    structure = compare_structure(a, a, CompareOptions())
    assert Status(structure.rows.status[1]) == Status.UNREAD


def test_that_an_unreadable_pair_says_why(tmp_path: Path) -> None:
    torch.save({"x": torch.arange(2000.0), "n": torch.ones(3)}, tmp_path / "good.pt")
    data = (tmp_path / "good.pt").read_bytes()
    from safetensors.torch import save_file

    save_file({"x": torch.arange(2000.0), "n": torch.ones(3)}, tmp_path / "cut.safetensors")
    cut = (tmp_path / "cut.safetensors").read_bytes()
    (tmp_path / "cut.safetensors").write_bytes(cut[:-4000])
    comparison = compare_files(tmp_path / "good.pt", tmp_path / "cut.safetensors")
    assert len(data) > 8000
    row = rows_by_path(comparison)["x"]
    assert comparison.status(row) == Status.UNREAD
    assert any(note.aspect == "problem" for note in comparison.notes(row))
    assert comparison.verdict()[0] is not True


def test_that_containers_of_other_kinds_hold_the_same_model(tmp_path: Path) -> None:
    from safetensors.torch import save_file

    tensors = {"layer.0.w": torch.ones(2, 2), "layer.10.w": torch.zeros(3)}
    torch.save(tensors, tmp_path / "a.pt")
    save_file(tensors, tmp_path / "b.safetensors")
    comparison = compare_files(tmp_path / "a.pt", tmp_path / "b.safetensors")
    assert comparison.verdict() == (True, True, True)
    assert next(note.aspect for note in comparison.structure.facts) == "container"


@pytest.mark.filterwarnings("ignore:Sparse invariant:UserWarning")
def test_that_sparse_tensors_are_their_parts(tmp_path: Path) -> None:
    a = torch.sparse_coo_tensor(torch.tensor([[0, 2]]), torch.tensor([1.0, 2.0]), (3,))
    b = torch.sparse_coo_tensor(torch.tensor([[0, 2]]), torch.tensor([1.0, 5.0]), (3,))
    same = compare_objects(tmp_path, {"x": a}, {"x": a.clone()})
    assert same.verdict() == (True, True, True)
    other = compare_objects(tmp_path, {"x": a}, {"x": b})
    assert other.verdict()[1] is False


def test_that_roll_ups_follow_the_results(tmp_path: Path) -> None:
    a = {"one": {"x": torch.ones(2), "y": torch.ones(2)}, "two": {"z": torch.ones(1)}}
    b = {"one": {"x": torch.ones(2), "y": torch.zeros(2)}, "two": {"z": torch.ones(1), "new": 1}}
    comparison = compare_objects(tmp_path, a, b)
    one, two = comparison.rows.children(0)
    assert comparison.counts_below(one)[Status.CHANGED] == 1
    assert comparison.counts_below(one)[Status.UNREAD] == 0
    assert comparison.counts_below(two)[Status.ADDED] == 1
    assert sum(comparison.totals()) == 4
