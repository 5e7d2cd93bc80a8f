"""The pickle protocol is a fact of the file."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest
import torch

from viewer import open_checkpoint


@pytest.mark.parametrize("legacy", [False, True], ids=["zip", "legacy"])
@pytest.mark.parametrize("protocol", range(2, 6))
def test_that_the_protocol_that_torch_wrote_is_told(tmp_path: Path, protocol: int, legacy: bool) -> None:
    path = tmp_path / "model.pth"
    torch.save({"w": torch.ones(2)}, path, pickle_protocol=protocol, _use_new_zipfile_serialization=not legacy)
    assert open_checkpoint(path).facts["pickle protocol"] == str(protocol)


@pytest.mark.parametrize("protocol", range(6))
def test_that_the_protocol_of_a_plain_pickle_is_told_where_it_says_so(tmp_path: Path, protocol: int) -> None:
    path = tmp_path / "values.pkl"
    path.write_bytes(pickle.dumps({"epoch": 3, "lr": [0.5]}, protocol=protocol))
    told = open_checkpoint(path).facts["pickle protocol"]
    assert told == (str(protocol) if protocol >= 2 else "0 or 1")
