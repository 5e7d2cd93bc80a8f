"""The ways to save and reload, or to copy, that people use. Adding one is a class and a row in `all_ways`.

A way gets a tree of containers, tensors and scalars that is not from a file any more: everything that is loaded here
was written here a moment before.
"""

from __future__ import annotations

import copy
import pickle
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from viewer.errors import ViewerError
from viewer.roundtrip import way_facts
from viewer.roundtrip.results import WayFacts

if TYPE_CHECKING:
    import torch

Tensors: TypeAlias = "Callable[[torch.Tensor], torch.Tensor]"

_PROTOCOLS: Final = range(2, 6)
_CASTS: Final = ("float16", "bfloat16", "float8_e4m3fn", "float8_e5m2")


class Way(ABC):
    """One way.

    Attributes
    ----------
    facts
    suffix
        Of the file that `write` makes; "" where there is none.
    """

    facts: WayFacts
    suffix: str = ""

    @abstractmethod
    def copy(self, tree: Any, folder: Path) -> Any:
        """The copy that comes back. `folder` is empty, and goes when the copy has been looked at.

        Any exception is what a person would have met, and becomes a row.
        """

    def write(self, tree: Any, folder: Path) -> Path:
        """Write the tree as `copy` does, and return the file."""
        raise NotImplementedError


class _FileWay(Way):
    @abstractmethod
    def read(self, file: Path) -> Any:
        """Load what `write` wrote."""

    def copy(self, tree: Any, folder: Path) -> Any:
        return self.read(self.write(tree, folder))


class TorchSave(_FileWay):
    """torch.save, in its zip form or the legacy one."""

    suffix = ".pth"

    def __init__(self, *, legacy: bool) -> None:
        self._legacy = legacy
        self.facts = way_facts.torch_save(legacy=legacy)

    def write(self, tree: Any, folder: Path) -> Path:
        import torch

        file = folder / "x.pth"
        torch.save(tree, file, _use_new_zipfile_serialization=not self._legacy)
        return file

    def read(self, file: Path) -> Any:
        import torch

        return torch.load(file, weights_only=True)


class Pickled(Way):
    """pickle.dumps in one of its protocols."""

    suffix = ".pkl"

    def __init__(self, protocol: int) -> None:
        self._protocol = protocol
        self.facts = way_facts.pickled(protocol)

    def copy(self, tree: Any, _folder: Path) -> Any:
        return pickle.loads(pickle.dumps(tree, self._protocol))  # noqa: S301 - of our own making, a moment ago

    def write(self, tree: Any, folder: Path) -> Path:
        file = folder / "x.pkl"
        with file.open("wb") as out:
            pickle.dump(tree, out, self._protocol)
        return file


class EachTensor(Way):
    """A function on every tensor, one by one; containers are kept."""

    def __init__(self, facts: WayFacts, each: Tensors) -> None:
        self.facts = facts
        self._each = each

    def copy(self, tree: Any, _folder: Path) -> Any:
        return mapped(tree, self._each)


class DeepCopy(Way):
    """copy.deepcopy."""

    facts = way_facts.DEEPCOPY

    def copy(self, tree: Any, _folder: Path) -> Any:
        return copy.deepcopy(tree)


class NumpyFile(Way):
    """One .npy file for each tensor."""

    suffix = ".npy"
    facts = way_facts.NPY

    def copy(self, tree: Any, folder: Path) -> Any:
        import numpy as np
        import torch

        def each(x: torch.Tensor) -> torch.Tensor:
            file = folder / "x.npy"
            np.save(file, x.detach().cpu().numpy())
            return torch.from_numpy(np.load(file))

        return mapped(tree, each)

    def write(self, tree: Any, folder: Path) -> Path:
        import numpy as np

        file = folder / "x.npy"
        with file.open("wb") as out:
            for tensor in tensors_in(tree):
                np.save(out, tensor.detach().cpu().numpy())
        return file


class SafeTensors(_FileWay):
    """The safetensors package."""

    suffix = ".safetensors"
    facts = way_facts.SAFETENSORS

    def write(self, tree: Any, folder: Path) -> Path:
        from safetensors.torch import save_file

        file = folder / "x.safetensors"
        save_file(dict(named_tensors(tree)), file)
        return file

    def copy(self, tree: Any, folder: Path) -> Any:
        loaded = self.read(self.write(tree, folder))
        names = iter([name for name, _ in named_tensors(tree)])
        return mapped(tree, lambda _: loaded[next(names)])

    def read(self, file: Path) -> Any:
        from safetensors.torch import load_file

        return load_file(file)


class Canonical(_FileWay):
    """Our own canonical form."""

    def __init__(self, flavour: str) -> None:
        self._flavour = flavour
        self.suffix = f".{flavour}"
        self.facts = way_facts.CANONICAL_PTH if flavour == "pth" else way_facts.CANONICAL_SAFETENSORS

    def write(self, tree: Any, folder: Path) -> Path:
        import torch

        from viewer.export.options import ExportOptions
        from viewer.export.save import export_task
        from viewer.task import run

        saved, file = folder / "saved.pth", folder / f"x{self.suffix}"
        torch.save(tree, saved)
        try:
            run(export_task(saved, file, ExportOptions(flavour=self._flavour)))  # type: ignore[arg-type]
        finally:
            saved.unlink()
        return file

    def read(self, file: Path) -> Any:
        import torch

        from viewer.formats.opening import open_task
        from viewer.roundtrip.live import live_task
        from viewer.task import run

        if self._flavour == "pth":
            return torch.load(file, weights_only=True)
        # The package gives tensors alone; our reader gives the tree that the header describes.
        live = run(live_task(run(open_task(file)), 0, "cpu"))
        if live.left_out:
            raise ViewerError(live.left_out[0])
        return live.root


class StateDict(Way):
    """Into a new module and out again."""

    facts = way_facts.STATE_DICT

    def copy(self, tree: Any, _folder: Path) -> Any:
        import torch

        plain = isinstance(tree, dict) and all(
            isinstance(name, str) and isinstance(item, torch.Tensor) for name, item in tree.items()
        )
        if not plain or not tree:
            raise ViewerError("this is no plain state_dict (names and tensors)")
        module = torch.nn.Module()
        for name, tensor in tree.items():
            *parents, last = name.split(".")
            owner = module
            for parent in parents:
                if parent not in owner._modules:
                    owner.add_module(parent, torch.nn.Module())
                owner = owner.get_submodule(parent)
            empty = torch.zeros(tensor.shape, dtype=tensor.dtype, device=tensor.device)
            if isinstance(tensor, torch.nn.Parameter) or tensor.requires_grad:
                owner.register_parameter(last, torch.nn.Parameter(empty, requires_grad=tensor.requires_grad))
            else:
                owner.register_buffer(last, empty)
        module.load_state_dict(tree, strict=True)
        found = module.state_dict()
        return type(tree)((name, found[name]) for name in tree)


class Cast(Way):
    """To another dtype of floats and back."""

    def __init__(self, dtype: str) -> None:
        self._dtype = dtype
        self.facts = way_facts.cast(dtype)

    def copy(self, tree: Any, _folder: Path) -> Any:
        import torch

        narrow = getattr(torch, self._dtype)
        return mapped(tree, lambda x: x.to(narrow).to(x.dtype) if x.is_floating_point() else x)


def mapped(tree: Any, each: Tensors) -> Any:
    """The tree with `each` applied to its tensors one by one, and its containers copied.

    A tensor that stands in two places is done twice, as in `{name: x.clone() for name, x in state_dict.items()}`.
    """
    import torch

    if isinstance(tree, torch.Tensor):
        return each(tree)
    if isinstance(tree, dict):
        return type(tree)((key, mapped(value, each)) for key, value in tree.items())
    if isinstance(tree, (list, tuple)):
        return type(tree)([mapped(value, each) for value in tree])
    return tree


def named_tensors(tree: Any, path: str = "") -> Iterator[tuple[str, torch.Tensor]]:
    """All tensors of a tree with their paths, keys joined by dots as in a state_dict; "x" for a tensor alone."""
    import torch

    if isinstance(tree, torch.Tensor):
        yield path or "x", tree
    elif isinstance(tree, dict):
        for key, item in tree.items():
            yield from named_tensors(item, f"{path}.{key}" if path else str(key))
    elif isinstance(tree, (list, tuple)):
        for index, item in enumerate(tree):
            yield from named_tensors(item, f"{path}.{index}" if path else str(index))


def tensors_in(tree: Any) -> Iterator[torch.Tensor]:
    for _, tensor in named_tensors(tree):
        yield tensor


def _there_and_back(device: str) -> Tensors:
    return lambda x: x.to(device).to(x.device)


def _through_numpy(x: torch.Tensor) -> torch.Tensor:
    import torch

    return torch.from_numpy(x.detach().cpu().numpy())


def all_ways(devices: tuple[str, ...] = ("cpu",)) -> list[Way]:
    """Every way, in the order to show them.

    Parameters
    ----------
    devices
        Each gives a way there and back.
    """
    return [
        TorchSave(legacy=False),
        TorchSave(legacy=True),
        *(Pickled(protocol) for protocol in _PROTOCOLS),
        DeepCopy(),
        EachTensor(way_facts.CLONE, lambda x: x.clone()),
        EachTensor(way_facts.DETACH, lambda x: x.detach()),
        EachTensor(way_facts.DETACH_CLONE, lambda x: x.detach().clone()),
        *(EachTensor(way_facts.to_device(device), _there_and_back(device)) for device in devices),
        EachTensor(way_facts.NUMPY, _through_numpy),
        NumpyFile(),
        SafeTensors(),
        Canonical("pth"),
        Canonical("safetensors"),
        StateDict(),
        *(Cast(dtype) for dtype in _CASTS),
    ]
