"""Rename rules that would explain names without a partner, and tensors that look like one under two names. Both are
only offered."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from typing import Final

from viewer.checkpoint.dtypes import DTYPES
from viewer.checkpoint.nodes import Kind
from viewer.checkpoint.paths import format_path
from viewer.checkpoint.tensors import numel_of
from viewer.compare.align import NOTHING, Alignment, Side
from viewer.compare.results import RenameOffer, RenamePair, RenameRule, Status

_ANYWHERE: Final = ("module.", "_orig_mod.", "_fsdp_wrapped_module.", "_checkpoint_wrapped_module.")
"""Wrappers that torch puts around modules at any depth: DataParallel and DistributedDataParallel, torch.compile,
FSDP, activation checkpointing."""

_SEPARATOR: Final = re.compile(r"[./](?=.)")
_SAMPLE: Final = 300
_MAX_RULES: Final = 8
_MAX_OFFERS: Final = 6
_MAX_LEAVES: Final = 200_000
"""Names without a partner beyond which nothing is offered: the two are no versions of each other."""


def rename_offers(alignment: Alignment) -> list[RenameOffer]:
    """Rules that give partners to tensors of which each side has some without, the best first."""
    left, right = _unmatched(alignment.a), _unmatched(alignment.b)
    if not left or not right or len(left) + len(right) > _MAX_LEAVES:
        return []
    rules = [rule for heads, _ in _votes(left, right).most_common(_MAX_RULES) if (rule := _head_rule(*heads))]
    some = [*_sample(left), *_sample(right)]
    rules += [RenameRule(re.escape(word), "") for word in _ANYWHERE if any(word in path for path in some)]
    offers: dict[tuple[int, tuple[str, str]], RenameOffer] = {}
    for rule in rules:
        offer = _try(rule, left, right, alignment)
        if offer is not None:
            offers.setdefault((offer.matches, offer.example), offer)
    best = sorted(offers.values(), key=_usefulness, reverse=True)
    return best[:_MAX_OFFERS]


def _sample(paths: dict[str, int]) -> list[str]:
    """Some hundred names from all over."""
    return list(paths)[:: max(1, len(paths) // _SAMPLE)]


def _votes(left: dict[str, int], right: dict[str, int]) -> Counter[tuple[str, str]]:
    """Which heads of names, of a and of b, stand before the same endings."""
    votes: Counter[tuple[str, str]] = Counter()
    for path in _sample(right):
        votes.update(("", head) for ending, head in _endings(path) if head and ending in left)
    for path in _sample(left):
        votes.update((head, "") for ending, head in _endings(path) if head and ending in right)
    if votes:
        return votes
    by_ending: defaultdict[str, list[str]] = defaultdict(list)
    for path in left:
        for ending, head in _endings(path):
            # Of endings that many names share two are enough to know it.
            if len(by_ending[ending]) < 2:
                by_ending[ending].append(head)
    for path in _sample(right):
        for ending, head in _endings(path):
            found = by_ending.get(ending, ())
            if len(found) == 1:
                votes[found[0], head] += 1
            if found:
                break
    return votes


def _usefulness(offer: RenameOffer) -> tuple[int, int]:
    return offer.same_shape, offer.matches


def _unmatched(side: Side) -> dict[str, int]:
    """Tensors without a partner: node by path, below the compared root."""
    kind = side.nodes.kind
    return {
        format_path(side.name_of(node)): node
        for node in side.left_leaves()
        if kind[node] == Kind.TENSOR and node not in side.partner
    }


def _endings(path: str) -> list[tuple[str, str]]:
    """Endings of a path at its dots and slashes, the longest first, each with what stands before it."""
    found = [(path, "")]
    found += [(path[match.end() :], path[: match.end()]) for match in _SEPARATOR.finditer(path)]
    return found


def _head_rule(head_a: str, head_b: str) -> RenameRule | None:
    if head_a == head_b:
        return None
    if not head_a:
        return RenameRule("^" + re.escape(head_b), "", "b")
    if not head_b:
        return RenameRule("^" + re.escape(head_a), "", "a")
    return RenameRule("^" + re.escape(head_a), head_b.replace("\\", r"\\"), "a")


def _try(rule: RenameRule, left: dict[str, int], right: dict[str, int], alignment: Alignment) -> RenameOffer | None:
    """What a rule would do; None where it gives nobody a partner or two names one."""
    pattern = re.compile(rule.pattern)
    renamed: list[dict[str, str]] = []
    for side, paths in (("a", left), ("b", right)):
        new = {path: pattern.sub(rule.replacement, path) if rule.side in ("", side) else path for path in paths}
        if len(set(new.values())) != len(new):
            return None
        renamed.append({name: path for path, name in new.items()})
    both = renamed[0].keys() & renamed[1].keys()
    if not both:
        return None
    a, b = alignment.a.checkpoint, alignment.b.checkpoint
    same_shape = 0
    for name in both:
        node_a, node_b = left[renamed[0][name]], right[renamed[1][name]]
        tensor_a, tensor_b = a.nodes.value[node_a], b.nodes.value[node_b]
        same_shape += a.tensors.shape[tensor_a] == b.tensors.shape[tensor_b]  # type: ignore[call-overload]
    if not same_shape:
        return None
    example = min(both)
    return RenameOffer(rule, len(both), same_shape, (renamed[0][example], renamed[1][example]))


def renamed_pairs(alignment: Alignment) -> list[RenamePair]:
    """Tensors of one side alone that are the only ones of their shape and dtype on both sides."""
    rows = alignment.rows
    groups: list[dict[tuple[object, ...], list[int]]] = []
    for side, nodes, status in (
        (alignment.a, rows.node_a, Status.REMOVED),
        (alignment.b, rows.node_b, Status.ADDED),
    ):
        found: dict[tuple[object, ...], list[int]] = defaultdict(list)
        table, tensors = side.nodes, side.checkpoint.tensors
        for row, node in enumerate(nodes):
            if node == NOTHING or rows.status[row] != status or table.kind[node] != Kind.TENSOR:
                continue
            number = table.value[node]
            assert isinstance(number, int)
            # One-element tensors (steps, counters) are all alike.
            if numel_of(tensors.shape[number]) > 1:
                found[tensors.shape[number], DTYPES[tensors.dtype[number]].name].append(row)
        groups.append(found)
    left, right = groups
    return [
        RenamePair(found[0], right[key][0], "the only tensors of this shape")
        for key, found in left.items()
        if len(found) == 1 and len(right.get(key, ())) == 1
    ]
