"""Rename rules at work. A pattern with repeats or alternatives may take for ever on a name that almost matches, and
Python's `re` can neither be interrupted nor given a limit; so such patterns work in a process that is ended when it
takes too long."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Sequence
from typing import Final, TypeAlias

from viewer.compare.options import RenameRule
from viewer.errors import ViewerError
from viewer.interpreter import can_start, module_command

Rewrite: TypeAlias = tuple[str, str]
"""A pattern and its replacement."""

CPU_SECONDS: Final = 5
"""A pattern that does not go back takes 0.1 s for the names of a hundred thousand tensors."""
_PATIENCE_S: Final = 30.0
"""Also on a machine that has much else to do."""
_LONGEST: Final = 100_000
"""Characters of a name: `(.*)=>\\1\\1` doubles it with every rule."""

_CAN_GO_BACK: Final = re.compile(r"[*+?{|]")


class NameTooLong(ValueError):
    """A rule made a name that is longer than any that is compared."""


def rewritten(rules: Sequence[RenameRule], names: Sequence[str]) -> list[str]:
    """Every name after all rules, in their order.

    Raises
    ------
    ViewerError
        When the rules take too long, or make names too long.
    """
    rewrites = [(rule.pattern, rule.replacement) for rule in rules]
    try:
        if can_start() and any(_can_go_back(pattern) for pattern, _ in rewrites):
            return _rewrite_elsewhere(rewrites, names)
        return _rewrite(rewrites, names)
    except NameTooLong as error:
        raise ViewerError(
            f"the rename rules make a name of more than {_LONGEST:,} characters", advice="Change the replacement"
        ) from error


def _can_go_back(pattern: str) -> bool:
    """Whether there are several ways to try a pattern at one place; `\\+` counts, for the sake of simplicity."""
    return _CAN_GO_BACK.search(pattern) is not None


def _rewrite(rewrites: Sequence[Rewrite], names: Sequence[str]) -> list[str]:
    patterns = [(re.compile(pattern), replacement) for pattern, replacement in rewrites]
    found: list[str] = []
    for name in names:
        for pattern, replacement in patterns:
            name = pattern.sub(replacement, name)
            if len(name) > _LONGEST:
                raise NameTooLong
        found.append(name)
    return found


def _rewrite_elsewhere(rewrites: Sequence[Rewrite], names: Sequence[str]) -> list[str]:
    order = json.dumps([rewrites, list(names)]).encode("ascii")  # lone surrogates are escaped
    try:
        done = subprocess.run(  # noqa: S603 - our own interpreter with our own code
            module_command("viewer.compare.rewriting"),
            input=order,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=_PATIENCE_S,
            check=False,
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )
    except subprocess.TimeoutExpired:
        answer = None
    except OSError as error:
        raise ViewerError(f"the rename rules cannot be applied: {error}") from error
    else:
        answer = json.loads(done.stdout) if done.returncode == 0 else None
    if answer is None:
        raise ViewerError(
            "the rename rules take too long on these names",
            advice="A repeat of something that repeats, as in (a+)+, tries everything: write it with one + or *",
        )
    if answer == [_LONGEST]:
        raise NameTooLong
    assert isinstance(answer, list)
    return answer


def main() -> None:
    """Read rules and names as JSON from standard input, and write the names to standard output."""
    try:
        import resource
    except ImportError:  # Windows: the other end waits no longer than it wants to
        pass
    else:
        # The system ends the process, also where the one that started it was ended before.
        resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS + 1))
    rewrites, names = json.load(sys.stdin)
    try:
        answer: list[str] | list[int] = _rewrite([(pattern, replacement) for pattern, replacement in rewrites], names)
    except NameTooLong:
        answer = [_LONGEST]
    sys.stdout.write(json.dumps(answer))
