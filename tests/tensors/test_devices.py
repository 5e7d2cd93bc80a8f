"""Which devices there are, and what is said when one is missing, full or failing."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace

import pytest
import torch

from viewer.errors import DeviceProblem, MalformedFile
from viewer.tensors.devices import device_errors, list_devices, torch_device


def test_that_the_processor_is_listed_first_with_its_memory() -> None:
    cpu = list_devices()[0]
    assert (cpu.name, cpu.problem) == ("cpu", None)
    if sys.platform == "linux":
        assert cpu.total is not None
        assert cpu.free is not None
        assert 0 < cpu.free <= cpu.total


def fake_module(count: int, *, name: object = "A card", memory: object = (3, 10)) -> SimpleNamespace:
    """A stand-in for `torch.cuda`; an exception in place of an answer is raised."""

    def get_device_name(index: int) -> str:
        if isinstance(name, Exception):
            raise name
        return f"{name} {index}"

    def mem_get_info(index: int) -> object:
        if isinstance(memory, Exception):
            raise memory
        return memory

    return SimpleNamespace(
        is_available=lambda: count > 0,
        device_count=lambda: count,
        get_device_name=get_device_name,
        mem_get_info=mem_get_info,
    )


def test_that_cards_are_listed_with_name_and_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "cuda", fake_module(2))
    _, first, second = list_devices()
    assert (first.name, first.title, first.free, first.total, first.problem) == ("cuda:0", "A card 0", 3, 10, None)
    assert second.name == "cuda:1"


def test_that_a_card_that_does_not_answer_is_listed_with_its_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    error = RuntimeError("CUDA error: unspecified launch failure\nCompile with TORCH_USE_CUDA_DSA")
    monkeypatch.setattr(torch, "cuda", fake_module(1, memory=error))
    (_, card) = list_devices()
    assert (card.name, card.problem) == ("cuda:0", "CUDA error: unspecified launch failure")


def test_that_a_driver_that_fails_is_listed_with_its_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> bool:
        raise OSError("driver/library version mismatch")

    monkeypatch.setattr(torch, "xpu", SimpleNamespace(is_available=fail))
    (_, card) = list_devices()
    assert (card.name, card.problem) == ("xpu", "driver/library version mismatch")


def test_that_an_accelerator_that_torch_alone_knows_is_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.accelerator, "current_accelerator", lambda: SimpleNamespace(type="hpu"))
    monkeypatch.setattr(torch, "hpu", fake_module(1), raising=False)
    assert [device.name for device in list_devices()] == ["cpu", "hpu:0"]


def test_that_a_device_is_tried_before_it_is_given() -> None:
    assert torch_device("cpu") == torch.device("cpu")
    with pytest.raises(DeviceProblem, match="not the name of a device"):
        torch_device("gpu zero")
    with pytest.raises(DeviceProblem, match="holds no values"):
        torch_device("meta")
    if not torch.cuda.is_available():
        with pytest.raises(DeviceProblem, match="cuda:0"):
            torch_device("cuda:0")


def test_that_a_full_device_is_said() -> None:
    with pytest.raises(DeviceProblem, match="memory of cuda:0 is full"), device_errors("cuda:0"):
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB")
    with pytest.raises(DeviceProblem, match="computer's memory is full"), device_errors("cpu"):
        raise MemoryError


def test_that_what_a_device_cannot_do_is_said_and_other_errors_pass() -> None:
    said = "mps cannot do this: Cannot convert a MPS Tensor to float64"
    with pytest.raises(DeviceProblem, match=said), device_errors("mps"):
        raise TypeError("Cannot convert a MPS Tensor to float64 dtype as the framework doesn't support float64.")
    with pytest.raises(MalformedFile), device_errors("cuda:0"):
        raise MalformedFile("the file is short")
    with pytest.raises(RuntimeError, match="a fault of ours"), device_errors("cpu"):
        raise RuntimeError("a fault of ours")


def test_that_results_and_devices_are_imported_without_torch_or_numpy() -> None:
    code = (
        "import sys, viewer.tensors.results, viewer.tensors.devices, viewer.tensors.summary, viewer.tensors.values\n"
        "assert not {'torch', 'numpy'} & set(sys.modules), 'imported'"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
