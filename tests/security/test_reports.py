"""A name that a file chose is text in a table, too: a spreadsheet must not take it for a formula."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
import torch

from viewer import compare
from viewer.report.diff_csv import iter_diff_csv


@pytest.mark.parametrize("name", ["=cmd|' /C calc'!A0", "+1+1", "-1-1", "@SUM(A1)", "\t=1", "\r=1"])
def test_that_a_name_is_no_formula_in_a_table(name: str, tmp_path: Path) -> None:
    torch.save({name: name, "w": torch.ones(2)}, tmp_path / "a.pt")
    torch.save({name: f"{name}!", "w": torch.zeros(2)}, tmp_path / "b.pt")
    lines = list(csv.reader(io.StringIO("".join(iter_diff_csv(compare(tmp_path / "a.pt", tmp_path / "b.pt"))))))
    assert len(lines) == 3
    texts = [cell for line in lines[1:] for cell in line if not is_number(cell)]
    assert not [text for text in texts if text[:1] in ("=", "+", "-", "@", "\t", "\r")]
    assert any(name[1:4] in text for text in texts)


def is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
