"""What the table of ways says, and the words about one way. Free of Qt."""

from __future__ import annotations

from typing import Final

from viewer.gui.format import format_count
from viewer.roundtrip.results import PairFinding, WayFacts, WayResult
from viewer.roundtrip.verdicts import verdict_of

HEADS: Final = ("Way", "Finding", "Changed", "Memory", "Bytes written")
TIPS: Final = (
    "How it was saved and reloaded, or copied",
    "Whether everything came back that this way is meant to keep",
    "What is not as before",
    "Whether the copy shares memory with the original",
    "Whether two processes with different hash seeds write the same bytes",
)
TOKENS: Final = {
    "same": "identical",
    "kept": "close",
    "changed": "changed",
    "rounded": "changed",
    "lost": "error",
    "failed": "incompatible",
    "waiting": "pending",
}
"""Names of colours in `viewer.gui.theme.Tokens`, by the word of the verdict."""
_MAX_PAIRS: Final = 20


def cells_of(way: WayFacts, result: WayResult | None) -> tuple[str, ...]:
    """The texts of one row."""
    if result is None:
        return way.title, "… waiting", "", "", ""
    sign, word = verdict_of(result)
    if result.error:
        return way.title, f"{sign} {word}", result.error, "", ""
    memory = "shared" if result.shares_memory else "its own"
    return way.title, f"{sign} {word}", ", ".join(result.changed) or "nothing", memory, bytes_words(result)


def bytes_words(result: WayResult) -> str:
    if not result.way.makes_bytes:
        return "writes nothing"
    if result.bytes_reproducible is None:
        return "not compared"
    return "= same each time" if result.bytes_reproducible else "≠ other each time"


def about(way: WayFacts, result: WayResult | None) -> str:
    """What there is to say of a way and of what it did, as paragraphs."""
    parts = [f"{way.says}. {way.caveats}."]
    if result is None:
        return parts[0]
    if result.error:
        parts.append(f"It failed: {result.error}")
    if result.bytes_reproducible is False:
        parts.append(
            f"Two processes wrote different bytes, the first at offset {format_count(result.first_difference)}: "
            f"{result.reason}."
        )
    elif way.makes_bytes and result.bytes_reproducible is None and result.reason:
        parts.append(f"Bytes {result.reason}.")
    told = [words for pair in result.pairs if (words := _pair_words(pair))]
    parts += told[:_MAX_PAIRS]
    if len(told) > _MAX_PAIRS:
        parts.append(f"and {format_count(len(told) - _MAX_PAIRS)} more tensors")
    return "\n\n".join(parts)


def _pair_words(pair: PairFinding) -> str:
    lines = []
    if pair.n_bits:
        lines.append(
            f"{format_count(pair.n_bits)} elements have other bits, {format_count(pair.n_numbers)} other numbers"
        )
    lines += [
        f"{name}: {pair.before.get(name, 'none')} → {pair.after.get(name, 'none')}"
        for name in pair.changed
        if name not in ("bits", "numbers")
    ]
    if pair.why:
        lines.append(f"(x == y).all() is {pair.naive_eq}, torch.equal(x, y) is {pair.torch_equal}: {pair.why}")
    if not lines:
        return ""
    return (f"{pair.path}\n" if pair.path else "") + "\n".join(lines)
