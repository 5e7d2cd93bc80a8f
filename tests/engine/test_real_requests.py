"""The engine with its real handlers, on a file that torch wrote."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.engine.recorder import Recorder
from viewer.checkpoint.document import Checkpoint
from viewer.engine.client import EngineClient
from viewer.engine.in_process import run_request
from viewer.engine.protocol import ListDevices, OpenFile, Ping, Summarise, WarmUp
from viewer.errors import ViewerError
from viewer.task import Progress
from viewer.tensors.devices import Device
from viewer.tensors.results import TensorSummary

pytestmark = pytest.mark.usefixtures("no_descriptor_left")

_SAVE = """
import sys, torch
torch.manual_seed(0)
torch.save({"weight": torch.randn(100, 30), "count": torch.arange(7)}, sys.argv[1])
"""


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("real") / "model.pth"
    subprocess.run([sys.executable, "-c", _SAVE, str(path)], check=True)
    return path


@pytest.fixture
def client(recorder: Recorder) -> Iterator[EngineClient]:
    client = EngineClient(recorder)
    client.start()
    yield client
    client.close()


def test_that_a_file_is_opened_and_a_tensor_summarised_as_in_process(
    client: EngineClient, recorder: Recorder, model: Path
) -> None:
    document = client.submit(OpenFile(model))
    client.submit(WarmUp())
    devices = client.submit(ListDevices())
    checkpoint = recorder.result(document)
    assert isinstance(checkpoint, Checkpoint)
    number = checkpoint.nodes.value[checkpoint.find("count")]
    assert isinstance(number, int)
    request = Summarise(document, number, bins=7)
    summary = recorder.result(client.submit(request))
    assert isinstance(summary, TensorSummary)
    assert (summary.statistics.min, summary.statistics.max, summary.statistics.mean) == (0, 6, 3.0)
    found = recorder.result(devices)
    assert isinstance(found, list)
    assert isinstance(found[0], Device)
    assert found[0].name == "cpu"

    steps: list[Progress] = []
    opened = run_request(OpenFile(model), on_progress=steps.append)
    assert isinstance(opened, Checkpoint)
    assert opened.without_blobs() == checkpoint
    assert steps
    assert run_request(request, opened) == summary


def test_that_a_missing_file_is_an_error_that_names_it(
    client: EngineClient, recorder: Recorder, tmp_path: Path
) -> None:
    error = recorder.error(client.submit(OpenFile(tmp_path / "gone.pth")))
    assert isinstance(error, ViewerError)
    assert "gone.pth" in str(error)


def test_that_opening_imports_no_torch_into_the_engine(client: EngineClient, recorder: Recorder, model: Path) -> None:
    recorder.result(client.submit(OpenFile(model)))
    recorder.result(client.submit(Ping()))
    maps = Path(f"/proc/{client.pid}/maps")
    if maps.exists():
        assert "libtorch" not in maps.read_text()
        recorder.result(client.submit(WarmUp()))
        assert "libtorch" in maps.read_text()


def test_that_a_window_that_uses_the_client_imports_neither_torch_nor_numpy(model: Path) -> None:
    code = f"""
import sys, threading
from pathlib import Path
from viewer.engine.client import EngineClient
from viewer.engine.protocol import *
done = threading.Event()
ends = []
def receive(event):
    if isinstance(event, (Result, Failure)):
        ends.append(event)
        if len(ends) == 3:
            done.set()
client = EngineClient(receive)
client.start()
document = client.submit(OpenFile(Path({str(model)!r})))
client.submit(Summarise(document, 0))
client.submit(ListDevices())
assert done.wait(60)
client.close()
assert all(isinstance(end, Result) for end in ends), ends
print(*sorted({{"torch", "numpy", "PySide6"}} & set(sys.modules)))
"""
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=root)
    assert done.stdout.split() == []
