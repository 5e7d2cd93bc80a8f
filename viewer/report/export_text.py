"""Exports and digests in words, a line each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from viewer.export.options import Cast, ExportPlan, ExportResult, Finding, TensorDigest
from viewer.report.wording import plural, printable, rounded_number, shape_text, size_text, whole_number

_TITLES = {
    "cannot": "cannot be written",
    "needs-trust": "needs weights_only=False",
    "dropped": "left out",
    "changed": "changed",
    "separated": "separated",
    "note": "note",
}
_SHOWN = 20


def finding_line(finding: Finding) -> str:
    """What was found, with its place."""
    place = f"{printable(finding.path)}: " if finding.path else ""
    return f"{_TITLES[finding.kind]}: {place}{printable(finding.text)}"


def finding_lines(findings: list[Finding]) -> Iterator[str]:
    """The first of each kind, and how many more there are."""
    counts: dict[str, int] = {}
    for finding in findings:
        counts[finding.kind] = counts.get(finding.kind, 0) + 1
        if counts[finding.kind] <= _SHOWN:
            yield finding_line(finding)
    for kind, count in counts.items():
        if count > _SHOWN:
            yield f"{_TITLES[kind]}: {whole_number(count - _SHOWN)} more"


def plan_lines(plan: ExportPlan) -> Iterator[str]:
    """What would be written."""
    flavour = "safetensors" if plan.options.flavour == "safetensors" else "torch zip (.pth)"
    yield f"{flavour}, {size_text(plan.nbytes) if plan.nbytes else 'which cannot be written'}"
    records = plural(plan.records, "record")
    yield f"{plural(plan.tensors, 'tensor')} in {records}, {size_text(plan.data_nbytes)} of data"
    if not plan.obstacles:
        yield f"loads with weights_only={plan.weights_only}"
    yield from finding_lines(plan.findings)


def export_lines(result: ExportResult) -> Iterator[str]:
    """What is to be said about a file that was written."""
    yield from finding_lines(result.plan.findings)
    yield from cast_lines(result.casts)


def cast_lines(casts: Sequence[Cast]) -> Iterator[str]:
    """What casts did, or would do: the first tensors, and all together."""
    for cast in casts[:_SHOWN]:
        yield cast_line(cast)
    if len(casts) > _SHOWN:
        changed = sum(cast.changed for cast in casts)
        largest = max(cast.largest_error for cast in casts)
        yield (
            f"cast: {plural(len(casts), 'tensor')} in all, {whole_number(changed)} values changed, "
            f"the largest error is {rounded_number(largest)}"
        )


def cast_line(cast: Cast) -> str:
    """What a cast did to one tensor."""
    what = f"cast: {printable(cast.path)}: {cast.source} to {cast.target}, "
    if not cast.changed:
        return what + "no value changed"
    infinite = f", {whole_number(cast.became_infinite)} became infinite" if cast.became_infinite else ""
    return what + (
        f"{whole_number(cast.changed)} of {whole_number(cast.numel)} values changed, "
        f"the largest error is {rounded_number(cast.largest_error)}{infinite}"
    )


def tensor_digest_line(digest: TensorDigest) -> str:
    """A tensor's digest below that of its file."""
    return f"  {digest.sha256}  {digest.dtype} {shape_text(digest.shape)}  {printable(digest.path)}"
