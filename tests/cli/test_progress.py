"""The progress bar: on a terminal, after half a second, and wiped at the end."""

from __future__ import annotations

import io

import pytest

from viewer.cli import progress
from viewer.cli.progress import ProgressBar
from viewer.task import Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    """A clock that stands still until it is moved."""

    now_s = 100.0

    def monotonic(self) -> float:
        return self.now_s


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(progress, "time", clock)
    return clock


def test_that_short_work_draws_nothing(clock: Clock) -> None:
    stream = Terminal()
    with ProgressBar("reading", stream) as bar:
        clock.now_s += 0.4
        bar.update(Progress(1, 2))
    assert stream.getvalue() == ""


def test_that_long_work_draws_a_bar_at_most_ten_times_a_second_and_wipes_it(clock: Clock) -> None:
    stream = Terminal()
    with ProgressBar("reading", stream) as bar:
        clock.now_s += 0.6
        bar.update(Progress(3 << 20, 4 << 20))
        drawn = stream.getvalue()
        assert drawn == "\rreading  [#####################.......]  75%  3.0 MiB of 4.0 MiB"
        clock.now_s += 0.05
        bar.update(Progress(4 << 20, 4 << 20))
        assert stream.getvalue() == drawn
    assert stream.getvalue() == drawn + "\r" + " " * (len(drawn) - 1) + "\r"


def test_that_an_unknown_total_and_other_units_are_told_as_they_are(clock: Clock) -> None:
    stream = Terminal()
    with ProgressBar("reading", stream) as bar:
        clock.now_s += 1
        bar.update(Progress(1200, 0, "tensors"))
        assert stream.getvalue() == "\rreading  1,200 tensors"


def test_that_nothing_is_drawn_where_no_terminal_is(clock: Clock) -> None:
    stream = io.StringIO()
    with ProgressBar("reading", stream) as bar:
        clock.now_s += 1
        bar.update(Progress(1, 2))
    assert stream.getvalue() == ""
