"""Recognise what the parts of a checkpoint are, wherever they stand, by their content.

Containers are looked at from the root down; what is recognised is not looked into any further, so an optimizer with a
hundred thousand entries is one step. Nothing is read from the file: the columns are enough.
"""

from __future__ import annotations

from typing import Final

from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.meaning.habits import label_habits
from viewer.checkpoint.meaning.look import Look
from viewer.checkpoint.meaning.models import is_module, module_facts, state_dict_evidence, state_dict_facts
from viewer.checkpoint.meaning.naming import name_entries
from viewer.checkpoint.meaning.optimizers import RawOptimizer, is_optimizer, read_optimizer
from viewer.checkpoint.meaning.optimizers_flat import is_flat_optimizer, read_flat_optimizer
from viewer.checkpoint.meaning.parts import part_at, rng_tensor
from viewer.checkpoint.meaning.results import Label, Recognition, StateDictFacts
from viewer.checkpoint.nodes import Kind
from viewer.task import Progress, Task

_CONTAINERS: Final = frozenset(map(int, (Kind.MAPPING, Kind.SEQUENCE, Kind.OBJECT, Kind.GROUP)))
_TENSOR: Final = int(Kind.TENSOR)
_PER_STEP: Final = 2_000


def recognise_task(checkpoint: Checkpoint, model: Checkpoint | None = None) -> Task[Recognition]:
    """What the parts of a checkpoint are, and which parameter each optimizer entry belongs to.

    Parameters
    ----------
    model
        Another checkpoint whose models give the names, for optimizers that were saved in a file of their own. Nodes
        of parameters then are not this checkpoint's and are left out.
    """
    look = Look(checkpoint)
    found = Recognition()
    raws = yield from _walk_task(look, found)
    yield Progress(0, len(raws), "optimizers")
    others: list[StateDictFacts] = []
    if model is not None:
        elsewhere = Recognition()
        yield from _walk_task(Look(model), elsewhere)
        others = elsewhere.state_dicts
    for done, raw in enumerate(raws):
        if model is None:
            name_entries(look, raw, found.state_dicts)
        else:
            name_entries(Look(model), raw, others, elsewhere=True)
        found.optimizers.append(raw.facts)
        found.labels[raw.facts.node] = Label(f"optimizer ({raw.facts.kind})", raw.facts.kind_known, raw.facts.why)
        yield Progress(done + 1, len(raws), "optimizers")
    label_habits(look, found)
    return found


def _walk_task(look: Look, found: Recognition) -> Task[list[RawOptimizer]]:
    """Label everything but the optimizers' entries; returns the optimizers."""
    nodes = look.nodes
    raws: list[RawOptimizer] = []
    stack = [0]
    seen = 0
    while stack:
        node = stack.pop()
        seen += 1
        if seen % _PER_STEP == 1:
            yield Progress(seen, 0, "nodes")
        if _recognise(look, node, found, raws):
            continue
        children = nodes.children(node)
        kinds = nodes.kind[children.start : children.stop]
        if _TENSOR in kinds:
            for child, kind in zip(children, kinds, strict=True):
                if kind == _TENSOR and (state := rng_tensor(look, child)) is not None:
                    found.labels[child], part = state
                    found.parts.append(part)
        stack += [child for child, kind in zip(children, kinds, strict=True) if kind in _CONTAINERS][::-1]
    return raws


def _recognise(look: Look, node: int, found: Recognition, raws: list[RawOptimizer]) -> bool:
    """Label a container; True where there is no need to look into it."""
    if look.nodes.kind[node] in (Kind.MAPPING, Kind.OBJECT, Kind.GROUP):
        if is_optimizer(look, node):
            raws.append(read_optimizer(look, node))
            return True
        if is_flat_optimizer(look, node):
            raws.append(read_flat_optimizer(look, node))
            return True
        if is_module(look, node):
            name = look.class_name(node)
            found.labels[node] = Label(
                f"module ({name.rpartition('.')[2]})", True, f"the file names the class {name}"
            )
            found.state_dicts.append(module_facts(look, node))
            return True
        evidence = state_dict_evidence(look, node)
        if evidence is not None:
            facts = state_dict_facts(look, node)
            found.state_dicts.append(facts)
            text = "averaged model state_dict" if facts.averaged else "model state_dict"
            found.labels[node] = Label(text, *evidence)
            return True
    part = part_at(look, node)
    if part is None:
        return False
    found.labels[node], facts_of_part = part
    found.parts.append(facts_of_part)
    return True
