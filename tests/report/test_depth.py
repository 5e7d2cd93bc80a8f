"""A chain of nodes deeper than anyone nests: paths grow with the square of the depth, so reports stop and say so."""

from __future__ import annotations

import json

from tests.report.trees import Float32, Node, checkpoint_of
from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.nodes import Kind
from viewer.report.extract import MAX_LEVELS, Extract
from viewer.report.json_report import iter_json
from viewer.report.text_report import iter_text


def chain(depth: int) -> Checkpoint:
    """`depth` lists in one another, a tensor in the innermost, and beside the outermost a link to that tensor."""
    inner: object = Float32((2,))
    for _ in range(depth):
        inner = [inner]
    checkpoint = checkpoint_of({"chain": inner, "link": Node(Kind.LINK, "tensor")})
    checkpoint.nodes.value[2] = len(checkpoint.nodes) - 1
    return checkpoint


def test_that_a_chain_of_as_many_levels_as_are_listed_is_whole() -> None:
    report = json.loads("".join(iter_json(Extract(chain(MAX_LEVELS - 1)))))
    assert len(report["entries"]) == MAX_LEVELS + 2
    assert report["warnings"] == []


def test_that_a_deeper_chain_is_cut_with_a_warning_and_a_path_goes_on_from_there() -> None:
    checkpoint = chain(20_000)
    text = "".join(iter_json(Extract(checkpoint)))
    assert len(text) < 20_000_000
    report = json.loads(text)
    assert len(report["entries"]) == MAX_LEVELS + 2
    assert "more than 1,000 levels deep" in report["warnings"][0]
    cut = report["entries"][-2]
    assert "problem" in cut
    assert (report["entries"][-1]["kind"], report["entries"][-1]["target"]) == ("link", None)
    further = json.loads("".join(iter_json(Extract(checkpoint, checkpoint.find(cut["path"])))))
    assert further["entries"][0]["path"] == cut["path"]
    assert len(further["entries"][-1]["path"]) > len(cut["path"])


def test_that_the_text_of_a_deeper_chain_is_cut_with_a_warning() -> None:
    lines = "".join(iter_text(Extract(chain(20_000)))).splitlines()
    assert len(lines) < MAX_LEVELS + 20
    assert "more than 1,000 levels deep" in lines[-1]
    assert any(line.endswith("same object as one far below") for line in lines)
