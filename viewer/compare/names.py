"""Names under which the parts of two checkpoints are matched: paths, rules that rewrite them, flat against nested."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.nodes import Key
from viewer.checkpoint.paths import format_path, parse_path
from viewer.compare.options import RenameRule
from viewer.compare.rewriting import rewritten
from viewer.errors import BadPath, ViewerError

Name = tuple[Key, ...]

_TOLD: Final = 3
"""Names that a warning lists."""


def parse_rule(text: str) -> RenameRule:
    """A rule as a person types it: `REGEX=>REPLACEMENT`, with `a:` or `b:` before it for one side alone.

    Raises
    ------
    ViewerError
        When there is no `=>`, or the pattern or the replacement is not one.
    """
    body, side = text, ""
    if text[:2] in ("a:", "b:"):
        body, side = text[2:], text[0]
    pattern, arrow, replacement = body.rpartition("=>")
    if not arrow or not pattern:
        raise ViewerError(
            f"{text!r} is not a rename rule", advice=r"Write REGEX=>REPLACEMENT, for example '^module\.=>'"
        )
    rule = RenameRule(pattern, replacement, side)
    _check(rule)
    return rule


def _check(rule: RenameRule) -> None:
    """Raise ViewerError for a rule that cannot be applied, without looking for a match: that may take for ever."""
    try:
        pattern = re.compile(rule.pattern)
        # A template is parsed when it is first used: groups of the same numbers and names that match at once use it.
        names = {number: name for name, number in pattern.groupindex.items()}
        groups = (f"(?P<{names[at]}>)" if at in names else "()" for at in range(1, pattern.groups + 1))
        re.sub("".join(groups), rule.replacement, "")
    except (re.error, IndexError, OverflowError, RecursionError) as error:
        raise ViewerError(
            f"the rename rule {rule} is not a regular expression and its replacement ({error})",
            advice=r"A dot is written \., and groups in the replacement \1",
        ) from error


def split_name(keys: Iterable[Key]) -> Name:
    """A name in which nested and dotted keys are the same: ("layer1", "0.weight") is ("layer1", "0", "weight")."""
    parts: list[Key] = []
    for key in keys:
        if isinstance(key, str) and "." in key:
            parts += key.split(".")
        else:
            parts.append(key)
    return tuple(parts)


@dataclass(slots=True)
class Renames:
    """The leaves of one side whose names the rules change.

    Attributes
    ----------
    names
        The new name by node.
    warnings
        Collisions, in words.
    """

    names: dict[int, Name] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)


def rename(
    checkpoint: Checkpoint, root: int, leaves: Sequence[int], rules: Sequence[RenameRule], side: str
) -> Renames:
    """Apply rules to the paths of leaves, below `root`.

    Where two leaves would end under one name, both keep their own.

    Raises
    ------
    ViewerError
        When the rules take too long, or make names too long.
    """
    wanted = [rule for rule in rules if rule.side in ("", side)]
    renames = Renames()
    if not wanted:
        return renames
    depth = len(checkpoint.nodes.keys_to(root))
    paths = [format_path(checkpoint.nodes.keys_to(node)[depth:]) for node in leaves]
    new_names: dict[int, str] = {}
    taken: dict[str, list[int]] = {}
    for node, path, new in zip(leaves, paths, rewritten(wanted, paths), strict=True):
        if new != path:
            new_names[node] = new
        taken.setdefault(new, []).append(node)
    collisions = {name: nodes for name, nodes in taken.items() if len(nodes) > 1}
    for nodes in collisions.values():
        for node in nodes:
            new_names.pop(node, None)
    if collisions:
        told = ", ".join(repr(name) for name in list(collisions)[:_TOLD])
        more = " …" if len(collisions) > _TOLD else ""
        renames.warnings.append(
            f"the rename rules give {_names(len(collisions))} on side {side} to several entries at once "
            f"({told}{more}); these keep their own names"
        )
    for node, text in new_names.items():
        try:
            renames.names[node] = parse_path(text)
        except BadPath:
            renames.warnings.append(f"the rename rules make {text!r}, which is no path; that entry keeps its name")
    return renames


def _names(count: int) -> str:
    return "one name" if count == 1 else f"{count:,} names"
