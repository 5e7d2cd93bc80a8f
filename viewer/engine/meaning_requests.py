"""What the window asks about the meaning of a checkpoint: recognition, names, checks, numbers of moments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from viewer.engine.protocol import DocumentRequest, LaneName, Request


@dataclass(frozen=True, slots=True)
class Recognise(Request):
    """What the parts of a document are, and which parameter each optimizer entry belongs to. Result: a Recognition.

    Attributes
    ----------
    model
        Another open document whose models give the names; None for the document itself.
    """

    document: int
    model: int | None = None

    @property
    def documents(self) -> tuple[int, ...]:
        return (self.document,) if self.model is None else (self.document, self.model)

    @property
    def doing(self) -> str:
        return "recognising the parts of a checkpoint"


@dataclass(frozen=True, slots=True)
class ViewModel(DocumentRequest):
    """A state_dict or pickled module as modules within modules. Result: a ModuleTree.

    Attributes
    ----------
    node
        Of the state_dict or module.
    folded
        True where repeated blocks are to be one row.
    """

    node: int
    folded: bool = True

    @property
    def doing(self) -> str:
        return "laying out the modules of a model"


@dataclass(frozen=True, slots=True)
class Check(DocumentRequest):
    """What a person should know before training goes on. Result: a CheckReport.

    Attributes
    ----------
    with_values
        False for the checks that need no values; they come at once.
    """

    lane: ClassVar[LaneName] = "compute"

    device: str = "cpu"
    with_values: bool = True

    @property
    def doing(self) -> str:
        return "checking a checkpoint"


@dataclass(frozen=True, slots=True)
class Brief(DocumentRequest):
    """A few numbers about each of many tensors. Result: a dict of TensorBrief by tensor number."""

    lane: ClassVar[LaneName] = "compute"

    tensors: tuple[int, ...]
    device: str = "cpu"

    @property
    def doing(self) -> str:
        return "computing the norms of tensors"


@dataclass(frozen=True, slots=True)
class ScaleUpdate(DocumentRequest):
    """How far Adam would move a parameter with the stored moments. Result: an UpdateScale.

    Attributes
    ----------
    exp_avg, exp_avg_sq
        Tensor numbers of the moments.
    lr, betas, eps, step
        Of the entry and its group.
    """

    lane: ClassVar[LaneName] = "compute"

    exp_avg: int
    exp_avg_sq: int
    lr: float
    betas: tuple[float, float]
    eps: float
    step: float
    device: str = "cpu"

    @property
    def doing(self) -> str:
        return "computing the size of an update"
