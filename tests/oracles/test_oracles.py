"""Short runs of the programs that hold our reader, statistics and canonical form against torch and content."""

from __future__ import annotations

from tests.oracles import canonical, reader
from tests.oracles.running import check_examples


def test_that_reader_and_statistics_agree_with_torch() -> None:
    assert check_examples(reader.EXAMPLES, reader.check, 250, 1) >= 250


def test_that_bytes_are_equal_exactly_where_contents_are() -> None:
    assert check_examples(canonical.EXAMPLES, canonical.check, 150, 1) >= 150
