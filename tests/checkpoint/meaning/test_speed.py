"""A hundred thousand parameters are named within two seconds."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from tests.checkpoint.meaning.handmade import Columns
from viewer.checkpoint.meaning.recognise import recognise_task
from viewer.task import run

N = 100_000
_SHAPES = {"attention.weight": (8, 8), "attention.bias": (8,), "mlp.weight": (32, 8), "mlp.bias": (32,)}


def _one_group(names: list[str]) -> list[list[str]]:
    return [names]


def _by_decay(names: list[str]) -> list[list[str]]:
    return [[name for name in names if name.endswith("weight")], [name for name in names if name.endswith("bias")]]


@pytest.mark.parametrize("grouping", [_one_group, _by_decay], ids=["one group", "two groups"])
@pytest.mark.parametrize("named", [False, True], ids=["by order", "by param_names"])
def test_that_a_hundred_thousand_parameters_are_named_within_two_seconds(
    grouping: Callable[[list[str]], list[list[str]]], named: bool
) -> None:
    columns = Columns()
    shapes = {
        f"layers.{nth // 4}.{name}": shape for nth, (name, shape) in enumerate(list(_SHAPES.items()) * (N // 4))
    }
    model = {name: columns.tensor(*shape) for name, shape in shapes.items()}
    groups = grouping(list(shapes))
    truth = [name for group in groups for name in group]
    state = {
        nth: {
            "step": columns.tensor(),
            "exp_avg": columns.tensor(*shapes[name]),
            "exp_avg_sq": columns.tensor(*shapes[name]),
        }
        for nth, name in enumerate(truth)
    }
    number = {name: nth for nth, name in enumerate(truth)}
    param_groups = [
        {"lr": 0.1, "betas": (0.9, 0.99), "eps": 1e-8, "amsgrad": False, "params": [number[name] for name in group]}
        | ({"param_names": group} if named else {})
        for group in groups
    ]
    checkpoint = columns.checkpoint({"model": model, "optimizer": {"state": state, "param_groups": param_groups}})
    began_s = time.process_time()
    recognition = run(recognise_task(checkpoint))
    took_s = time.process_time() - began_s
    (optimizer,) = recognition.optimizers
    assert optimizer.entries.name == truth
    assert took_s < 2.0
