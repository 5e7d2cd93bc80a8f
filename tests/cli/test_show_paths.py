"""Every path is unique and gives back its node, whatever the keys."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.cli.files import save
from tests.cli.running import run_main

ODD = [
    "",
    ".",
    "/",
    "a/b",
    "a.b",
    "0",
    "[0]",
    '"',
    "\\",
    "\n",
    " a",
    "a ",
    "é",
    "中",
    "\ud800",
    '{"x"}',
    "None",
    "\x00",
]
keys = st.recursive(
    st.sampled_from(ODD) | st.text(max_size=4) | st.integers() | st.none() | st.booleans() | st.floats()
    | st.binary(max_size=3),
    lambda inner: st.tuples(inner, inner),
    max_leaves=3,
)  # fmt: skip
trees = st.recursive(
    st.integers(0, 9) | st.text(max_size=3),
    lambda inner: st.dictionaries(keys, inner, max_size=5) | st.lists(inner, max_size=3),
    max_leaves=12,
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(tree=trees)
def test_that_every_path_is_unique_and_given_back_exactly(
    tree: object, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = save(tree, tmp_path / "odd.pth")
    entries = run_main(capsys, "show", path, "--json").entries
    assert len({json.dumps(entry["keys"]) for entry in entries.values()}) == len(entries)
    for name, entry in entries.items():
        part = run_main(capsys, "show", path, "--json", f"--path={name}").json["entries"]
        assert part[0] == entry


def test_that_keys_that_look_alike_stay_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    nan, other_nan = float("nan"), float("nan")
    tree = {"0": 1, 0: 2, None: 3, "None": 4, (0,): 5, "(0,)": 6, nan: 7, other_nan: 8, b"0": 9, 1.0: 10, "1.0": 11}
    entries = run_main(capsys, "show", save(tree, tmp_path / "alike.pth"), "--json").entries
    assert [(entry["path"], entry["value"]) for entry in entries.values() if "value" in entry] == [
        ("0", 1),
        ("[0]", 2),
        ('[{"None"}]', 3),
        ("None", 4),
        ('[{"(0,)"}]', 5),
        ("(0,)", 6),
        ('[{"nan"}]', 7),
        ('[{"nan"}2]', 8),
        ("[{\"b'0'\"}]", 9),
        ('[{"1.0"}]', 10),
        ("1.0", 11),
    ]


@pytest.mark.parametrize("wrong", ["model/", "nowhere", "model[", "model/[0]", "model[0]/x"])
def test_that_a_wrong_path_is_one_line_and_exit_code_2(
    wrong: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = save({"model": [torch.ones(2)]}, tmp_path / "model.pth")
    ran = run_main(capsys, "show", path, "--path", wrong)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("checkpoint-viewer: model.pth: ")
    assert ran.err.count("\n") == 1
