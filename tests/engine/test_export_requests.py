"""The requests of the save lane, in an engine process."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from tests.engine.recorder import Recorder
from viewer.engine.client import EngineClient
from viewer.engine.export_requests import Explain, Export, NameContent, PlanExport, Verify
from viewer.engine.protocol import OpenFile
from viewer.errors import FileChanged, ViewerError
from viewer.export.explain_results import Explanation
from viewer.export.options import Digest, ExportOptions, ExportPlan, ExportResult
from viewer.export.verify_results import VerifyReport

pytestmark = pytest.mark.usefixtures("no_descriptor_left")


@pytest.fixture
def client(recorder: Recorder) -> Iterator[EngineClient]:
    client = EngineClient(recorder)
    client.start()
    yield client
    client.close()


def test_that_a_document_is_planned_exported_named_verified_and_explained(
    client: EngineClient, recorder: Recorder, tmp_path: Path
) -> None:
    torch.save({"w": torch.arange(10.0), "n": 1}, tmp_path / "a.pt")
    document = client.submit(OpenFile(tmp_path / "a.pt"))
    recorder.result(document)
    plan = recorder.result(client.submit(PlanExport(document, ExportOptions(cast="float16"))))
    assert isinstance(plan, ExportPlan)
    assert plan.data_nbytes == 20
    target = tmp_path / "b.pth"
    result = recorder.result(client.submit(Export(document, target, ExportOptions())))
    assert isinstance(result, ExportResult)
    assert result.path == target
    assert result.nbytes == target.stat().st_size
    other = client.submit(OpenFile(target))
    recorder.result(other)
    digest = recorder.result(client.submit(NameContent(document, tensors=True)))
    assert isinstance(digest, Digest)
    assert digest.sha256 == result.sha256
    assert [tensor.path for tensor in digest.tensors] == ["w"]
    report = recorder.result(client.submit(Verify(other)))
    assert isinstance(report, VerifyReport)
    assert report.sound
    assert report.canonical
    explanation = recorder.result(client.submit(Explain(document, other)))
    assert isinstance(explanation, Explanation)
    assert explanation.same_content


def test_that_an_export_over_an_open_document_or_of_a_changed_one_fails(
    client: EngineClient, recorder: Recorder, tmp_path: Path
) -> None:
    path = tmp_path / "a.pt"
    torch.save({"w": torch.arange(10.0)}, path)
    document = client.submit(OpenFile(path))
    recorder.result(document)
    refused = recorder.error(client.submit(Export(document, path, ExportOptions(), force=True)))
    assert isinstance(refused, ViewerError)
    assert "being read" in refused.fault
    os.utime(path, ns=(1, 1))
    for request in (Export(document, tmp_path / "b.pth", ExportOptions()), NameContent(document), Verify(document)):
        assert isinstance(recorder.error(client.submit(request)), FileChanged)
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.pt"]
