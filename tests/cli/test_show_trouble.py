"""What cannot be read is one line and exit code 2; what can be read in part is shown, with a warning."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import pytest
import torch

from tests.cli.files import save, training_checkpoint
from tests.cli.running import run_main


class Attack:
    """Unpickles into a call of os.mkdir."""

    def __init__(self, target: Path) -> None:
        self.target = target

    def __reduce__(self) -> tuple[object, ...]:
        return os.mkdir, (str(self.target),)


UNREADABLE = {
    "empty": b"",
    "words": b"hello world, this is not a checkpoint\n",
    "html": b"<!DOCTYPE html><html><body>404</body></html>",
    "lfs": b"version https://git-lfs.github.com/spec/v1\noid sha256:abc\nsize 12\n",
    "zip end only": b"PK\x05\x06" + bytes(18),
    "huge memo": b"\x80\x02Nr\xff\xff\xff\x7f.",
    "random": bytes(range(128, 256)) * 20,
}


@pytest.mark.parametrize("content", UNREADABLE.values(), ids=UNREADABLE)
@pytest.mark.parametrize("extra", [[], ["--json"]], ids=["text", "json"])
def test_that_what_is_no_checkpoint_is_one_line_and_exit_code_2(
    content: bytes, extra: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "model.pth"
    path.write_bytes(content)
    ran = run_main(capsys, "show", path, *extra)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("checkpoint-viewer: model.pth: ")
    assert ran.err.count("\n") == 1
    assert "unexpected" not in ran.err


def test_that_a_missing_file_and_a_forbidden_one_are_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for path in (tmp_path / "missing.pth", tmp_path / "model.pth" / "below a file", tmp_path / "nul\x00.pth"):
        (tmp_path / "model.pth").write_bytes(b"x")
        ran = run_main(capsys, "show", path)
        assert (ran.code, ran.out) == (2, "")
        assert ran.err.count("\n") == 1
        assert "unexpected" not in ran.err


@pytest.mark.parametrize("protocol", range(6))
def test_that_a_hostile_pickle_runs_nothing(
    protocol: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    canary = tmp_path / "canary"
    path = tmp_path / "evil.pkl"
    path.write_bytes(pickle.dumps({"x": Attack(canary)}, protocol=protocol))
    ran = run_main(capsys, "show", path, "--json", "--stats", "--values", "3")
    assert not canary.exists()
    report = ran.json
    assert [name for name in report["globals"] if name.endswith(".mkdir")] == report["globals"]
    assert [use["harmless"] for use in report["global_details"]] == [False]


def test_that_a_hostile_checkpoint_shows_its_tree_and_names_the_class(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    canary = tmp_path / "canary"
    path = save({"w": torch.ones(3), "x": Attack(canary)}, tmp_path / "evil.pth")
    ran = run_main(capsys, "show", path)
    assert not canary.exists()
    assert (ran.code, ran.err) == (0, "")
    assert "1 of them not known to be harmless" in ran.out
    assert ".mkdir" in ran.out


def test_that_a_truncated_file_is_shown_in_part_with_a_warning(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tensors = {f"w{number}": torch.full((1000,), float(number)) for number in range(5)}
    whole = save(tensors, tmp_path / "whole.pth", legacy=True).read_bytes()
    path = tmp_path / "cut.pth"
    path.write_bytes(whole[:-6000])
    ran = run_main(capsys, "show", path, "--json", "--stats", "--values", "1")
    report = ran.json
    entries = ran.entries
    assert report["warnings"]
    unread = [name for name in tensors if "problem" in entries[name]]
    assert len(unread) == 2  # of 4,000 bytes each; storages lie in the order of their keys, which are addresses
    for name, tensor in tensors.items():
        assert entries[name]["shape"] == [1000]
        if name in unread:
            assert (entries[name]["stats"], entries[name]["values"]) == (None, [])
        else:
            assert entries[name]["stats"]["max"] == tensor.max().item()
            assert entries[name]["values"] == [tensor[0].item()]
    text = run_main(capsys, "show", path, "--stats")
    assert (text.code, text.err) == (0, "")
    assert "! " in text.out.splitlines()[-1]


def test_that_a_truncated_zip_is_shown_in_part_or_refused_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = save(training_checkpoint(), tmp_path / "whole.pth").read_bytes()
    path = tmp_path / "cut.pth"
    for kept in (10, len(whole) // 2, len(whole) - 30):
        path.write_bytes(whole[:kept])
        ran = run_main(capsys, "show", path, "--json")
        if ran.code == 0:
            assert ran.json["warnings"]
        else:
            assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
            assert "unexpected" not in ran.err
