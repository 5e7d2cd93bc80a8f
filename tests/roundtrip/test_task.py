"""The whole check on files: what is rebuilt, what is tried, what is left behind."""

from __future__ import annotations

import collections
import subprocess
import tempfile
from pathlib import Path

import pytest
import torch

from tests.roundtrip.tricky import tricky
from viewer import open_checkpoint
from viewer.errors import ViewerError
from viewer.interpreter import module_command
from viewer.roundtrip.live import live_task
from viewer.roundtrip.results import LARGE_NBYTES, RoundTrip, WayResult
from viewer.roundtrip.scratch import PREFIX
from viewer.roundtrip.task import keep_copy_task, roundtrip_task
from viewer.task import run

pytestmark = pytest.mark.filterwarnings("ignore")


def _left() -> set[str]:
    return {folder.name for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*")}


def _tried(path: Path, part: str = "", **options: object) -> RoundTrip:
    checkpoint = open_checkpoint(path)
    found = run(roundtrip_task(checkpoint, checkpoint.find(part), **options))  # type: ignore[arg-type]
    assert isinstance(found, RoundTrip)
    return found


def _way(found: RoundTrip, name: str) -> WayResult:
    return next(result for result in found.ways if result.way.name == name)


@pytest.mark.parametrize("legacy", [False, True])
def test_that_what_is_rebuilt_is_what_torch_loads(tmp_path: Path, legacy: bool) -> None:
    saved = {key: tensor for key, tensor in tricky().items() if key not in {"float8", "quantized"} or not legacy}
    saved |= {"tied": saved["plain"], "inside": collections.OrderedDict(a=[1, (2.5, "x", None)])}  # type: ignore[dict-item]
    torch.save(saved, tmp_path / "x.pth", _use_new_zipfile_serialization=not legacy)
    loaded = torch.load(tmp_path / "x.pth", weights_only=True)
    live = run(live_task(open_checkpoint(tmp_path / "x.pth"), 0, "cpu"))
    made = live.root
    assert not live.left_out
    assert isinstance(made, dict)
    assert list(made) == list(loaded)
    assert made["inside"] == loaded["inside"]
    assert type(made["inside"]) is type(loaded["inside"])
    assert made["tied"] is made["plain"]
    for key in saved:
        ours, theirs = made[key], loaded[key]
        if not isinstance(theirs, torch.Tensor):
            continue
        assert (ours.dtype, ours.shape, ours.layout) == (theirs.dtype, theirs.shape, theirs.layout), key
        assert (type(ours), ours.requires_grad, ours.is_conj()) == (
            type(theirs), theirs.requires_grad, theirs.is_conj()
        )  # fmt: skip
        if theirs.layout == torch.strided:
            assert (ours.stride(), ours.storage_offset()) == (theirs.stride(), theirs.storage_offset()), key
            assert ours.untyped_storage().tolist() == theirs.untyped_storage().tolist(), key
        else:
            assert torch.equal(ours.to_dense(), theirs.to_dense())


def test_that_objects_of_other_classes_are_left_out_and_said(tmp_path: Path) -> None:
    import argparse

    torch.save({"args": argparse.Namespace(lr=1), "w": torch.ones(2), 7: torch.zeros(1)}, tmp_path / "x.pth")
    live = run(live_task(open_checkpoint(tmp_path / "x.pth"), 0, "cpu"))
    assert list(live.root) == ["w", 7]  # type: ignore[call-overload]
    assert len(live.left_out) == 1
    assert live.left_out[0].startswith("args: ")
    checkpoint = open_checkpoint(tmp_path / "x.pth")
    with pytest.raises(ViewerError, match="nothing here can be saved"):
        run(live_task(checkpoint, checkpoint.find("args"), "cpu"))


def test_that_shared_containers_are_rebuilt_once_and_cycles_are_left_out(tmp_path: Path) -> None:
    shared = {"w": torch.ones(2), "n": [1, 2]}
    cycle: dict[str, object] = {"x": 1}
    cycle["self"] = cycle
    torch.save({"a": shared, "b": shared, "c": cycle, "f": torch.nn.Linear}, tmp_path / "x.pth")
    checkpoint = open_checkpoint(tmp_path / "x.pth")
    live = run(live_task(checkpoint, 0, "cpu"))
    made = live.root
    assert isinstance(made, dict)
    assert made["b"] is made["a"]
    assert made["a"]["n"] == [1, 2]
    assert made["c"] == {"x": 1}
    of_f = "f: the name of a class or function is no plain container, tensor or scalar"
    assert live.left_out == ["c/self: it contains itself", of_f]
    found = _tried(tmp_path / "x.pth", "b", ways=("torch.save",))
    assert (found.n_tensors, found.nbytes) == (1, 8)


def test_that_a_file_goes_through_all_ways_and_nothing_is_left(tmp_path: Path) -> None:
    before = _left()
    tied = torch.randn(3)
    torch.save({"a": tied, "b": tied, "n": torch.tensor([float("nan")])}, tmp_path / "x.pth")
    found = _tried(tmp_path / "x.pth")
    assert _left() == before
    assert not found.lost
    assert found.n_tensors == 3
    legacy, canonical = _way(found, "torch.save-legacy"), _way(found, "canonical-pth")
    assert legacy.bytes_reproducible is False
    assert legacy.first_difference >= 0
    assert "memory address" in legacy.reason
    assert canonical.bytes_reproducible is True
    assert _way(found, "torch.save").bytes_reproducible is True
    assert _way(found, "pickle-4").bytes_reproducible is False
    assert _way(found, "safetensors").error
    assert not _way(found, "safetensors").lost  # it refuses: nothing is lost
    assert "sharing" in _way(found, "npy").changed
    assert _way(found, "detach").shares_memory is True
    assert _way(found, "clone").shares_memory is False


def test_that_chosen_ways_come_one_by_one_and_bytes_are_not_compared_unless_asked(tmp_path: Path) -> None:
    torch.save({"w": torch.randn(8)}, tmp_path / "x.pth")
    checkpoint = open_checkpoint(tmp_path / "x.pth")
    partials = []
    task = roundtrip_task(checkpoint, 0, ways=("clone", "torch.save"), check_bytes=False)
    found = run(task, lambda progress: partials.append(progress.partial))
    assert [part.way.name for part in partials if isinstance(part, WayResult)] == ["clone", "torch.save"]
    assert _way(found, "torch.save").bytes_reproducible is None
    assert "not asked for" in _way(found, "torch.save").reason
    with pytest.raises(ViewerError, match="'nonsense' is no way"):
        run(roundtrip_task(checkpoint, 0, ways=("nonsense",)))


def test_that_a_cast_is_not_a_loss_and_says_what_it_rounded(tmp_path: Path) -> None:
    torch.save(torch.tensor([0.1, 1.0]), tmp_path / "x.pth")
    found = _tried(tmp_path / "x.pth", ways=("cast-bfloat16",))
    assert not found.lost
    assert found.ways[0].bits is False
    assert found.ways[0].pairs[0].n_bits == 1


def test_that_something_large_is_tried_only_when_asked(tmp_path: Path) -> None:
    from viewer.checkpoint.document import Checkpoint

    torch.save(torch.zeros(4), tmp_path / "x.pth")
    checkpoint: Checkpoint = open_checkpoint(tmp_path / "x.pth")
    checkpoint.storages.nbytes[0] = LARGE_NBYTES
    with pytest.raises(ViewerError, match="three copies"):
        run(roundtrip_task(checkpoint, 0))


def test_that_stopping_removes_everything_and_ends_the_processes(tmp_path: Path) -> None:
    before = _left()
    torch.save({"w": torch.randn(8)}, tmp_path / "x.pth")
    task = roundtrip_task(open_checkpoint(tmp_path / "x.pth"), 0, ways=("torch.save",), check_bytes=True)
    for progress in task:
        if progress.unit == "processes":
            break
    task.close()
    assert _left() == before


def test_that_a_process_that_saves_ends_with_the_one_that_started_it(tmp_path: Path) -> None:
    torch.save({"w": torch.randn(8)}, tmp_path / "x.pth")
    arguments = (str(tmp_path / "x.pth"), "", "cpu", str(tmp_path), "torch.save")
    command = module_command("viewer.roundtrip.twice", arguments, flags=("-P", "-s"))
    left = subprocess.run(command, stdin=subprocess.DEVNULL, check=False, timeout=100)
    assert left.returncode == 1
    assert not (tmp_path / "torch.save").exists()
    with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
        assert process.wait(100) == 0
    assert (tmp_path / "torch.save" / "x.pth").exists()


def test_that_folders_of_a_process_that_is_gone_are_removed(tmp_path: Path) -> None:
    gone = Path(tempfile.gettempdir()) / f"{PREFIX}999999999-left"
    gone.mkdir(exist_ok=True)
    torch.save(torch.zeros(2), tmp_path / "x.pth")
    _tried(tmp_path / "x.pth", ways=("clone",))
    assert not gone.exists()


def test_that_a_reloaded_copy_can_be_kept_and_compared(tmp_path: Path) -> None:
    from viewer import compare

    torch.save({"w": torch.randn(50)}, tmp_path / "x.pth")
    checkpoint = open_checkpoint(tmp_path / "x.pth")
    kept = run(keep_copy_task(checkpoint, 0, "cast-float16", tmp_path / "kept"))
    comparison = compare(tmp_path / "kept" / "original.pth", kept)
    assert comparison.overview is not None
    assert not comparison.overview.same_bits


def test_that_the_command_prints_rows_and_json_and_exits_by_what_was_lost(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import json

    from viewer.cli.main import main

    torch.save({"w": torch.tensor([1.0, float("nan")])}, tmp_path / "x.pth")
    arguments = ["roundtrip", str(tmp_path / "x.pth"), "--path", "w", "--no-bytes"]
    assert main([*arguments, "--ways", "torch.save,clone"]) == 0
    text = capsys.readouterr().out
    assert "= torch.save" in text
    assert "NaN == NaN is False" in text
    assert main([*arguments, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    ways = {row["way"]: row for row in found["ways"]}
    assert ways["torch.save"]["bits"] is True
    assert ways["torch.save"]["bytes_reproducible"] is None
    assert set(ways["clone"]) >= {
        "way", "ok", "bits", "numbers", "changed", "shares_memory", "bytes_reproducible", "reason", "error",
    }  # fmt: skip
    assert main(["roundtrip", str(tmp_path / "x.pth"), "--list"]) == 0
    assert main([*arguments, "--ways", "x"]) == 2
