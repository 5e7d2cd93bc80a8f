"""What only shows in a process of its own: what is imported, closed pipes, encodings, signals."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from tests.cli.files import save
from tests.cli.running import ROOT, run_process
from tests.cli.test_main import heavy_modules


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return save({"层": torch.ones(2, 3), "epoch": 7}, tmp_path / "model.pth")


@pytest.mark.parametrize("extra", [[], ["--json"], ["--path", "epoch"]], ids=str)
def test_that_a_tree_imports_nothing_heavy(model: Path, extra: list[str]) -> None:
    assert heavy_modules("show", model, *extra) == []


@pytest.mark.parametrize("extra", [["--stats"], ["--values", "3", "--json"]], ids=str)
def test_that_values_bring_torch_and_no_qt(model: Path, extra: list[str]) -> None:
    heavy = heavy_modules("show", model, *extra)
    assert "torch" in heavy
    assert not {"PySide6", "pyqtgraph"} & set(heavy)


def test_that_values_of_no_tensors_bring_nothing_heavy(model: Path) -> None:
    assert heavy_modules("show", model, "--path", "epoch", "--stats", "--values", "3", "--json") == []


def test_that_the_module_is_the_program(model: Path) -> None:
    entries = run_process("show", model, "--json").entries
    assert entries["层"]["shape"] == [2, 3]
    assert entries["epoch"]["value"] == 7


def test_that_output_fits_an_encoding_without_drawing_characters(model: Path) -> None:
    ran = run_process("show", model, encoding="ascii")
    assert (ran.code, ran.err) == (0, "")
    assert "|- \\u5c42" in ran.out
    assert "`- epoch" in ran.out
    assert "2x3" in ran.out


def test_that_an_error_fits_an_encoding_too(tmp_path: Path) -> None:
    ran = run_process("show", tmp_path / "层.pth", encoding="ascii")
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert "\\u5c42.pth" in ran.err


def test_that_a_reader_who_leaves_early_is_met_with_silence(tmp_path: Path) -> None:
    path = save({f"key{number}": number for number in range(20_000)}, tmp_path / "many.pth")
    process = subprocess.Popen(
        [sys.executable, "-m", "viewer", "show", str(path), "--json"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    with process.stdout, process.stderr:
        process.stdout.read(10)
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.wait(timeout=30) == 141


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the device that is always full is Linux's")
def test_that_a_full_disk_is_one_line_and_exit_code_2(model: Path) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "viewer", "show", str(model)],
            cwd=ROOT,
            stdout=full,
            stderr=subprocess.PIPE,
            timeout=60,
            check=False,
        )
    assert done.returncode == 2
    assert done.stderr.startswith(b"checkpoint-viewer: ")
    assert done.stderr.count(b"\n") == 1


@pytest.mark.skipif(os.name == "nt", reason="a shell's >&- is needed")
def test_that_a_closed_output_is_one_line_and_exit_code_2(model: Path) -> None:
    done = subprocess.run(
        ["/bin/sh", "-c", 'exec "$0" -m viewer show "$1" >&-', sys.executable, str(model)],
        cwd=ROOT,
        stderr=subprocess.PIPE,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (2, b"checkpoint-viewer: standard output is closed\n")


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT to send to one process")
def test_that_ctrl_c_ends_it_quietly(tmp_path: Path) -> None:
    fifo = tmp_path / "out"
    os.mkfifo(fifo)
    path = save({f"key{number}": number for number in range(20_000)}, tmp_path / "many.pth")
    # Its output goes where nobody reads on, so it is still at work when the signal comes.
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    try:
        with fifo.open("wb") as out:
            process = subprocess.Popen(
                [sys.executable, "-m", "viewer", "show", str(path), "--json"],
                cwd=ROOT,
                stdout=out,
                stderr=subprocess.PIPE,
            )
        os.set_blocking(reader, True)
        assert os.read(reader, 1) == b"{"
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
    finally:
        os.close(reader)
    assert process.returncode == 130
    assert err == b""


def test_that_a_large_tree_comes_whole(tmp_path: Path) -> None:
    tree = [list(range(first, first + 1000)) for first in range(100)]
    entries = run_process("show", save(tree, tmp_path / "large.pth"), "--json").entries
    assert len(entries) == 1 + 100 * 1001
    assert entries["[99][999]"]["value"] == 1098
