"""The programs that repeat a row: they run on their own, and say what the row says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from tests.roundtrip.tricky import tricky
from viewer.roundtrip.findings import TreeFindings, compare_trees
from viewer.roundtrip.snippet import snippet
from viewer.roundtrip.ways import Way, all_ways

pytestmark = pytest.mark.filterwarnings("ignore")
_TIED = torch.arange(3.0)
TREES: dict[str, Any] = tricky() | {
    "tree": {"a": torch.tensor([1.0, -0.0]), "b": [torch.ones(2, 2).t(), 1], "c": "x"},
    "tied": {"a": _TIED, "b": _TIED},
    "state dict": {"net.w": torch.tensor([0.1, float("nan")]), "net.n": torch.tensor(3)},
}


def _found(way: Way, tree: object, folder: Path) -> TreeFindings | None:
    folder.mkdir()
    try:
        *_, found = compare_trees(tree, way.copy(tree, folder))
    except Exception:  # noqa: BLE001 - whatever it is, the program meets it as well
        return None
    return found


@pytest.mark.parametrize("kind", TREES)
def test_that_programs_say_what_the_rows_say(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    torch.save({"it": TREES[kind]}, "source.pth")
    tree = torch.load("source.pth", weights_only=True)["it"]
    for way in all_ways():
        found = _found(way, tree, tmp_path / way.facts.name)
        program = compile(
            snippet(way.facts, "torch.load('source.pth', weights_only=True)['it']"), way.facts.name, "exec"
        )
        if found is None:
            with pytest.raises(Exception):  # noqa: B017, PT011
                exec(program, {})
            capsys.readouterr()
            continue
        exec(program, {})
        said = capsys.readouterr().out.splitlines()
        bits = [line.endswith("True") for line in said if line.startswith("  same bits:")]
        missing = [line for line in said if "did not come back" in line]
        if way.facts.name == "canonical-safetensors":
            assert len(bits) + len(missing) == len(found.pairs)
        else:
            assert bits == [pair.bits for pair in found.pairs], way.facts.name
            assert not missing
        assert sum("shares memory: True" in line for line in said) == sum(pair.shares_memory for pair in found.pairs)
