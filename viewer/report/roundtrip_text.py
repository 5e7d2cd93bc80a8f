"""What saving and reloading found, as text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from viewer.report.wording import plural, size_text
from viewer.roundtrip.results import PairFinding, RoundTrip, WayResult
from viewer.roundtrip.verdicts import verdict_of

_MAX_WHY: Final = 5
_MAX_PAIRS: Final = 3
"""Tensors of one way that are printed; the JSON has more."""


def roundtrip_lines(found: RoundTrip) -> Iterator[str]:
    """The lines, without line ends."""
    what = found.path or "the whole file"
    yield f"{what}: {plural(found.n_tensors, 'tensor')}, {size_text(found.nbytes)}, on {found.device}"
    for sentence in found.left_out:
        yield f"left out: {sentence}"
    width = max((len(result.way.title) for result in found.ways), default=0)
    for result in found.ways:
        sign, word = verdict_of(result)
        yield f"{sign} {result.way.title:{width}}  {word:8}{_findings(result)}".rstrip()
        shown = [pair for pair in result.pairs if pair.changed and (pair.n_bits or not result.ok)]
        for pair in shown[:_MAX_PAIRS]:
            yield from (f"    {line}" for line in _pair_lines(pair))
        if len(shown) > _MAX_PAIRS:
            yield f"    and {plural(len(shown) - _MAX_PAIRS, 'more tensor')}"
    yield from _about_comparing(found)


def _about_comparing(found: RoundTrip) -> Iterator[str]:
    """Where what torch answers is not what the bits say: once for each tensor, with the ways that meet it."""
    met: dict[tuple[str, str, str, str], int] = {}
    for result in found.ways:
        for pair in result.pairs:
            if pair.why:
                key = (pair.path, pair.naive_eq, pair.torch_equal, pair.why)
                met[key] = met.get(key, 0) + 1
    for (path, eq, equal, why), count in list(met.items())[:_MAX_WHY]:
        name = path or "the tensor"
        yield f"i {name}, {plural(count, 'time')}: (x == y).all() is {eq}, torch.equal is {equal}: {why}"
    if len(met) > _MAX_WHY:
        yield f"i and {plural(len(met) - _MAX_WHY, 'more tensor')} of which torch says other than the bits"


def _findings(result: WayResult) -> str:
    if result.error:
        return result.error
    said = []
    other = [name for name in result.changed if name != "numbers"]
    if other:
        said.append("changed: " + ", ".join(other))
    if result.shares_memory:
        said.append("shares memory with the original")
    if result.bytes_reproducible is not None:
        said.append(
            "bytes reproducible"
            if result.bytes_reproducible
            else f"bytes differ between two processes, first at {result.first_difference:,}: {result.reason}"
        )
    elif result.way.makes_bytes and result.reason:
        said.append(f"bytes {result.reason}")
    return "; ".join(said)


def _pair_lines(pair: PairFinding) -> Iterator[str]:
    name = pair.path or "the tensor"
    if pair.n_bits:
        yield f"{name}: {plural(pair.n_bits, 'element')} with other bits, {pair.n_numbers:,} with other numbers"
    for key in pair.changed:
        if key not in ("bits", "numbers"):
            yield f"{name}: {key} {pair.before.get(key, 'none')} -> {pair.after.get(key, 'none')}"
