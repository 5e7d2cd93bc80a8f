"""All ways tried out on one part of a checkpoint, as one task."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from viewer.checkpoint.document import Checkpoint
from viewer.errors import Cancelled, LimitExceeded, ViewerError
from viewer.roundtrip.findings import TreeFindings, compare_trees, first_sentence
from viewer.roundtrip.live import live_task, storage_nbytes
from viewer.roundtrip.results import BYTES_CHECK_NBYTES, LARGE_NBYTES, RoundTrip, WayFacts, WayResult
from viewer.roundtrip.scratch import scratch
from viewer.roundtrip.twice import Twice, first_difference, reason_task
from viewer.roundtrip.ways import Way, all_ways, tensors_in
from viewer.task import Progress, Task

MAX_PAIRS: Final = 200


def roundtrip_task(
    checkpoint: Checkpoint,
    node: int,
    *,
    device: str = "cpu",
    ways: Sequence[str] = (),
    check_bytes: bool | None = None,
    large: bool = False,
) -> Task[RoundTrip]:
    """Save and reload a part of a checkpoint in each way. Partial results: a WayResult as each is done.

    Parameters
    ----------
    node
        A tensor, or containers of them.
    ways
        Names; all of them when empty.
    check_bytes
        Whether two further processes save it too; None for small parts only (BYTES_CHECK_NBYTES).
    large
        Whether parts from LARGE_NBYTES on are tried, too.

    Raises
    ------
    ViewerError
        When nothing here can be rebuilt, or a name is no way.
    LimitExceeded
        When it is large, and that was not asked for.
    """
    from viewer.tensors.devices import list_devices

    nbytes = storage_nbytes(checkpoint, node)
    if nbytes >= LARGE_NBYTES and not large:
        raise LimitExceeded(
            f"this has {nbytes:,} bytes, and each way holds up to three copies of them at a time",
            path=checkpoint.path,
            advice="Choose a smaller part, or ask for it with --large",
        )
    devices = tuple(dict.fromkeys(["cpu", *(each.name for each in list_devices() if each.name != "mps"), device]))
    chosen = _chosen(all_ways(devices), ways)
    live = yield from live_task(checkpoint, node, device)
    n_tensors = sum(1 for _ in tensors_in(live.root))
    path = checkpoint.path_of(node)
    with scratch() as folder:
        results: list[WayResult] = []
        for done, way in enumerate(chosen):
            yield Progress(done, len(chosen), "ways")
            result = yield from _try_task(way, live.root, folder, done, len(chosen))
            results.append(result)
            yield Progress(done + 1, len(chosen), "ways", partial=result)
        if check_bytes or (check_bytes is None and nbytes <= BYTES_CHECK_NBYTES):
            results = yield from _with_bytes_task(checkpoint.path, path, results, folder, device)
        else:
            results = [_not_checked(result) for result in results]
    return RoundTrip(path, device, nbytes, n_tensors, results, live.left_out)


def keep_copy_task(checkpoint: Checkpoint, node: int, way: str, folder: Path, *, device: str = "cpu") -> Task[Path]:
    """Save the original and what one way brings back, each by torch.save, and return the copy's file.

    The original is saved too, beside it as "original.pth": a comparison of the two files then compares like with
    like.
    """
    import torch

    (chosen,) = _chosen(all_ways(("cpu", device)), [way])
    live = yield from live_task(checkpoint, node, device)
    with scratch() as own:
        copied = chosen.copy(live.root, own)
        yield Progress(1, 2, "files")
        folder.mkdir(exist_ok=True)
        torch.save(live.root, folder / "original.pth")
        torch.save(copied, folder / "reloaded.pth")
    return folder / "reloaded.pth"


def _chosen(ways: list[Way], names: Sequence[str]) -> list[Way]:
    known = {way.facts.name: way for way in ways}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise ViewerError(f"{unknown[0]!r} is no way", advice=f"There are: {', '.join(known)}")
    return [known[name] for name in dict.fromkeys(names)] or ways


def _try_task(way: Way, tree: object, folder: Path, done: int, total: int) -> Task[WayResult]:
    """One way: whatever it raises is its row."""
    own = folder / "one"
    own.mkdir()
    try:
        copied = way.copy(tree, own)
        nbytes = max((file.stat().st_size for file in own.iterdir()), default=0)
        found = TreeFindings()
        for found in compare_trees(tree, copied):  # noqa: B007 - the last is the whole
            yield Progress(done, total, "ways")
    except (GeneratorExit, KeyboardInterrupt, Cancelled):
        raise
    except Exception as error:  # noqa: BLE001 - whatever a library raises is what a person meets, and its row
        return WayResult(way.facts, False, error=_text_of(error))
    finally:
        shutil.rmtree(own, ignore_errors=True)
    return replace(_result(way.facts, found), nbytes=nbytes)


def _text_of(error: Exception) -> str:
    if isinstance(error, ViewerError):
        return str(error)
    return first_sentence(error)


def _result(way: WayFacts, found: TreeFindings) -> WayResult:
    pairs = found.pairs
    changed = list(dict.fromkeys(name for pair in pairs for name in pair.changed))
    changed += [name for name in ("sharing", "structure", "values") if getattr(found, name)]
    shown = [pair for pair in pairs if pair.changed or pair.why] or pairs
    return WayResult(
        way,
        ok=not way.keeps & set(changed),
        bits=all(pair.bits for pair in pairs),
        numbers=all(pair.numbers for pair in pairs),
        changed=tuple(changed),
        shares_memory=any(pair.shares_memory for pair in pairs),
        pairs=shown[:MAX_PAIRS],
        n_tensors=len(pairs),
        reason="" if way.makes_bytes else "it writes nothing",
    )


def _not_checked(result: WayResult) -> WayResult:
    if not result.way.makes_bytes or result.error:
        return result
    return replace(result, reason="not checked: that saves everything twice more, and was not asked for")


def _with_bytes_task(
    source: Path, path: str, results: list[WayResult], folder: Path, device: str
) -> Task[list[WayResult]]:
    names = [result.way.name for result in results if result.way.makes_bytes and not result.error]
    if not names:
        return results
    twice = Twice(source, path, names, folder, device)
    try:
        yield from twice.task()
    except ViewerError as error:
        return [replace(result, reason=error.fault) if result.way.name in names else result for result in results]
    found: list[WayResult] = []
    for result in results:
        files = twice.files(result.way.name) if result.way.name in names else None
        if files is None:
            found.append(result)
            continue
        at = first_difference(*files)
        yield Progress(len(found), len(results), "ways")
        reason = "" if at < 0 else (yield from reason_task(result.way, *files))
        found.append(replace(result, bytes_reproducible=at < 0, first_difference=at, reason=reason))
    return found
