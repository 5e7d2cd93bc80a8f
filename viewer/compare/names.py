"""Names under which the parts of two checkpoints are matched: paths, rules that rewrite them, flat against nested."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.nodes import Key
from viewer.checkpoint.paths import format_path, parse_path
from viewer.compare.results import RenameRule
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
    compiled(rule)
    return rule


def compiled(rule: RenameRule) -> re.Pattern[str]:
    """The pattern of a rule, after its replacement was tried; raises ViewerError."""
    try:
        pattern = re.compile(rule.pattern)
        # A template is parsed when it is first used: an empty alternative makes it be used here and now.
        re.compile(f"(?:{rule.pattern})|").sub(rule.replacement, "")
    except (re.error, IndexError) as error:
        raise ViewerError(
            f"the rename rule {rule} is not a regular expression and its replacement ({error})",
            advice=r"A dot is written \., and groups in the replacement \1",
        ) from error
    return pattern


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
    """
    patterns = [(compiled(rule), rule.replacement) for rule in rules if rule.side in ("", side)]
    renames = Renames()
    if not patterns:
        return renames
    depth = len(checkpoint.nodes.keys_to(root))
    new_names: dict[int, str] = {}
    taken: dict[str, list[int]] = {}
    for node in leaves:
        path = format_path(checkpoint.nodes.keys_to(node)[depth:])
        new = path
        for pattern, replacement in patterns:
            new = pattern.sub(replacement, new)
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
            f"the rename rules give {len(collisions):,} names on side {side} to several entries at once "
            f"({told}{more}); these keep their own names"
        )
    for node, text in new_names.items():
        try:
            renames.names[node] = parse_path(text)
        except BadPath:
            renames.warnings.append(f"the rename rules make {text!r}, which is no path; that entry keeps its name")
    return renames
