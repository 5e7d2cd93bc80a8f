"""Small real trainings whose truth is known: which parameter each entry of the optimizer belongs to."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from viewer import open_checkpoint
from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.meaning.recognise import recognise_task
from viewer.checkpoint.meaning.results import OptimizerFacts, Recognition
from viewer.task import run

Named = Sequence[tuple[str, nn.Parameter]]


class Plain(nn.Module):
    """Buffers of a batch norm among the parameters."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 8), nn.LayerNorm(8))
        self.head = nn.Linear(8, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = self.head(self.inner(x).relu())
        return result


class Frozen(Plain):
    """The first layer is not trained."""

    def __init__(self) -> None:
        super().__init__()
        self.inner[0].requires_grad_(False)


class FrozenTwin(nn.Module):
    """Two layers of one shape, the first of which is not trained: nothing tells which one is."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.head = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 3)
        self.first.requires_grad_(False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = self.head(self.second(self.first(x)))
        return result


class Tied(nn.Module):
    """The output layer's weight is the embedding."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(6, 4)
        self.middle = nn.Linear(4, 4)
        self.out = nn.Linear(4, 6)
        self.out.weight = self.embedding.weight

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = self.out(self.middle(x @ self.embedding.weight[:4]))
        return result


class Buffered(nn.Module):
    """Floating buffers of the shapes of parameters stand between them."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(4))
        self.gain = nn.Parameter(torch.ones(4, 4))
        self.register_buffer("kernel", torch.ones(3, 4))
        self.body = nn.Linear(4, 3)
        self.register_buffer("shift", torch.zeros(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = self.body((x - self.mean) @ self.gain) + self.shift
        return result


class Twins(nn.Module):
    """Equal layers."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b, self.head = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = self.head(self.b(self.a(x)))
        return result


MODELS: list[Callable[[], nn.Module]] = [Plain, Frozen, FrozenTwin, Tied, Buffered, Twins]


def trained(model: nn.Module) -> Named:
    """`filter(lambda p: p.requires_grad, model.parameters())`, with the names."""
    return [(name, value) for name, value in model.named_parameters() if value.requires_grad]


def one_group(named: Named) -> list[Named]:
    return [named]


def by_decay(named: Named) -> list[Named]:
    """Matrices decay, vectors do not."""
    return [[pair for pair in named if pair[1].dim() > 1], [pair for pair in named if pair[1].dim() <= 1]]


def head_first(named: Named) -> list[Named]:
    """The last layer in a group of its own, before the rest."""
    return [named[-2:], named[:-2]]


GROUPINGS: list[Callable[[Named], list[Named]]] = [one_group, by_decay, head_first]


def _settings(name: str) -> dict[str, Any]:
    return {"SGD": {"lr": 0.01, "momentum": 0.9}, "RMSprop": {"momentum": 0.5, "centered": True}}.get(name, {})


OPTIMIZERS = [
    "SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "Adadelta", "Adamax", "NAdam", "RAdam", "ASGD", "Rprop",
    "Adafactor",
]  # fmt: skip
"""Those that take any groups of any dense parameters; LBFGS, SparseAdam and Muon have tests of their own."""


@dataclass
class Training:
    """A checkpoint's content and its truth.

    Attributes
    ----------
    truth
        Names in the order of the optimizer's entries.
    groups
        The same by group.
    """

    content: dict[str, Any]
    truth: list[str]
    groups: list[list[str]]
    model: nn.Module
    optimizer: torch.optim.Optimizer


def train(
    model: nn.Module,
    kind: str,
    grouping: Callable[[Named], list[Named]] = one_group,
    *,
    named: bool = False,
    steps: int = 2,
) -> Training:
    """Make some steps and put model and optimizer together as `torch.save` users do."""
    groups = [group for group in grouping(trained(model)) if group]
    params: list[dict[str, Any]] = [
        {"params": list(group) if named else [value for _, value in group], "weight_decay": 0.01 * (nth == 0)}
        for nth, group in enumerate(groups)
    ]
    if kind == "Rprop":
        params = [{"params": group["params"]} for group in params]
    optimizer: torch.optim.Optimizer = getattr(torch.optim, kind)(params, **_settings(kind))
    step(model, optimizer, steps)
    names = [[name for name, _ in group] for group in groups]
    content = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3}
    return Training(content, [name for group in names for name in group], names, model, optimizer)


def step(model: nn.Module, optimizer: torch.optim.Optimizer, steps: int = 2) -> None:
    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        loss: torch.Tensor = model(torch.linspace(-1, 1, 12).view(3, 4)).square().mean()
        loss.backward()  # type: ignore[no-untyped-call]
        return loss

    for _ in range(steps):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # some optimizers warn about their own defaults
            optimizer.step(closure)  # type: ignore[arg-type]


def recognised(content: object, folder: Path, *, legacy: bool = False) -> tuple[Checkpoint, Recognition]:
    """Save, open and recognise."""
    path = folder / "training.pth"
    torch.save(content, path, _use_new_zipfile_serialization=not legacy)
    checkpoint = open_checkpoint(path)
    return checkpoint, run(recognise_task(checkpoint))


def only_optimizer(content: object, folder: Path) -> OptimizerFacts:
    _, recognition = recognised(content, folder)
    (optimizer,) = recognition.optimizers
    return optimizer


def possible_names(
    groups: Sequence[Sequence[tuple[int, ...]]], places: Sequence[tuple[str, tuple[int, ...]]]
) -> list[set[str]]:
    """By trying them all: the names that each entry has in some assignment that keeps the order within each group."""
    entries = [(number, shape) for number, group in enumerate(groups) for shape in group]
    found: list[set[str]] = [set() for _ in entries]
    taken: list[int] = []

    def place_next() -> None:
        nth = len(taken)
        if nth == len(entries):
            for names, place in zip(found, taken, strict=True):
                names.add(places[place][0])
            return
        number, shape = entries[nth]
        first = taken[-1] + 1 if nth and entries[nth - 1][0] == number else 0
        for place in range(first, len(places)):
            if places[place][1] == shape and place not in taken:
                taken.append(place)
                place_next()
                taken.pop()

    place_next()
    return found


def floating_entries(
    model: nn.Module, buffers: Iterable[str] = ("running_mean", "running_var")
) -> list[tuple[str, tuple[int, ...]]]:
    """What an optimizer might hold, from the state_dict alone: floating, no batch norm's, a tied weight once."""
    state = model.state_dict()
    seen: set[int] = set()
    found = []
    for name, value in state.items():
        if value.is_floating_point() and name.rpartition(".")[2] not in buffers and value.data_ptr() not in seen:
            seen.add(value.data_ptr())
            found.append((name, tuple(value.shape)))
    return found
