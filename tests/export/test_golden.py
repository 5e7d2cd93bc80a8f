"""The bytes of small contents, compared with those that were kept."""

from __future__ import annotations

import json
import pickletools
from pathlib import Path

import pytest

from tests.export.golden_contents import GOLDEN, canonical_facts, golden_contents

pytestmark = pytest.mark.filterwarnings(
    "ignore:Sparse invariant.*", "ignore:.*quantized tensor creation.*", "ignore:.*torch.ao.quantization.*"
)


def test_that_small_contents_have_the_bytes_that_were_kept(tmp_path: Path) -> None:
    kept = json.loads(GOLDEN.read_text(encoding="utf-8"))
    assert len(kept) >= 12
    assert canonical_facts(tmp_path) == kept


def test_that_every_kept_pickle_is_a_sound_one_of_protocol_2() -> None:
    for facts in json.loads(GOLDEN.read_text(encoding="utf-8")).values():
        data = bytes.fromhex(facts["pickle"])
        names = [opcode.name for opcode, _, _ in pickletools.genops(data)]
        assert max(opcode.proto for opcode, _, _ in pickletools.genops(data)) <= 2
        assert names[0] == "PROTO"
        assert names[-1] == "STOP"
        puts = [int(str(arg)) for opcode, arg, _ in pickletools.genops(data) if "PUT" in opcode.name]
        gets = [int(str(arg)) for opcode, arg, _ in pickletools.genops(data) if "GET" in opcode.name]
        assert puts == list(range(len(puts)))
        assert set(puts) == set(gets), "a put without a get is not canonical"


def test_that_the_kept_file_has_the_contents_of_the_list() -> None:
    assert json.loads(GOLDEN.read_text(encoding="utf-8")).keys() == golden_contents().keys()


def test_that_many_alike_tensors_are_written_as_each_alone_would_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    from tests.export.contents import exported, save
    from viewer.export.pickle_writer import _Writer

    content = {
        "0": [torch.full((3,), float(n)) for n in range(300)],
        "grad": [torch.ones(3, requires_grad=bool(n % 2)) for n in range(5)],
        "mixed": [torch.ones((n % 3, 2), dtype=dtype) for n in range(6) for dtype in (torch.float32, torch.int8)],
        "parameters": [torch.nn.Parameter(torch.ones(3)) for _ in range(4)],
        "keys": ["1", "299", "300", "storage"],
    }
    source = save(content, tmp_path / "a.pt")
    quick = exported(source, tmp_path / "quick.pth")
    monkeypatch.setattr(_Writer, "_remember", lambda *_: None)
    assert exported(source, tmp_path / "plain.pth").sha256 == quick.sha256
