"""Which parameter an entry of an optimizer's `state` belongs to, so that entries are matched by that and not by their
number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.nodes import Key, Kind


@dataclass(frozen=True, slots=True)
class OptimizerIds:
    """The parameters of one optimizer.

    Attributes
    ----------
    state
        The node of `state`.
    order
        The ids in `param_groups`, in order: the position of an id says which parameter it is, whatever its number
        (old files have memory addresses).
    places
        The nodes at which they stand there.
    names
        Parameter names by id, where all are known: from `param_names` of groups that were built from named
        parameters, or from the model beside the optimizer.
    """

    state: int
    order: tuple[int, ...]
    places: tuple[int, ...]
    names: dict[int, str] = field(default_factory=dict)


def optimizer_ids(checkpoint: Checkpoint, node: int) -> OptimizerIds | None:
    """The ids of an optimizer's state_dict; None where `node` is none."""
    nodes = checkpoint.nodes
    if nodes.kind[node] != Kind.MAPPING:
        return None
    found = {nodes.key[child]: child for child in nodes.children(node)}
    state, groups = found.get("state"), found.get("param_groups")
    if state is None or groups is None:
        return None
    if nodes.kind[state] != Kind.MAPPING or nodes.kind[groups] != Kind.SEQUENCE:
        return None
    order: list[int] = []
    places: list[int] = []
    names: dict[int, str] = {}
    for group in nodes.children(groups):
        entries = {nodes.key[child]: child for child in nodes.children(group)}
        listed = [node for node in _below(checkpoint, entries.get("params")) if type(nodes.value[node]) is int]
        ids = [value for node in listed if isinstance(value := nodes.value[node], int)]
        labels = [
            value
            for node in _below(checkpoint, entries.get("param_names"))
            if isinstance(value := nodes.value[node], str)
        ]
        order += ids
        places += listed
        if len(labels) == len(ids):
            names.update(zip(ids, labels, strict=True))
    if not order or len(set(order)) != len(order):
        return None
    return OptimizerIds(state, tuple(order), tuple(places), names if _name_all(names, order) else {})


def with_model_names(
    checkpoint: Checkpoint, node: int, ids: OptimizerIds, model: Checkpoint | None = None
) -> OptimizerIds:
    """The ids with the names that the model beside the optimizer gives them; as they are where it leaves a doubt.

    Parameters
    ----------
    model
        Another checkpoint whose models give the names, for an optimizer that was saved by itself.
    """
    from viewer.checkpoint.meaning.recognise import recognise_task
    from viewer.task import run

    for facts in run(recognise_task(checkpoint, model)).optimizers:
        if facts.node != node:
            continue
        entries = facts.entries
        names = {
            number: name
            for number, name in zip(entries.id, entries.name, strict=True)
            if isinstance(number, int) and name is not None
        }
        if _name_all(names, ids.order):
            return replace(ids, names=names)
    return ids


def named_by_either(
    a: Checkpoint, node_a: int, ids_a: OptimizerIds, b: Checkpoint, node_b: int, ids_b: OptimizerIds
) -> tuple[OptimizerIds, OptimizerIds, list[str]]:
    """The ids of both sides with names, where a model on either side gives them; and what to say about it."""
    notes: list[str] = []
    if not ids_a.names:
        ids_a = with_model_names(a, node_a, ids_a)
    if not ids_b.names:
        ids_b = with_model_names(b, node_b, ids_b)
    if bool(ids_a.names) == bool(ids_b.names):
        return ids_a, ids_b, notes
    bare, other = ("b", "a") if ids_a.names else ("a", "b")
    if ids_a.names:
        ids_b = with_model_names(b, node_b, ids_b, a)
    else:
        ids_a = with_model_names(a, node_a, ids_a, b)
    if ids_a.names and ids_b.names:
        notes.append(f"{bare} has an optimizer and not its model; its entries are named by the model of {other}")
    else:
        notes.append(
            f"{bare} has an optimizer and not its model, and the model of {other} does not fit it: entries are "
            "matched by their position in the optimizer"
        )
    return ids_a, ids_b, notes


def _name_all(names: dict[int, str], order: Sequence[int]) -> bool:
    """Whether every id has a name of its own."""
    return names.keys() >= set(order) and len(set(names.values())) == len(names)


def matching_keys(a: OptimizerIds, b: OptimizerIds) -> tuple[dict[Key, Key], dict[Key, Key]]:
    """For both sides, the key under which an id of `state` is matched: its name where both have names, else its
    position."""
    if a.names and b.names:
        return dict(a.names.items()), dict(b.names.items())
    return (
        {number: position for position, number in enumerate(a.order)},
        {number: position for position, number in enumerate(b.order)},
    )


def position_warning(a: Checkpoint, ids_a: OptimizerIds, b: Checkpoint, ids_b: OptimizerIds) -> str | None:
    """A sentence where entries matched by position cannot be of the same parameter, since their shapes differ."""
    if ids_a.names and ids_b.names:
        return None
    shapes_a, shapes_b = _entry_shapes(a, ids_a), _entry_shapes(b, ids_b)
    wrong = [
        at
        for at, (left, right) in enumerate(zip(shapes_a, shapes_b, strict=False))
        if left is not None and right is not None and left != right
    ]
    if not wrong:
        return None
    at = wrong[0]
    text = (
        f"the optimizer's entries are matched by position, since the files do not name the parameters, and their "
        f"shapes differ at {at}: {_shape(shapes_a[at])} against {_shape(shapes_b[at])}"
    )
    order = _reordering(shapes_a, shapes_b)
    if order is not None:
        text += f"; they agree when b's are taken in the order {', '.join(map(str, order))}"
    return text


def _below(checkpoint: Checkpoint, node: int | None) -> range:
    return range(0) if node is None else checkpoint.nodes.children(node)


def _entry_shapes(checkpoint: Checkpoint, ids: OptimizerIds) -> list[tuple[int, ...] | None]:
    """The shape of the largest tensor of each entry, by position."""
    nodes = checkpoint.nodes
    by_id: dict[Key, tuple[int, ...]] = {}
    for entry in nodes.children(ids.state):
        shapes = [
            checkpoint.tensors.shape[number]
            for child in nodes.children(entry)
            if nodes.kind[child] == Kind.TENSOR and isinstance(number := nodes.value[child], int)
        ]
        if shapes:
            by_id[nodes.key[entry]] = max(shapes, key=len)
    return [by_id.get(number) for number in ids.order]


def _reordering(left: list[tuple[int, ...] | None], right: list[tuple[int, ...] | None]) -> list[int] | None:
    """The positions of `right` in the order of `left`, where shapes leave no choice."""
    if len(left) != len(right) or len(set(left)) != len(left) or set(left) != set(right):
        return None
    return [right.index(shape) for shape in left]


def _shape(shape: tuple[int, ...] | None) -> str:
    return "nothing" if shape is None else str(shape)
