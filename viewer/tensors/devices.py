"""The devices that torch can compute on: which there are, and what to say when one is missing, full or failing.

Nothing here falls back to another device: a number is computed where the person asked, or it is not computed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from viewer.errors import DeviceProblem

if TYPE_CHECKING:
    import torch

_CHOOSE_CPU = "Choose the device cpu, or look with nvidia-smi or its like whether the device is in use"


@dataclass(frozen=True, slots=True)
class Device:
    """One device.

    Attributes
    ----------
    name
        As torch takes it: "cpu", "cuda:0", "mps".
    title
        For people: "NVIDIA A100-SXM4-40GB".
    total, free
        Bytes of its memory; None where torch does not tell.
    problem
        Why it cannot be used, or None.
    """

    name: str
    title: str
    total: int | None = None
    free: int | None = None
    problem: str | None = None


def list_devices() -> list[Device]:
    """Every device that torch reports, the CPU first. One that fails to answer is listed with its problem."""
    import torch

    devices = [_cpu()]
    kinds = ["cuda", "xpu", "mps"]
    accelerator = _accelerator_kind()
    if accelerator is not None and accelerator not in kinds:
        kinds.append(accelerator)
    for kind in kinds:
        module = getattr(torch, kind, None)
        if module is None:
            continue
        try:
            # torch.cuda.is_available() is False, without raising, where there is no driver.
            count = _device_count(kind, module)
        except Exception as error:  # noqa: BLE001  a driver may raise anything; the list must still come
            devices.append(Device(kind, kind.upper(), problem=_words(error)))
            continue
        devices += [_accelerated(kind, index, module) for index in range(count)]
    return devices


def torch_device(name: str) -> torch.device:
    """The device called `name`, after it has answered.

    Raises
    ------
    DeviceProblem
        When torch does not know the name, has no such device, or the device fails to allocate.
    """
    import torch

    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise DeviceProblem(
            f"{name!r} is not the name of a device", advice='Names are "cpu", "cuda:0", "mps", "xpu:0"'
        ) from error
    if device.type == "meta":
        raise DeviceProblem("the device meta holds no values", advice="Choose the device cpu")
    if device.type == "cpu":
        return torch.device("cpu")
    with device_errors(name):
        torch.empty(1, device=device)
    return device


@contextmanager
def device_errors(name: str) -> Iterator[None]:
    """Turn what torch raises inside, when the device is missing, full or failing, into DeviceProblem.

    Other errors, the ViewerErrors among them, pass.
    """
    import torch

    full: tuple[type[BaseException], ...] = (torch.OutOfMemoryError, MemoryError)
    failing: tuple[type[BaseException], ...] = (AssertionError, NotImplementedError, RuntimeError, TypeError)
    try:
        yield
    except full as error:
        where = "the computer's memory" if name == "cpu" else f"the memory of {name}"
        advice = "Close other programs" if name == "cpu" else "Free it, or choose the device cpu"
        raise DeviceProblem(f"{where} is full", advice=advice) from error
    except failing as error:
        # On the CPU these are faults of ours, and hiding them behind a device would mislead.
        if name == "cpu":
            raise
        raise DeviceProblem(f"the device {name} cannot do this: {_words(error)}", advice=_CHOOSE_CPU) from error


def _cpu() -> Device:
    import os

    total = free = None
    try:
        page = os.sysconf("SC_PAGE_SIZE")
        total = os.sysconf("SC_PHYS_PAGES") * page
        free = os.sysconf("SC_AVPHYS_PAGES") * page
    except (AttributeError, OSError, ValueError):  # Windows has no sysconf, macOS no SC_AVPHYS_PAGES
        pass
    return Device("cpu", f"CPU, {os.cpu_count() or 1} cores", total, free)


def _accelerator_kind() -> str | None:
    """The kind that `torch.accelerator` reports, also one that this file has not heard of; None without one."""
    import torch

    try:
        device = torch.accelerator.current_accelerator()
    except (RuntimeError, AssertionError):
        return None
    return None if device is None else device.type


def _device_count(kind: str, module: object) -> int:
    is_available: Callable[[], bool] | None = getattr(module, "is_available", None)
    if is_available is not None and not is_available():
        return 0
    if kind == "mps":
        return 1
    device_count: Callable[[], int] = getattr(module, "device_count", _one)
    return device_count()


def _one() -> int:
    return 1


def _accelerated(kind: str, index: int, module: object) -> Device:
    name = kind if kind == "mps" else f"{kind}:{index}"
    title = name
    total = free = None
    try:
        if (get_name := getattr(module, "get_device_name", None)) is not None:
            title = str(get_name(index))
        elif kind == "mps":
            title = "Apple GPU"
        if (mem_get_info := getattr(module, "mem_get_info", None)) is not None:
            free, total = (int(nbytes) for nbytes in mem_get_info(index))
        elif (recommended := getattr(module, "recommended_max_memory", None)) is not None:
            total = int(recommended())
    except Exception as error:  # noqa: BLE001  a driver may raise anything; the list must still come
        return Device(name, title, problem=_words(error))
    return Device(name, title, total, free)


def _words(error: BaseException) -> str:
    """The first line of an error's text: torch appends advice and C++ frames in further lines."""
    text = re.split(r"\n|\. ", str(error).strip(), maxsplit=1)[0].rstrip(".")
    return text or type(error).__name__
