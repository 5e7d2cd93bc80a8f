"""Recognition, checks and brief numbers through a real engine: what arrives is what was found."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.engine.recorder import Recorder
from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.meaning.results import ModuleTree, Recognition
from viewer.checks.results import CheckReport
from viewer.engine.client import EngineClient
from viewer.engine.in_process import run_request
from viewer.engine.meaning_requests import Brief, Check, Recognise, ScaleUpdate, ViewModel
from viewer.engine.protocol import OpenFile
from viewer.tensors.brief import TensorBrief, UpdateScale

pytestmark = pytest.mark.usefixtures("no_descriptor_left")


@pytest.fixture
def client(recorder: Recorder) -> Iterator[EngineClient]:
    client = EngineClient(recorder)
    client.start()
    yield client
    client.close()


def test_that_results_arrive_as_they_were_found(client: EngineClient, recorder: Recorder, sample_path: Path) -> None:
    document = client.submit(OpenFile(sample_path))
    checkpoint = recorder.result(document)
    assert isinstance(checkpoint, Checkpoint)
    recognition = recorder.result(client.submit(Recognise(document)))
    assert isinstance(recognition, Recognition)
    assert recognition == run_request(Recognise(document), checkpoint)
    (optimizer,) = recognition.optimizers
    from_other = recorder.result(client.submit(Recognise(document, model=document)))
    assert isinstance(from_other, Recognition)
    assert from_other.optimizers[0].entries.name == optimizer.entries.name
    assert optimizer.entries.name[0] == "stem.conv.weight"
    tree = recorder.result(client.submit(ViewModel(document, checkpoint.find("model"))))
    assert isinstance(tree, ModuleTree)
    assert tree.full_name(0) == "stem"
    report = recorder.result(client.submit(Check(document)))
    assert isinstance(report, CheckReport)
    assert (report.with_values, report.findings) == (True, [])
    members = {
        checkpoint.nodes.key[node]: checkpoint.tensor_of_node(node)
        for node in checkpoint.nodes.children(optimizer.entries.state[0])
    }
    first, second = members["exp_avg"], members["exp_avg_sq"]
    assert first is not None
    assert second is not None
    briefs = recorder.result(client.submit(Brief(document, (first.number, second.number))))
    assert isinstance(briefs, dict)
    assert isinstance(briefs[second.number], TensorBrief)
    assert briefs[second.number].negative == 0
    request = ScaleUpdate(document, first.number, second.number, 1e-3, (0.9, 0.99), 1e-8, 200.0)
    scale = recorder.result(client.submit(request))
    assert isinstance(scale, UpdateScale)
    assert 0 < scale.rms <= scale.largest
