"""The line that a desktop runs: whatever the path of the program holds, it is one argument and no code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewer.desktop.entry import entry_text

NASTY = (
    "/opt/a b/viewer", '/opt/"quoted"/viewer', "/opt/back\\slash/viewer", "/opt/100%f/viewer", "/opt/$HOME/viewer",
    "/opt/$(touch canary)/viewer", "/opt/`touch canary`/viewer", "/opt/a;b&c|d>e/viewer", "/opt/it's/viewer",
    "/opt/line\nExec=touch canary/viewer", "/opt/tab\tand\rreturn/viewer", "/opt/\\\\$\\`\"%%/viewer",
    "/opt/ü 层/viewer",
)  # fmt: skip


def values_of(entry: str, key: str) -> list[str]:
    """The values of a key, their general escapes undone (Desktop Entry Specification 1.5, "Possible value types")."""
    escapes = {"s": " ", "n": "\n", "t": "\t", "r": "\r", "\\": "\\"}
    values = [line.removeprefix(f"{key}=") for line in entry.split("\n") if line.startswith(f"{key}=")]
    return [re.sub(r"\\(.)", lambda found: escapes[found[1]], value) for value in values]


def arguments(value: str) -> list[str]:
    """The arguments of an Exec value ("The Exec key"): quotes and their escapes, then %% and the field codes."""
    found: list[str] = []
    at = 0
    while at < len(value):
        if value[at] == " ":
            at += 1
        elif value[at] == '"':
            quoted = re.compile(r'"((?:[^"\\`$]|\\["\\`$])*)"').match(value, at)
            assert quoted is not None, value
            found.append(re.sub(r'\\(["\\`$])', r"\1", quoted[1]))
            at = quoted.end()
        else:
            end = value.find(" ", at) if " " in value[at:] else len(value)
            found.append(value[at:end])
            at = end
    return [re.sub("%(.)", lambda code: "%" if code[1] == "%" else f"<{code[1]}>", each) for each in found]


@pytest.mark.parametrize("path", NASTY)
def test_that_a_path_is_one_argument_whatever_it_holds(path: str) -> None:
    entry = entry_text(Path(path))
    assert [arguments(value) for value in values_of(entry, "Exec")] == [
        [path, "<F>"],
        [path, "--ask-compare"],
        [path, "--new-window"],
    ]
    assert values_of(entry, "TryExec") == [path]


@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1))
def test_that_any_name_comes_back_from_the_entry(name: str) -> None:
    path = Path("/opt") / name.replace("/", "_")
    entry = entry_text(path)
    assert [arguments(value) for value in values_of(entry, "Exec")] == [
        [str(path), "<F>"],
        [str(path), "--ask-compare"],
        [str(path), "--new-window"],
    ]
    assert values_of(entry, "TryExec") == [str(path)]


@pytest.mark.parametrize("path", NASTY)
def test_that_no_path_adds_a_line_or_an_action(path: str) -> None:
    plain = entry_text(Path("/opt/viewer")).split("\n")
    lines = entry_text(Path(path)).split("\n")
    assert [line for line in lines if not line.startswith(("Exec=", "TryExec="))] == [
        line for line in plain if not line.startswith(("Exec=", "TryExec="))
    ]
