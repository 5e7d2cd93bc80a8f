"""`export`, `digest`, `verify` and `explain` on the command line."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.cli.running import Ran, run_main


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "model.pt"
    torch.save({"w": torch.arange(6.0).reshape(2, 3).t(), "n": 1, "h": torch.ones(3).half()}, path)
    return path


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def lines(ran: Ran, code: int = 0) -> list[str]:
    assert ran.code == code, ran.err
    return ran.out.splitlines()


def test_that_export_prints_what_sha256sum_would(capsys: pytest.CaptureFixture[str], source: Path) -> None:
    target = source.with_name("out.pth")
    ran = run_main(capsys, "export", source, target)
    assert lines(ran) == [f"{sha256(target)}  {target}"]
    assert ran.err == "checkpoint-viewer: changed: packed into rows (strides are not kept): w\n"
    assert lines(run_main(capsys, "digest", source, target)) == [
        f"{sha256(target)}  {source}",
        f"{sha256(target)}  {target}",
    ]


def test_that_the_flavour_follows_the_suffix(capsys: pytest.CaptureFixture[str], source: Path) -> None:
    from safetensors.torch import load_file

    target = source.with_name("out.safetensors")
    assert lines(run_main(capsys, "export", source, target))
    assert load_file(target)["w"].tolist() == [[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]
    other = source.with_name("other.safetensors")
    assert lines(run_main(capsys, "export", source, other, "--flavour", "pth"))
    assert other.read_bytes()[:4] == b"PK\x03\x04"  # torch.load itself goes by the suffix


def test_that_trouble_is_one_line_and_nothing_is_written(capsys: pytest.CaptureFixture[str], source: Path) -> None:
    for arguments in (
        (source, source),
        (source.with_name("missing.pt"), source.with_name("out.pth")),
        (source, source.with_name("out.pth"), "--select", "x"),
        (source, source.with_name("out.pth"), "--strip-prefix", "x."),
        (source, source.with_name("out.pth"), "--cast", "int8"),
    ):
        ran = run_main(capsys, "export", *arguments)
        assert (ran.code, ran.out, len(ran.err.splitlines())) == (2, "", 1)
    assert [path.name for path in source.parent.iterdir()] == ["model.pt"]


def test_that_a_file_is_replaced_by_force_only(capsys: pytest.CaptureFixture[str], source: Path) -> None:
    target = source.with_name("out.pth")
    target.write_bytes(b"old")
    ran = run_main(capsys, "export", source, target)
    assert ran.code == 2
    assert "--force" in ran.err
    assert target.read_bytes() == b"old"
    assert run_main(capsys, "export", source, target, "--force").code == 0


def test_that_a_dry_run_says_size_and_changes(capsys: pytest.CaptureFixture[str], source: Path) -> None:
    target = source.with_name("out.pth")
    said = lines(run_main(capsys, "export", source, target, "--dry-run", "--cast", "bfloat16"))
    assert not target.exists()
    run_main(capsys, "export", source, target, "--cast", "bfloat16")
    assert said[0].startswith(f"torch zip (.pth), {target.stat().st_size:,} bytes")
    assert said[1] == "2 tensors in 2 records, 18 bytes of data"
    assert said[2] == "loads with weights_only=True"


def test_that_a_dry_run_counts_what_a_cast_would_change(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    torch.save({"w": torch.tensor([1.0, 1.001, 1e-9]), "n": torch.arange(3)}, tmp_path / "a.pt")
    arguments = ("export", tmp_path / "a.pt", tmp_path / "b.pth", "--cast", "float16")
    before = lines(run_main(capsys, *arguments, "--dry-run"))
    assert [path.name for path in tmp_path.iterdir()] == ["a.pt"]
    assert before[-1] == "cast: w: float32 to float16, 2 of 3 values changed, the largest error is 2.34842e-05"
    assert before[-1] in run_main(capsys, *arguments).err


def test_that_casts_are_counted(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    torch.save({"w": torch.tensor([1.0, 1.001, 1e-9])}, tmp_path / "a.pt")
    ran = run_main(capsys, "export", tmp_path / "a.pt", tmp_path / "b.pth", "--cast", "float16")
    assert "w: float32 to float16, 2 of 3 values changed, the largest error is 2.34842e-05" in ran.err


def test_that_digests_go_on_after_a_file_that_cannot_be_read(
    capsys: pytest.CaptureFixture[str], source: Path
) -> None:
    ran = run_main(capsys, "digest", source.with_name("missing.pt"), source)
    assert ran.code == 2
    assert len(ran.out.splitlines()) == len(ran.err.splitlines()) == 1


def test_that_digests_of_tensors_do_not_depend_on_strides(capsys: pytest.CaptureFixture[str], source: Path) -> None:
    torch.save({"w": torch.arange(6.0).reshape(2, 3).t().contiguous()}, source.with_name("b.pt"))
    first = lines(run_main(capsys, "digest", "--tensors", source))
    second = lines(run_main(capsys, "digest", "--tensors", source.with_name("b.pt")))
    assert first[1] == second[1]
    wanted = hashlib.sha256(torch.arange(6.0).reshape(2, 3).t().contiguous().numpy().tobytes()).hexdigest()
    assert first[1] == f"  {wanted}  float32 3×2  w"


def test_that_verify_tells_sound_from_damaged_by_its_exit_code(
    capsys: pytest.CaptureFixture[str], source: Path
) -> None:
    said = lines(run_main(capsys, "verify", source))
    assert said[-1].split() == ["verdict", "sound"]
    data = bytearray(source.read_bytes())
    data[data.index(torch.ones(3).half().numpy().tobytes())] ^= 4
    source.write_bytes(data)
    damaged = lines(run_main(capsys, "verify", source), 1)
    assert any("FAULT" in line and " h: the record model/data/1: its checksum" in line for line in damaged)
    assert damaged[-1].split() == ["verdict", "1", "fault", "found"]
    assert run_main(capsys, "verify", source.with_name("missing")).code == 2


def test_that_explain_ends_in_a_verdict_and_its_exit_code(capsys: pytest.CaptureFixture[str], source: Path) -> None:
    content = torch.load(source, weights_only=True)
    torch.save(content, source.with_name("other.pt"))
    same = lines(run_main(capsys, "explain", source, source.with_name("other.pt")))
    assert same[-1].startswith("verdict: the content is the same")
    assert any(line.endswith("  unexplained") and line.split()[:2] == ["0", "0"] for line in same)
    torch.save({**content, "n": 2}, source.with_name("changed.pt"))
    changed = lines(run_main(capsys, "explain", source, source.with_name("changed.pt")), 1)
    assert changed[-1].startswith("verdict: the contents differ")


def test_that_verify_and_explain_print_json(capsys: pytest.CaptureFixture[str], source: Path) -> None:
    target = source.with_name("out.pth")
    lines(run_main(capsys, "export", source, target))
    report = json.loads(run_main(capsys, "verify", target, "--json").out)
    assert report["sound"] is report["canonical"] is True
    assert report["sha256"] == report["content_sha256"] == sha256(target)
    assert report["checksums_right"] == report["records"] == 6
    assert report["faults"] == report["deviations"] == []
    found = json.loads(run_main(capsys, "explain", source, target, "--json").out)
    assert (found["same_bytes"], found["same_content"]) == (False, True)
    assert found["content_sha256_a"] == sha256(target)
    for side in "ab":
        counted = sum(reason[f"{side}_nbytes"] for reason in found["reasons"])
        assert found[f"equal_{side}"] + counted + found[f"unexplained_{side}"] == found[f"nbytes_{side}"]


def test_that_a_fault_stands_in_json_with_its_tensor(capsys: pytest.CaptureFixture[str], source: Path) -> None:
    data = bytearray(source.read_bytes())
    data[data.index(np.arange(6, dtype=np.float32).tobytes()) + 1] ^= 1
    source.write_bytes(data)
    ran = run_main(capsys, "verify", source, "--json")
    (fault,) = json.loads("\n".join(lines(ran, 1)))["faults"]
    assert (fault["kind"], fault["path"]) == ("checksum", "w")
