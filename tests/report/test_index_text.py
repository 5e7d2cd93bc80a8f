"""Indexes as Python writes them: the slice that they name is the one that torch gives."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from tests.tensors.made import checkpoint_of
from viewer.errors import ViewerError
from viewer.report.index_text import parse_index
from viewer.task import run
from viewer.tensors.slice_block import block_task

INDEXES = [
    "0,0,0",
    "1",
    "1,:",
    ":,2,3",
    "2,1:3,:",
    ":2,-1,-4:",
    " 0 , : , 1:1 ",
    "-1,5:2,:",
    "0,:100,-100:3",
    "1,:,2,",
]


@pytest.mark.parametrize("text", INDEXES)
def test_that_an_index_names_what_it_names_in_torch(text: str, tmp_path: Path) -> None:
    tensor = torch.arange(3 * 4 * 5).reshape(3, 4, 5)
    axes, rows, columns = parse_index(text, (3, 4, 5))
    block = run(
        block_task(
            checkpoint_of(tmp_path, tensor),
            0,
            axes,
            first_row=rows.start,
            n_rows=len(rows),
            first_column=columns.start,
            n_columns=len(columns),
        )
    )
    wanted = eval(f"tensor[{text}]", {"tensor": tensor})
    assert block.values() == wanted.flatten().tolist()
    assert (block.n_rows, block.n_columns) == (len(rows), len(columns))


def test_that_no_index_is_a_slice_along_the_last_axes() -> None:
    axes, rows, columns = parse_index(None, (3, 4, 5))
    assert (axes.row_axis, axes.column_axis, axes.fixed) == (1, 2, (0,))
    assert (rows, columns) == (range(4), range(5))
    assert parse_index(None, ())[1:] == (range(1), range(1))
    assert parse_index("", ())[0].fixed == ()


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("0,0,0,0", "has 4 entries, and the tensor 3 axes"),
        (":,:,:", "leaves 3 axes open"),
        ("", "leaves 3 axes open"),
        ("3", "has 3 for an axis of 3"),
        ("-4", "has -4 for an axis of 3"),
        ("x", "neither a number nor a range"),
        ("0,1:2:3", "no range of two numbers"),
        ("0,a:", "no range of two numbers"),
        ("0,,1", "neither a number nor a range"),
    ],
)
def test_that_what_is_no_index_says_why(text: str, fault: str) -> None:
    with pytest.raises(ViewerError, match=fault):
        parse_index(text, (3, 4, 5))
