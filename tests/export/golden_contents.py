"""A dozen small contents whose canonical bytes are kept in tests/golden/canonical.json.

`python -m tests.export.golden_contents` writes that file anew. A change of it is a new version of the form: see
docs/canonical-format.md.
"""

from __future__ import annotations

import json
import tempfile
from collections import Counter, OrderedDict, defaultdict, deque
from pathlib import Path
from typing import Any

import torch

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "canonical.json"


def golden_contents() -> dict[str, Any]:
    """By name; each is read from a file that torch writes of it."""
    metadata = OrderedDict(w=torch.arange(6, dtype=torch.float32).reshape(2, 3))
    metadata._metadata = OrderedDict([("", {"version": 1})])  # type: ignore[attr-defined]
    shared = torch.tensor([1.0, -0.0, float("nan"), float("inf")])
    numbers = [0, 255, 256, 65535, 65536, -1, 2**31 - 1, 2**31, -(2**31) - 1, 2**63, 10**30, 0.0, -0.0, 1e-310]
    inner: list[Any] = []
    cycle: dict[str, Any] = {"inner": inner}
    inner.append(cycle)
    return {
        "none": None,
        "numbers": [*numbers, float("nan"), float("-inf"), True, False, 1 + 2j],
        "texts": {"a": ["a", "b", "a"], "": "ümlaut \U0001f600", "bytes": [b"", b"\x00\xff", b"\x00\xff"]},
        "tuples": [(), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4), ((1,), (1,)), (True,), (1.0,)],
        "containers": {
            "set": {3, 1, 2},
            "mixed": {None, True, -1, 2.5, "x", (1, "x")},
            "counter": Counter("aab"),
            "ordered": OrderedDict(b=1, a=2),
            "size": torch.Size([1, 2]),
            "dtype": torch.bfloat16,
            "device": torch.device("cuda:1"),
            "bytearray": bytearray(b"\x01\x80"),
        },
        "others": {"deque": deque([1, 2], 3), "default": defaultdict(list, a=[1]), "frozen": frozenset("ba")},
        "state_dict": metadata,
        "cycle": cycle,
        "tied": {"a": shared, "b": shared, "view": shared[1:3], "p": torch.nn.Parameter(shared)},
        "shapes": {
            "scalar": torch.tensor(7),
            "empty": torch.empty(0, 2, dtype=torch.float16),
            "t": torch.arange(6, dtype=torch.int8).reshape(2, 3).t(),
            "expanded": torch.tensor([True]).expand(3),
            "grad": torch.ones(2, requires_grad=True),
        },
        "untyped": {"u16": torch.tensor([1, 65535], dtype=torch.uint16), "f8": torch.ones(3).to(torch.float8_e5m2)},
        "odd_layouts": {
            "coo": torch.sparse_coo_tensor(torch.tensor([[0, 1]]), torch.tensor([1.0, 2.0]), (3,)),
            "meta": torch.empty(2, 3, device="meta"),
            "q": torch.quantize_per_tensor(torch.tensor([0.0, 1.0]), 0.5, 2, torch.quint8),
            "storage": torch.tensor([1, 2], dtype=torch.int16).untyped_storage(),
        },
    }


def canonical_facts(folder: Path) -> dict[str, dict[str, object]]:
    """By name: the pickle, the size and the SHA-256 of the `.pth` file, and of the safetensors file its header."""
    from tests.export.contents import exported, save
    from viewer.errors import ViewerError

    facts: dict[str, dict[str, object]] = {}
    for name, content in golden_contents().items():
        source = save(content, folder / f"{name}.pt")
        result = exported(source, folder / f"{name}.pth")
        data = result.path.read_bytes()
        start = 64
        end = data.index(b".PK\x07\x08", start) + 1
        facts[name] = {"pickle": data[start:end].hex(), "nbytes": result.nbytes, "sha256": result.sha256}
        try:
            written = exported(source, folder / f"{name}.safetensors", flavour="safetensors").path.read_bytes()
        except ViewerError:
            continue
        header = written[8 : 8 + int.from_bytes(written[:8], "little")]
        facts[name]["safetensors header"] = header.decode()
    return facts


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        text = json.dumps(canonical_facts(Path(made)), indent=1, ensure_ascii=False)
    GOLDEN.parent.mkdir(exist_ok=True)
    GOLDEN.write_text(text + "\n", encoding="utf-8")
