"""Dotted names as a module tree, for display: `layer1.0.conv1.weight` stands under `layer1` and `0`.

The innermost groups are not worth a level of their own: one that holds nothing but up to 12 names is written out in
its parent (`conv1.weight`, `conv1.bias`). A group whose only content is another group shares its row
(`encoder.layers`).
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from typing import Final, TypeAlias, Union

from viewer.checkpoint.nodes import Key, OtherKey

MAX_INLINED: Final = 12
"""A BatchNorm holds 5 names, an LSTM layer 8 to 12; larger groups are worth a row to fold."""

Group: TypeAlias = dict[str, Union[int, "Group"]]
"""What a group holds by the next part of the name: a node, or another group. In the order of the file."""

_TWIN: Final = "\0"
"""Ends the entry of a name whose last part is also a group ("scale" beside "scale.log"). No dotted name holds it."""

_SLICE: Final = 2048


def count_entries(keys: Sequence[Key]) -> int:
    """How many children of a mapping are its entries; attributes (`_metadata` of a state_dict) come after them."""
    count = len(keys)
    while count and isinstance(key := keys[count - 1], OtherKey) and key.text.startswith("._"):
        count -= 1
    return count


def join_names(keys: Iterable[Key]) -> str | None:
    """The keys as one text, for `is_dotted`; None where not all of them are names."""
    try:
        return " ".join(keys)  # type: ignore[arg-type]  # raises for others, at C speed
    except TypeError:
        return None


def is_dotted(joined: str) -> bool:
    """True where some of the names are made of several parts, and none has an empty part or cannot be printed."""
    return (
        "." in joined
        and ".." not in joined
        and " ." not in joined
        and ". " not in joined
        and not joined.startswith(".")
        and not joined.endswith(".")
        and joined.isprintable()
    )


def split_names(keys: Iterable[Key], first_node: int) -> Generator[None, None, Group]:
    """The names of a mapping as groups inside each other; its children begin at `first_node`. Yields now and then."""
    root: Group = {}
    groups = {"": root}  # by dotted prefix
    for node, key in enumerate(keys, first_node):
        prefix, _, last = str(key).rpartition(".")
        group = groups.get(prefix)
        if group is None:
            group = _make_group(groups, prefix)
        if last in group:
            last += _TWIN
        group[last] = node
        if node % _SLICE == 0:
            yield
    return root


def _make_group(groups: dict[str, Group], prefix: str) -> Group:
    missing = []
    while prefix not in groups:
        missing.append(prefix)
        prefix = prefix.rpartition(".")[0]
    group = groups[prefix]
    for prefix in reversed(missing):
        last = prefix.rpartition(".")[2]
        if last in group:  # a name of its own too
            group[last + _TWIN] = group[last]
        inner: Group = {}
        group[last] = groups[prefix] = inner
        group = inner
    return group


def expand(group: Group) -> tuple[list[str], list[int], dict[int, Group]]:
    """The rows inside a group.

    Returns
    -------
    labels, nodes
        Of each row; the node is -1 where the row is a group itself.
    groups
        Those, by position.
    """
    labels: list[str] = []
    nodes: list[int] = []
    groups: dict[int, Group] = {}
    for part, inside in group.items():
        label = part.removesuffix(_TWIN)
        while isinstance(inside, dict):
            if len(inside) > 1:
                break
            ((part, inside),) = inside.items()
            label += "." + part
        if isinstance(inside, int):
            labels.append(label)
            nodes.append(inside)
        elif len(inside) <= MAX_INLINED and all(isinstance(node, int) for node in inside.values()):
            for part, node in inside.items():
                assert isinstance(node, int)
                labels.append(f"{label}.{part}")
                nodes.append(node)
        else:
            groups[len(labels)] = inside
            labels.append(label)
            nodes.append(-1)
    return labels, nodes, groups
