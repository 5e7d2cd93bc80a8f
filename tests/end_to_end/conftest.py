"""A virtual screen for the tests that start the program with a real window."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tools.virtual_screen import has_xvfb, virtual_screen


@pytest.fixture(scope="session")
def screen() -> Iterator[dict[str, str]]:
    """The environment of a program whose windows are to appear on a screen of our own."""
    if not has_xvfb():
        if os.environ.get("CI"):
            pytest.fail("Xvfb is missing on a machine that has to run every test")
        pytest.skip("Xvfb is not installed")
    with virtual_screen() as environment:
        yield {**os.environ, **environment}
