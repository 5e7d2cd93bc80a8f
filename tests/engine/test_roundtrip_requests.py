"""Saving and reloading through a real engine: what arrives is what was found."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.engine.recorder import Recorder
from viewer.checkpoint.document import Checkpoint
from viewer.engine.client import EngineClient
from viewer.engine.protocol import OpenFile
from viewer.engine.roundtrip_requests import KeepCopy, TryRoundTrip
from viewer.roundtrip.results import RoundTrip

pytestmark = pytest.mark.usefixtures("no_descriptor_left")


@pytest.fixture
def client(recorder: Recorder) -> Iterator[EngineClient]:
    client = EngineClient(recorder)
    client.start()
    yield client
    client.close()


def test_that_findings_arrive_and_a_copy_can_be_kept(
    client: EngineClient, recorder: Recorder, sample_path: Path, tmp_path: Path
) -> None:
    document = client.submit(OpenFile(sample_path))
    checkpoint = recorder.result(document)
    assert isinstance(checkpoint, Checkpoint)
    node = checkpoint.find("model")
    found = recorder.result(
        client.submit(TryRoundTrip(document, node, ways=("torch.save", "cast-float16"), check_bytes=False))
    )
    assert isinstance(found, RoundTrip)
    assert found.path == "model"
    assert [result.way.name for result in found.ways] == ["torch.save", "cast-float16"]
    assert [result.bits for result in found.ways] == [True, False]
    assert "bits" in found.ways[0].way.keeps
    kept = recorder.result(client.submit(KeepCopy(document, node, "cast-float16", str(tmp_path / "kept"))))
    assert kept == tmp_path / "kept" / "reloaded.pth"
    assert (tmp_path / "kept" / "original.pth").exists()
