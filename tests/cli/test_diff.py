"""`checkpoint-viewer diff`: output, options and exit codes."""

from __future__ import annotations

import csv
import io
import json
import os
from pathlib import Path

import pytest
import torch

from viewer.cli.main import main


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    base = {"w": torch.tensor([1.0, 2.0, 3.0]), "b": torch.zeros(2), "step": 7, "lr": 1e-3}
    objects = {
        "base": base,
        "same": base,
        "signed": {**base, "b": torch.tensor([0.0, -0.0])},
        "changed": {**base, "w": torch.tensor([1.0, 2.0, 3.5]), "step": 8, "lr": 5e-4},
        "near": {**base, "w": torch.tensor([1.0, 2.0, 3.0001])},
        "extra": {**base, "new": 1},
        "ddp": {f"module.{name}": value for name, value in base.items()},
        "half": {**base, "w": base["w"].half()},
    }
    for name, value in objects.items():
        torch.save(value, tmp_path / f"{name}.pt")
    return {name: str(tmp_path / f"{name}.pt") for name in objects}


def entries(text: str) -> dict[str, dict[str, object]]:
    return {entry["path"]: entry for entry in json.loads(text)["entries"]}


@pytest.mark.parametrize(
    ("name", "options", "code"),
    [
        ("same", [], 0),
        ("signed", [], 0),
        ("half", [], 0),
        ("changed", [], 1),
        ("extra", [], 1),
        ("extra", ["--structure"], 1),
        ("changed", ["--structure", "--select", "w"], 0),
        ("near", [], 1),
        ("near", ["--atol", "0.001"], 0),
        ("near", ["--rtol", "1e-9"], 1),
        ("ddp", [], 1),
        ("ddp", ["--map", r"^module\.=>"], 0),
        ("changed", ["--select", "b"], 0),
        ("changed", ["--select", "w", "--select", "b"], 1),
    ],
)
def test_that_the_exit_code_is_the_verdict(
    files: dict[str, str], name: str, options: list[str], code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["diff", files["base"], files[name], *options]) == code
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--map", "x"], "is not a rename rule"),
        (["--map", "(=>x"], "regular expression"),
        (["--map", "a{99999999999999}=>x"], "regular expression"),
        (["--map", "(" * 3000 + ")" * 3000 + "=>x"], "regular expression"),
        (["--map", r"(a)=>\2"], "invalid group reference"),
        (["--select", "nowhere"], "nothing is at 'nowhere'"),
        (["--rtol", "-1"], "is not a number"),
        (["--rtol", "1", "--preset"], "exclude each other"),
        (["--structure", "--top", "3"], "--structure reads none"),
        (["--html", "."], "it is a folder"),
    ],
)
def test_that_trouble_is_one_line_and_code_2(
    files: dict[str, str], options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["diff", files["base"], files["same"], *options]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert message in captured.err


def test_that_a_missing_file_is_trouble(files: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", files["base"], files["base"] + "x"]) == 2


def test_that_json_has_verdicts_and_measures(files: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    main(["diff", files["base"], files["changed"], "--json", "--top", "1"])
    text = capsys.readouterr().out
    report = json.loads(text)
    assert (report["same_bits"], report["same_numbers"]) == (False, False)
    found = entries(text)["w"]
    assert found["path_b"] == "w"
    assert (found["status"], found["bits"], found["numbers"]) == ("changed", False, False)
    assert (found["count_differ"], found["max_abs"], found["max_abs_index"]) == (1, 0.5, 2)
    for name in ("mean_abs", "rms", "rel_norm", "cosine", "max_ulp"):
        assert isinstance(found[name], (int, float))
    assert found["top"] == [{"index": 2, "position": [2], "a": 3.0, "b": 3.5, "difference": 0.5, "ulp": 1 << 21}]
    step = entries(text)["step"]
    assert (step["status"], step["value"], step["value_b"], step["max_abs"]) == ("changed", 7, 8, 1)
    assert entries(text)["b"]["status"] == "identical"


def test_that_json_statuses_are_those_of_the_documentation(
    files: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    wanted = {"signed": ("b", "equal"), "half": ("w", "dtype"), "extra": ("new", "added")}
    for name, (path, status) in wanted.items():
        main(["diff", files["base"], files[name], "--json"])
        assert entries(capsys.readouterr().out)[path]["status"] == status
    main(["diff", files["extra"], files["base"], "--json"])
    removed = entries(capsys.readouterr().out)["new"]
    assert (removed["status"], removed["path_b"]) == ("removed", None)
    main(["diff", files["base"], files["near"], "--json", "--atol", "0.1"])
    assert entries(capsys.readouterr().out)["w"]["status"] == "close"
    main(["diff", files["base"], files["near"], "--json", "--structure"])
    text = capsys.readouterr().out
    assert entries(text)["w"]["status"] == "unread"
    assert json.loads(text)["same_numbers"] is None


def test_that_text_tells_the_changes_and_the_rule_that_would_help(
    files: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    main(["diff", files["base"], files["changed"]])
    text = capsys.readouterr().out
    assert "step from 7 to 8; lr from 0.001 to 0.0005" in text
    assert "1 of 3" in text
    main(["diff", files["base"], files["ddp"]])
    assert r"--map 'b:^module\.=>' would match 2 more tensors" in capsys.readouterr().out


def test_that_csv_has_a_line_for_each_entry(files: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    main(["diff", files["base"], files["changed"], "--csv"])
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [row["path"] for row in rows] == ["w", "b", "step", "lr"]
    assert rows[0]["max_abs"] == "0.5"


def test_that_the_html_report_is_one_file_without_scripts(
    files: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    torch.save({"<script>alert(1)</script>": torch.ones(1)}, tmp_path / "evil.pt")
    target = tmp_path / "report.html"
    main(["diff", files["base"], str(tmp_path / "evil.pt"), "--html", str(target)])
    page = target.read_text(encoding="utf-8")
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert "default-src 'none'" in page
    assert [path.name for path in tmp_path.glob(".*")] == []
    assert main(["diff", files["base"], files["same"], "--html", str(tmp_path / "no" / "r.html")]) == 2


def test_that_one_file_is_compared_with_itself_by_parts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    torch.save({"live": {"w": torch.ones(2)}, "ema": {"w": torch.zeros(2)}}, tmp_path / "run.ckpt")
    path = str(tmp_path / "run.ckpt")
    assert main(["diff", path, path, "--select", "live", "--select", "ema", "--json"]) == 1
    entry = entries(capsys.readouterr().out)["live/w"]
    assert (entry["path_b"], entry["max_abs"]) == ("ema/w", 1.0)


def test_that_text_shows_two_long_texts_where_they_part(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [f"option {number} = {number}" for number in range(500)]
    for name, value in (("a", "half"), ("b", "full")):
        text = "\n".join([*lines, f"precision = {value}", *lines])
        torch.save({"config": text}, tmp_path / f"{name}.pt")
    assert main(["diff", str(tmp_path / "a.pt"), str(tmp_path / "b.pt")]) == 1
    (row,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("≠")]
    assert "half\\no" in row
    assert "full\\no" in row


def test_that_what_cannot_be_read_is_said_with_its_reason(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole, cut = tmp_path / "whole.pt", tmp_path / "cut.pt"
    torch.save({"first": torch.ones(4), "second": torch.ones(4000)}, whole)
    cut.write_bytes(whole.read_bytes()[:6000])
    assert main(["diff", str(cut), str(whole)]) == 2
    captured = capsys.readouterr()
    assert "same 2 tensors, 1 bit-identical, 1 that cannot be read" in captured.out
    assert "second (a) cannot be read: the file breaks off" in captured.out
    assert "not compared yet" not in captured.out
    assert "some values cannot be read" in captured.err


def test_that_two_empty_files_are_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("a.pt", "b.pt"):
        torch.save({}, tmp_path / name)
    assert main(["diff", str(tmp_path / "a.pt"), str(tmp_path / "b.pt")]) == 0
    assert "the only entry is the same" in capsys.readouterr().out


def test_that_a_report_does_not_take_the_place_of_a_device(
    files: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    device = tmp_path / "device"
    os.mkfifo(device)
    assert main(["diff", files["base"], files["changed"], "--html", str(device)]) == 2
    assert "it is not an ordinary file" in capsys.readouterr().err
    assert device.is_fifo()


def test_that_one_form_is_printed(files: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", files["base"], files["changed"], "--json", "--csv"]) == 2
    assert capsys.readouterr().err.count("\n") == 1
