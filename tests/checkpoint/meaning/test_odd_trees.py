"""Whatever a tree holds under the names that are looked for, nothing fails."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.checkpoint.meaning.handmade import Columns
from viewer.checkpoint.meaning.look import Look
from viewer.checkpoint.meaning.module_tree import module_tree
from viewer.checkpoint.meaning.recognise import recognise_task
from viewer.checks.run import check_task
from viewer.formats.pickle.standins import ObjectStandIn
from viewer.report.check_report import check_json, iter_check_text
from viewer.report.optimizer_json import iter_optimizer_json
from viewer.report.optimizer_text import iter_optimizer_text
from viewer.task import run

_WORDS = [
    "state", "param_groups", "params", "param_names", "lr", "betas", "amsgrad", "exp_avg", "exp_avg_sq", "step", "0",
    "a.weight", "a.bias", "module.a.weight", "_metadata", "_modules", "_parameters", "_buffers", "last_epoch",
    "base_lrs", "scale", "growth_factor", "backoff_factor", "growth_interval", "pytorch-lightning_version", "epoch",
    "state.a.weight.exp_avg", "param_groups.a.weight.lr", "param_groups.", "state.", "", ".", "row_var", "col_var",
]  # fmt: skip
_KEYS = st.one_of(st.sampled_from(_WORDS), st.integers(-1, 3), st.just((1, 2)), st.none(), st.booleans())
_TENSORS = st.tuples(st.sampled_from(["float32", "int64", "uint8"]), st.lists(st.integers(0, 3), max_size=3))
_LEAVES = st.one_of(
    st.integers(-2, 2),
    st.just(2**70),
    st.floats(),
    st.text(max_size=3),
    st.none(),
    _TENSORS,
)


def _containers(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    group = st.fixed_dictionaries(
        {"params": st.lists(_KEYS, max_size=4)}, optional={"param_names": inner, "lr": inner}
    )
    return st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(_KEYS, inner, max_size=6),
        st.dictionaries(_KEYS, inner, max_size=6).map(lambda state: ("object", state)),
        st.fixed_dictionaries({"state": st.dictionaries(_KEYS, inner, max_size=4), "param_groups": st.lists(group)}),
        st.dictionaries(_KEYS.filter(lambda key: isinstance(key, str)), _TENSORS, min_size=1, max_size=5),
    )


def _built(tree: Any, columns: Columns) -> object:
    match tree:
        case list():  # first: a pattern of two matches lists as well as the tuples that stand for objects and tensors
            return [_built(item, columns) for item in tree]
        case ("object", dict() as state):
            made = ObjectStandIn("net.Thing")
            made.__setstate__({key: _built(item, columns) for key, item in state.items()})
            return made
        case (str() as dtype, list() as shape):
            return columns.tensor(*shape, dtype=dtype)
        case dict():
            return {key: _built(item, columns) for key, item in tree.items()}
    return tree


@settings(max_examples=300, deadline=None)
@example(tree=["", []])
@given(st.recursive(_LEAVES, _containers, max_leaves=30))
def test_that_any_tree_is_recognised_checked_and_reported(tree: Any) -> None:
    columns = Columns()
    checkpoint = columns.checkpoint(_built(tree, columns))
    recognition = run(recognise_task(checkpoint))
    for facts in recognition.state_dicts:
        rows = module_tree(Look(checkpoint), facts)
        assert sum(1 for entry in rows.entry if entry >= 0) == len(facts.entry)
    for optimizer in recognition.optimizers:
        entries = optimizer.entries
        columns_of_entries = (
            entries.name,
            entries.candidates,
            entries.group,
            entries.state,
            entries.fits,
            entries.shape,
        )
        assert {len(column) for column in columns_of_entries} == {len(entries)}
    report = run(check_task(checkpoint, recognition, with_values=False))
    json.loads("".join(iter_optimizer_json(checkpoint, recognition, {})))
    json.loads(check_json(checkpoint, report))
    assert "".join(iter_optimizer_text(checkpoint, recognition, {}))
    assert "".join(iter_check_text(checkpoint, report))
