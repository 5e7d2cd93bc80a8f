"""Checking files, and saying why their bytes differ."""

from __future__ import annotations

import os
import zipfile
from collections import OrderedDict
from pathlib import Path

import pytest
import torch

from tests.export.contents import digest, exported, many_dtypes, save, sha256, training_content
from viewer.errors import ViewerError
from viewer.export.explain import explain_task
from viewer.export.explain_results import Explanation
from viewer.export.verify import verify_task
from viewer.export.verify_results import VerifyReport
from viewer.task import run


def verified(path: Path) -> VerifyReport:
    return run(verify_task(path))


def explained(a: Path, b: Path) -> Explanation:
    """The explanation, of which every byte must add up."""
    found = run(explain_task(a, b))
    assert (found.a_nbytes, found.b_nbytes) == (a.stat().st_size, b.stat().st_size)
    assert found.a_same + sum(reason.a_nbytes for reason in found.reasons) + found.a_unexplained == found.a_nbytes
    assert found.b_same + sum(reason.b_nbytes for reason in found.reasons) + found.b_unexplained == found.b_nbytes
    assert found.a_same == found.b_same
    assert found.a_unexplained == found.b_unexplained == 0
    assert found.same_content == (digest(a) == digest(b))
    return found


def test_that_an_export_is_sound_and_canonical(tmp_path: Path) -> None:
    path = save(training_content() | {"all": many_dtypes()}, tmp_path / "a.pt")
    for options in ({}, {"keep_strides": True}, {"sort_keys": True}):
        result = exported(path, **options)
        report = verified(result.path)
        assert report.sound
        assert report.canonical, report.deviations
        assert report.sha256 == result.sha256
        assert report.checksums == report.records == result.plan.records + 4
    flat = exported(save({"a": torch.ones(2), "n": 1}, tmp_path / "b.pt"), flavour="safetensors")
    assert verified(flat.path).canonical


def test_that_what_torch_wrote_is_sound_and_not_canonical_for_named_reasons(tmp_path: Path) -> None:
    base = torch.arange(100.0)
    path = save({"t": base[:6].reshape(2, 3).t(), "v": base[5:10]}, tmp_path / "a.pt")
    report = verified(path)
    assert report.sound
    assert not report.canonical
    assert report.shared == 2
    said = "\n".join(report.deviations)
    assert "folder is a, not archive" in said
    assert "packed into rows" in said
    assert "overlap" in said
    assert "further records" in said
    assert report.digest == exported(path).sha256
    legacy = verified(save({"w": base}, tmp_path / "l.pt", legacy=True))
    assert legacy.deviations[0] == "the container is torch legacy"
    assert "no checksums" in legacy.notes[0]


@pytest.mark.parametrize("bit", [0, 30, 31])
def test_that_a_flipped_bit_is_found_and_named_by_tensor(tmp_path: Path, bit: int) -> None:
    path = save({"a": torch.zeros(10), "b": torch.arange(1000.0, 3000.0), "n": 1}, tmp_path / "a.pt")
    data = bytearray(path.read_bytes())
    at = data.index(torch.arange(1500.0, 1504.0).numpy().tobytes())
    data[at + bit // 8] ^= 1 << bit % 8
    path.write_bytes(data)
    report = verified(path)
    assert [(fault.kind, fault.path) for fault in report.faults] == [("checksum", "b")]
    assert "a/data/1" in report.faults[0].text


def test_that_a_damaged_record_that_holds_no_tensor_is_named(tmp_path: Path) -> None:
    path = save({"a": torch.zeros(10)}, tmp_path / "a.pt")
    data = path.read_bytes()
    path.write_bytes(data.replace(b"little", b"lixtle"))
    report = verified(path)
    assert [fault.kind for fault in report.faults] == ["checksum"]
    assert "byteorder" in report.faults[0].text


def test_that_not_a_number_and_infinity_are_counted_and_no_fault(tmp_path: Path) -> None:
    content = {
        "f32": torch.tensor([1.0, float("nan"), float("inf"), -float("inf")]),
        "bf16": torch.tensor([float("nan")] * 3).bfloat16(),
        "f8": torch.tensor([1.0, float("nan")]).to(torch.float8_e4m3fn),
        "ok": torch.ones(3, dtype=torch.float64),
        "int": torch.ones(3, dtype=torch.int64),
    }
    report = verified(save(content, tmp_path / "a.pt"))
    assert report.sound
    assert [(found.path, found.nan, found.inf) for found in report.nonfinite] == [
        ("f32", 1, 2),
        ("bf16", 3, 0),
        ("f8", 1, 0),
    ]


def test_that_missing_bytes_and_wrong_ranges_are_faults(tmp_path: Path) -> None:
    path = save({"a": 1, "b": torch.ones(100)}, tmp_path / "a.pt", legacy=True)
    os.truncate(path, path.stat().st_size - 10)
    report = verified(path)
    assert [(fault.kind, fault.path) for fault in report.faults] == [("range", "b")]
    assert report.digest == ""
    assert report.deviations[0].startswith("its content has no canonical form")
    path.write_bytes(b"")
    with pytest.raises(ViewerError):
        verified(path)


def test_that_deflated_records_are_checked(tmp_path: Path) -> None:
    path = save({"a": torch.arange(1000.0)}, tmp_path / "a.pt")
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(tmp_path / "b.pt", "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            new.writestr(name, old.read(name))
    report = verified(tmp_path / "b.pt")
    assert report.sound
    assert report.checksums == report.records
    assert "records are compressed" in report.deviations


def texts(found: Explanation) -> str:
    return "\n".join(reason.text for reason in found.reasons)


def test_that_two_names_of_one_content_are_explained_by_the_archive_folder(tmp_path: Path) -> None:
    content = {"w": torch.arange(6.0), "step": 7}
    found = explained(save(content, tmp_path / "run_a.pt"), save(content, tmp_path / "run_b.pt"))
    assert found.same_content
    assert "names of the records" in texts(found)
    assert "values" not in texts(found)
    assert "the content is the same" in found.verdict


def test_that_equal_files_need_no_reason(tmp_path: Path) -> None:
    path = save({"w": torch.ones(2)}, tmp_path / "a.pt")
    (tmp_path / "b.pt").write_bytes(path.read_bytes())
    found = explained(path, tmp_path / "b.pt")
    assert found.same_bytes
    assert found.reasons == []
    assert found.verdict == "the files are the same, byte for byte"


def test_that_each_habit_of_writing_is_named(tmp_path: Path) -> None:
    base = torch.arange(1000.0)
    name = "".join(["layer", ".weight"])
    cases = {
        "keys of the storages": (
            save({"w": base, "b": torch.ones(1)}, tmp_path / "l1.pt", legacy=True),
            save({"w": base.clone(), "b": torch.ones(1)}, tmp_path / "l2.pt", legacy=True),
        ),
        "string identity": (
            save({"n": ["layer.weight"] * 2}, tmp_path / "a.pt"),
            save({"n": ["layer.weight", name]}, tmp_path / "a2.pt"),
        ),
        "strides": (
            save({"t": base[:6].clone().reshape(2, 3).t()}, tmp_path / "b.pt"),
            save({"t": base[:6].clone().reshape(2, 3).t().contiguous()}, tmp_path / "b2.pt"),
        ),
        "storages of another size": (
            save({"v": base[:4]}, tmp_path / "c.pt"),
            save({"v": base[:4].clone()}, tmp_path / "c2.pt"),
        ),
        "share one": (
            save({"v": base[:4], "w": base[4:8]}, tmp_path / "d.pt"),
            save({"v": base[:4].clone(), "w": base[4:8].clone()}, tmp_path / "d2.pt"),
        ),
    }
    for words, (a, b) in cases.items():
        found = explained(a, b)
        assert found.same_content, words
        assert words in texts(found)


def test_that_differences_of_content_are_named(tmp_path: Path) -> None:
    with_metadata = OrderedDict(w=torch.ones(2))
    with_metadata._metadata = {"": {"version": 1}}  # type: ignore[attr-defined]
    base = {"w": torch.ones(2), "n": 1}
    cases = {
        "values differ: w": (base, {"w": torch.tensor([1.0, 2.0]), "n": 1}),
        "shape or dtype differs: w": (base, {"w": torch.ones(2, dtype=torch.float64), "n": 1}),
        "only the second file has v": (base, {**base, "v": torch.ones(1)}),
        "the order of keys differs": (base, {"n": 1, "w": torch.ones(2)}),
        "the structure differs": (base, {**base, "n": 2}),
        "attributes of dicts": (OrderedDict(w=torch.ones(2)), with_metadata),
        "1 tensors differ in requires_grad or in being a Parameter": (
            base,
            {"w": torch.nn.Parameter(torch.ones(2)), "n": 1},
        ),
    }
    for nth, (words, (a, b)) in enumerate(cases.items()):
        found = explained(save(a, tmp_path / f"a{nth}.pt"), save(b, tmp_path / f"b{nth}.pt"))
        assert not found.same_content
        assert words in "\n".join(found.content), found.content


def test_that_files_of_different_containers_are_accounted_for(tmp_path: Path) -> None:
    content = training_content()
    a, b = save(content, tmp_path / "a.pt"), save(content, tmp_path / "b.pt", legacy=True)
    c, d = exported(a).path, exported(a, flavour="safetensors").path
    for other in (b, c, d):
        found = explained(a, other)
        assert found.same_content
        assert found.a_same > 0


def test_that_a_single_changed_byte_is_found_where_it_is(tmp_path: Path) -> None:
    path = exported(save({"a": torch.zeros(1000), "b": torch.zeros(10)}, tmp_path / "a.pt")).path
    data = bytearray(path.read_bytes())
    at = data.index(bytes(4000)) + 2001
    data[at] = 1
    (tmp_path / "b.pth").write_bytes(data)
    found = explained(path, tmp_path / "b.pth")
    assert [(reason.text, reason.a_nbytes, reason.a_at, reason.where) for reason in found.reasons] == [
        ("values of tensors", 1, at, "a")
    ]
    assert sha256(path) != sha256(tmp_path / "b.pth")
