"""Optimizers whose state is one flat mapping: "state.layer.weight.exp_avg", "param_groups.layer.weight.lr".

torch.distributed.checkpoint writes them with `StateDictOptions(flatten_optimizer_state_dict=True)`
(torch/distributed/checkpoint/state_dict.py: _flatten_optim_state_dict). Each parameter has its hyperparameters of its
own; those that have the same are shown as one group.
"""

from __future__ import annotations

from typing import Final

from viewer.checkpoint.meaning.look import Look
from viewer.checkpoint.meaning.moments import shape_of_members
from viewer.checkpoint.meaning.optimizer_kinds import kind_of
from viewer.checkpoint.meaning.optimizers import RawOptimizer, differing, extend, nbytes_below, plain_value
from viewer.checkpoint.meaning.results import GroupFacts, OptimizerFacts
from viewer.checkpoint.nodes import Kind

_STATE: Final = "state."
_GROUPS: Final = "param_groups."


def is_flat_optimizer(look: Look, node: int) -> bool:
    """Whether every key begins as these do, and both kinds are there."""
    if look.nodes.kind[node] != Kind.MAPPING:
        return False
    children = look.nodes.children(node)
    keys = look.nodes.key[children.start : children.stop]
    if not keys or not isinstance(keys[0], str) or not keys[0].startswith((_STATE, _GROUPS)):
        return False
    texts = [key for key in keys if isinstance(key, str) and key.startswith((_STATE, _GROUPS))]
    return len(texts) == len(keys) and any(key.startswith(_GROUPS) for key in texts)


def read_flat_optimizer(look: Look, node: int) -> RawOptimizer:
    """The optimizer at a node for which `is_flat_optimizer` holds."""
    states: dict[str, dict[str, int]] = {}
    hyper: dict[str, dict[str, int]] = {}
    for key, child in look.named(node).items():
        where, lead = (states, _STATE) if key.startswith(_STATE) else (hyper, _GROUPS)
        name, _, last = key[len(lead) :].rpartition(".")
        where.setdefault(name, {})[last] = child
    groups: dict[object, list[str]] = {}
    for name, members in hyper.items():
        plain = tuple((key, repr(plain_value(look, child))) for key, child in members.items())
        groups.setdefault(plain, []).append(name)
    first = next(iter(hyper.values()), {})
    state_keys = frozenset(next(iter(states.values()), {}))
    kind, known, why = kind_of({key: plain_value(look, child) for key, child in first.items()}, state_keys)
    facts = OptimizerFacts(node, kind, known, why, state=node)
    raw = RawOptimizer(facts, look.key_text(node))
    tables = [{key: plain_value(look, child) for key, child in hyper[names[0]].items()} for names in groups.values()]
    for number, names in enumerate(groups.values()):
        start = len(facts.entries)
        _append(raw, names, number, states)
        raw.groups.append(range(start, len(facts.entries)))
        facts.groups.append(GroupFacts(node, len(names), tuple(hyper[names[0]].items()), differing(tables)))
    _append(raw, [name for name in states if name not in hyper], -1, states)
    raw.shapes = [shape_of_members(look, facts.entries.parts.get(nth, {})) for nth in range(len(facts.entries))]
    facts.entries.shape = [found.shape for found in raw.shapes]
    facts.state_nbytes = nbytes_below(look, node)
    return raw


def _append(raw: RawOptimizer, names: list[str], group: int, states: dict[str, dict[str, int]]) -> None:
    entries = raw.facts.entries
    first = len(entries)
    extend(raw, names, group, [-1] * len(names), [None] * len(names), [-1] * len(names))
    entries.parts |= {first + nth: states[name] for nth, name in enumerate(names) if name in states}
