"""The node table's look-ups, and errors that survive a trip between processes."""

from __future__ import annotations

import pickle
from pathlib import Path

from tests.checkpoint.trees import flat_mapping
from viewer.errors import MalformedFile, ViewerError
from viewer.task import Progress, run


def test_that_row_and_children_are_each_others_inverse() -> None:
    nodes = flat_mapping(["a", "b", "c"])
    assert [nodes.row(child) for child in nodes.children(0)] == [0, 1, 2]
    assert nodes.row(0) == 0
    assert [nodes.keys_to(child) for child in nodes.children(0)] == [("a",), ("b",), ("c",)]
    assert list(nodes.tree_order()) == [0, 1, 2, 3]


def test_that_an_error_keeps_its_kind_file_and_advice_when_pickled() -> None:
    error = pickle.loads(pickle.dumps(MalformedFile("it ends early", path="/x/m.pth", advice="Download it again")))
    assert type(error) is MalformedFile
    assert error.path == Path("/x/m.pth")
    assert str(error) == "m.pth: it ends early. Download it again"


def test_that_the_first_file_named_stays() -> None:
    assert ViewerError("fault").about("a.pth").about("b.pth").path == Path("a.pth")


def test_that_run_returns_the_result_and_passes_every_progress_on() -> None:
    closed = []

    def task():
        try:
            yield Progress(1, 2)
            yield Progress(2, 2)
            return "done"
        finally:
            closed.append(True)

    seen: list[int] = []
    assert run(task(), lambda progress: seen.append(progress.done)) == "done"
    assert seen == [1, 2]
    assert closed == [True]
