"""What saving and reloading found, as JSON."""

from __future__ import annotations

from viewer.report.json_values import json_value
from viewer.roundtrip.results import PairFinding, RoundTrip, WayResult


def roundtrip_json(file: str, found: RoundTrip) -> str:
    """One JSON object, with a line end."""
    return (
        json_value(
            {
                "file": file,
                "path": found.path,
                "device": found.device,
                "nbytes": found.nbytes,
                "tensors": found.n_tensors,
                "lost": found.lost,
                "left_out": found.left_out,
                "ways": [_way(result) for result in found.ways],
            }
        )
        + "\n"
    )


def _way(result: WayResult) -> dict[str, object]:
    return {
        "way": result.way.name,
        "lossless": result.way.lossless,
        "ok": result.ok,
        "bits": result.bits,
        "numbers": result.numbers,
        "changed": list(result.changed),
        "shares_memory": result.shares_memory,
        "bytes_reproducible": result.bytes_reproducible,
        "first_difference": result.first_difference if result.first_difference >= 0 else None,
        "reason": result.reason or None,
        "error": result.error or None,
        "nbytes": result.nbytes,
        "pairs": [_pair(pair) for pair in result.pairs if pair.changed or pair.why],
    }


def _pair(pair: PairFinding) -> dict[str, object]:
    return {
        "path": pair.path,
        "bits": pair.bits,
        "numbers": pair.numbers,
        "elements_with_other_bits": pair.n_bits,
        "elements_with_other_numbers": pair.n_numbers,
        "changed": {name: [pair.before.get(name), pair.after.get(name)] for name in pair.changed},
        "shares_memory": pair.shares_memory,
        "x == y": pair.naive_eq,
        "torch.equal": pair.torch_equal,
        "why": pair.why or None,
    }
