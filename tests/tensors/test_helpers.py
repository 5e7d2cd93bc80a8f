"""The processes that help with large tensors: the same numbers, none left behind, and none needed."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import psutil
import pytest
import torch

from viewer import open_checkpoint
from viewer.checkpoint.document import Checkpoint
from viewer.errors import FileChanged
from viewer.task import run
from viewer.tensors import crew, walk
from viewer.tensors.crew import CREW, Helped
from viewer.tensors.layout import Block
from viewer.tensors.results import TensorSummary
from viewer.tensors.scan_all import scan_all_task
from viewer.tensors.summary import summarise_task

LENGTH = 300_007


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    generator = torch.Generator().manual_seed(0)
    values = torch.randn(LENGTH, generator=generator)
    odd = values.clone()
    odd[[5, 99_999, 200_000]] = torch.tensor([math.nan, math.inf, -math.inf])
    odd[7:9] = torch.tensor([1e-41, -0.0])
    matrix = torch.randn(600, 500, generator=generator)
    tensors = {
        "float32": values,
        "odd": odd,
        "float64": values.double() * 1e200,
        "int64": (values * 1e18).long(),
        "uint64": (values.abs() * 1e18).long().view(torch.uint64),
        "complex64": torch.complex(values, odd),
        "bfloat16": odd.bfloat16(),
        "float8": values.to(torch.float8_e4m3fn),
        "bool": values > 0,
        "transposed": matrix.t(),
        "cancels": torch.cat((values, -values)),
    }
    path = tmp_path_factory.mktemp("helpers") / "m.pt"
    torch.save(tensors, path)
    return path


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[bool]]:
    """Two helpers that are ready; filled with whether each job was done by one of them."""
    monkeypatch.setattr(crew, "_USED_NBYTES", 0)
    monkeypatch.setattr(crew, "most_threads", lambda: 3)
    monkeypatch.setattr(walk, "JOB_NBYTES", 200_000)
    done: list[bool] = []
    found = Helped.found

    def noted(self: Helped[Any], job: Sequence[Block]) -> object:
        answer = found(self, job)
        done.append(answer is not None)
        return answer

    monkeypatch.setattr(Helped, "found", noted)
    CREW.want()
    CREW.wait()
    assert CREW.n_free == 2
    yield done
    CREW.close()
    assert CREW.size == 0


def summary(checkpoint: Checkpoint, name: str) -> TensorSummary:
    tensor = checkpoint.tensor_of_node(checkpoint.find(name))
    assert tensor is not None
    return run(summarise_task(checkpoint, tensor.number, chunk_nbytes=100_000))


def test_that_helpers_find_the_same_numbers(file: Path, answers: list[bool], monkeypatch: pytest.MonkeyPatch) -> None:
    checkpoint = open_checkpoint(file)
    names = [str(checkpoint.nodes.key[node]) for node in checkpoint.nodes.children(0)]
    helped = {}
    for name in names:
        answers.clear()
        helped[name] = summary(checkpoint, name)
        assert any(answers), f"{name} was not helped with"
    monkeypatch.setattr(CREW, "take", lambda: None)
    for name in names:
        alone = summary(checkpoint, name)
        # NaN is not equal to itself, and both print all they hold.
        assert repr(helped[name]) == repr(alone), name


@pytest.mark.skipif(sys.platform != "linux", reason="asks /proc")
def test_that_a_helper_that_has_nothing_to_do_keeps_no_file_open(file: Path, answers: list[bool]) -> None:
    for name in ("float32", "bfloat16"):
        summary(open_checkpoint(file), name)
    assert any(answers)
    for helper in CREW._all:
        kept = [opened.path for opened in psutil.Process(helper.process.pid).open_files()]
        assert str(file) not in kept


def test_that_a_scan_of_all_is_helped_with(file: Path, answers: list[bool], monkeypatch: pytest.MonkeyPatch) -> None:
    def rows() -> list[str]:
        checkpoint = open_checkpoint(file)
        batches = [step.partial for step in scan_all_task(checkpoint, use_cache=False) if step.partial is not None]
        return [repr(row) for batch in batches for row in batch.rows]

    helped = rows()
    assert any(answers)
    monkeypatch.setattr(CREW, "take", lambda: None)
    assert rows() == helped


def test_that_a_helper_that_ends_is_not_missed(file: Path, answers: list[bool]) -> None:
    checkpoint = open_checkpoint(file)
    expected = repr(summary(checkpoint, "float64"))
    for helper in CREW._all:
        os.kill(helper.process.pid, signal.SIGKILL)
    assert repr(summary(checkpoint, "float64")) == expected
    assert CREW.size == 0


def test_that_a_changed_file_is_said_as_without_helpers(file: Path, answers: list[bool], tmp_path: Path) -> None:
    copy = tmp_path / "m.pt"
    copy.write_bytes(file.read_bytes())
    checkpoint = open_checkpoint(copy)
    copy.write_bytes(file.read_bytes() + b"x")
    with pytest.raises(FileChanged):
        summary(checkpoint, "float32")
    assert CREW.n_free == 2


def test_that_no_helper_outlives_a_process_that_is_killed() -> None:
    program = (
        "from viewer.tensors import crew\n"
        "crew.most_threads = lambda: 2\n"
        "crew.CREW.want(); crew.CREW.wait()\n"
        "print(crew.CREW._all[0].process.pid, flush=True)\n"
        "input()\n"
    )
    root = Path(__file__).parents[2]
    with subprocess.Popen(
        [sys.executable, "-c", program], cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        helper = psutil.Process(int(parent.stdout.readline()))
        assert "viewer.tensors.helper" in helper.cmdline()
        parent.kill()
    helper.wait(timeout=30)
