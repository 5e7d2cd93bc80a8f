"""Elements as text, to read and exact; and indexes as they are typed."""

from __future__ import annotations

import itertools
import math
import random
from pathlib import Path

import pytest
import torch

from viewer import open_checkpoint
from viewer.errors import ViewerError
from viewer.gui.details.go_to import parse_place, write_place
from viewer.gui.details.value_text import Notation, NumberStyle, exact_lines
from viewer.task import run
from viewer.tensors.results import Scalar
from viewer.tensors.slice_block import block_task
from viewer.tensors.slice_results import ValueBlock, default_axes, value_shape


def block_of(tensor: torch.Tensor, folder: Path) -> ValueBlock:
    torch.save({"t": tensor}, folder / "t.pt")
    checkpoint = open_checkpoint(folder / "t.pt")
    shape = value_shape(checkpoint.tensor(0))
    return run(block_task(checkpoint, 0, default_axes(shape), first_row=0, n_rows=64, first_column=0, n_columns=64))


@pytest.mark.parametrize(
    ("style", "value", "text"),
    [
        (NumberStyle(), 0.123456, "0.1235"),
        (NumberStyle(), -1234.5, "−1,234.5000"),
        (NumberStyle(), 1e-5, "1.0000e−5"),
        (NumberStyle(), 0.0, "0.0000"),
        (NumberStyle(2, "on"), 1234.5, "1.23e3"),
        (NumberStyle(6, "off"), 1e-5, "0.000010"),
        (NumberStyle(), math.nan, "nan"),
        (NumberStyle(), -math.inf, "−inf"),
        (NumberStyle(1), complex(1, -2), "1.0−2.0j"),
        (NumberStyle(), -(2**63), "−9,223,372,036,854,775,808"),
        (NumberStyle(), True, "True"),
    ],
)
def test_that_numbers_are_written_in_the_chosen_style(style: NumberStyle, value: complex, text: str) -> None:
    assert style.write(value) == text


def test_that_one_element_tells_index_value_hexadecimal_form_and_bits(tmp_path: Path) -> None:
    block = block_of(torch.tensor([[1.0, -0.5]], dtype=torch.bfloat16), tmp_path)
    assert exact_lines(block, 0, 1) == ["[0, 1]", "-0.5", "-0x1.0000000000000p-1", "bits 0xbf00 (bfloat16)"]


@pytest.mark.filterwarnings("ignore:torch.quantize_per_tensor:UserWarning")
def test_that_a_quantized_element_tells_its_stored_integer(tmp_path: Path) -> None:
    tensor = torch.quantize_per_tensor(torch.tensor([[0.5, -0.25]]), 0.25, 3, torch.qint8)
    lines = exact_lines(block_of(tensor, tmp_path), 0, 0)
    assert "0.5" in lines
    assert "stored integer 5" in lines


@pytest.mark.parametrize(
    ("text", "at", "axes"),
    [
        ("1, 2, :, 3", (1, 2, None, 3), (2, 3)),
        ("1,2", (1, 2, None, None), (2, 3)),
        ("1, :, 2, :", (1, None, 2, None), (1, 3)),
        (":, 1, 2, 3", (None, 1, 2, 3), (0, 3)),
        ("[-1, -1, -1, -1]", (3, 4, 5, 6), (2, 3)),
        ("", (None,) * 4, (2, 3)),
        ("3,", (3, None, None, None), (2, 3)),
    ],
)
def test_that_an_index_is_read_as_it_is_typed(text: str, at: tuple[int | None, ...], axes: tuple[int, int]) -> None:
    place = parse_place(text, (4, 5, 6, 7), 2, 3)
    assert place.at == at
    assert (place.row_axis, place.column_axis) == axes


@pytest.mark.parametrize(
    ("text", "says"), [("1, x", "'x' is no index"), ("4", "axis 0 has 4"), ("1,2,3", "2 axes"), ("1:2", "no index")]
)
def test_that_a_text_that_is_no_index_says_why(text: str, says: str) -> None:
    with pytest.raises(ViewerError, match=says):
        parse_place(text, (4, 5), 0, 1)


def test_that_a_written_index_reads_back() -> None:
    assert parse_place(write_place((1, 2, 3)), (4, 5, 6), 1, 2).at == (1, 2, 3)


@pytest.mark.parametrize("notation", ["auto", "on", "off"])
@pytest.mark.parametrize("precision", [0, 4, 17])
def test_that_the_room_for_many_numbers_is_enough_for_each(notation: Notation, precision: int) -> None:
    style = NumberStyle(precision, notation)
    pick = random.Random(precision)
    floats = [pick.choice((-1, 1)) * 10.0 ** pick.uniform(-12, 12) for _ in range(300)]
    columns: list[list[Scalar]] = [
        [*floats, 0.0, math.nan, math.inf, -math.inf],
        [0.5, -7.9566e-05],
        [99_999.0, 1e-300, -3e300],
        [complex(real, imaginary) for real, imaginary in itertools.pairwise(floats)],
        [-(2**63), 2**64 - 1, 0],
        [True, False],
    ]
    for column in columns:
        longest = max(len(style.write(value)) for value in column)
        if isinstance(column[0], float):
            longest = max(longest, len("−inf"))  # for which there is always room
        assert longest <= style.widest(column) <= longest + (8 if isinstance(column[0], complex) else 1)
    assert style.widest([]) == 0
