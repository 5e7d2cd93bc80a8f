"""What the engine sets aside from the collector, and gives back."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest

from viewer import open_checkpoint
from viewer.engine import documents
from viewer.engine.documents import Documents
from viewer.engine.jobs import Job
from viewer.engine.protocol import OpenFile


@pytest.fixture(autouse=True)
def thawed() -> Iterator[None]:
    gc.unfreeze()
    yield
    gc.unfreeze()


def opened(path: Path) -> Documents:
    found = Documents()
    found.begin(1, Job(1, OpenFile(path), None))  # type: ignore[arg-type]  # it says nothing
    found.end(1, open_checkpoint(path))
    return found


def test_that_a_small_document_is_left_to_the_collector(sample_path: Path) -> None:
    found = opened(sample_path)
    assert gc.get_freeze_count() == 0
    assert found.checkpoint(1).container == "torch zip"


def test_that_what_was_set_aside_for_a_large_document_is_given_back_when_it_is_closed(
    sample_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(documents, "FREEZE_FROM", 1)
    found = opened(sample_path)
    assert gc.get_freeze_count() > 0
    assert found.close(1) == []
    assert gc.get_freeze_count() == 0
