"""Adam's next step as far as the stored moments tell: which numbers of an entry it takes. Free of Qt."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from viewer.checkpoint.tensors import numel_of
from viewer.engine.meaning_requests import ScaleUpdate
from viewer.gui.meaning.entry_rows import EntryRows
from viewer.tensors.brief import TensorBrief

_HAT: Final = "\N{COMBINING CIRCUMFLEX ACCENT}"
FORMULA: Final = "lr · m_hat / (√v_hat + eps)"
_KINDS: Final = ("Adam", "AdamW", "Adam or AdamW", "FusedAdam")
"""Those whose step is `FORMULA`; NAdam and RAdam write the same moments and step otherwise."""


def spelled(formula: str) -> str:
    """A formula with its hats written out: the faces of many systems leave combining marks away, which would say m
    and v of what is m and v with their bias corrected."""
    return formula.replace(_HAT, "_hat")


@dataclass(frozen=True, slots=True)
class AdamEntry:
    """The numbers of one entry.

    Attributes
    ----------
    exp_avg, exp_avg_sq
        Tensor numbers of the moments; with amsgrad the second is max_exp_avg_sq.
    lr, step, beta1, beta2, eps
        A number, or the number of a tensor that has it.
    """

    exp_avg: int
    exp_avg_sq: int
    lr: float | _Tensor
    beta1: float | _Tensor
    beta2: float | _Tensor
    eps: float | _Tensor
    step: float | _Tensor
    numel: int

    def missing(self, briefs: Mapping[int, TensorBrief]) -> list[int]:
        """Tensors of single numbers that have to be read first."""
        parts = (self.lr, self.beta1, self.beta2, self.eps, self.step)
        return [part.number for part in parts if isinstance(part, _Tensor) and part.number not in briefs]

    def request(self, document: int, briefs: Mapping[int, TensorBrief], device: str) -> ScaleUpdate | None:
        """What to ask the engine; None where a number cannot be read."""
        values: list[float] = []
        for part in (self.lr, self.beta1, self.beta2, self.eps, self.step):
            if isinstance(part, _Tensor):
                brief = briefs.get(part.number)
                if brief is None or not isinstance(brief.value, (int, float)):
                    return None
                values.append(float(brief.value))
            else:
                values.append(part)
        lr, beta1, beta2, eps, step = values
        return ScaleUpdate(document, self.exp_avg, self.exp_avg_sq, lr, (beta1, beta2), eps, step, device)


@dataclass(frozen=True, slots=True)
class _Tensor:
    """A number that the file keeps as a tensor."""

    number: int


def adam_entry(rows: EntryRows, row: int) -> AdamEntry | None:
    """The numbers of a row; None where it is not Adam's, or the file does not have them all."""
    optimizer = rows.optimizer
    group = rows.group(row)
    if optimizer.kind not in _KINDS or group < 0 or "exp_avg" not in rows.nodes or "exp_avg_sq" not in rows.nodes:
        return None
    settings = dict(optimizer.groups[group].hyperparameters)
    second = "exp_avg_sq"
    if rows.look.scalar(settings.get("amsgrad")) is True and "max_exp_avg_sq" in rows.nodes:
        second = "max_exp_avg_sq"
    exp_avg, exp_avg_sq = rows.tensor("exp_avg", row), rows.tensor(second, row)
    betas = settings.get("betas")
    if exp_avg is None or exp_avg_sq is None or betas is None:
        return None
    items = rows.look.items(betas)
    step = rows.steps[row] if rows.steps[row] >= 0 else settings.get("step")
    if len(items) != 2:
        return None
    numbers = [_number(rows, node) for node in (settings.get("lr"), *items, settings.get("eps"), step)]
    lr, beta1, beta2, eps, steps = numbers
    if lr is None or beta1 is None or beta2 is None or eps is None or steps is None:
        return None
    numel = numel_of(rows.checkpoint.tensors.shape[exp_avg])
    return AdamEntry(exp_avg, exp_avg_sq, lr, beta1, beta2, eps, steps, numel)


def _number(rows: EntryRows, node: int | None) -> float | _Tensor | None:
    value = rows.look.number(node)
    if value is not None:
        return float(value)
    number = rows.look.tensor(node)
    return None if number is None else _Tensor(number)
