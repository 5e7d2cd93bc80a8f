"""`checkpoint-viewer diff`: what changed between two checkpoints."""

from __future__ import annotations

import argparse
import math
from typing import TYPE_CHECKING

from viewer.cli.output import EXIT_DONE, EXIT_FOUND, EXIT_TROUBLE, print_error, write_all
from viewer.cli.parser import natural_number
from viewer.cli.progress import run_with_bar

if TYPE_CHECKING:
    from viewer.compare.comparison import Comparison
    from viewer.compare.pair_details import ElementDifference
    from viewer.compare.results import CompareOptions

EPILOG = r"""Two verdicts are given for every pair: bits (the same bytes) and numbers (NaN equals NaN in place, 0.0
equals -0.0, and an integer equals a float of the same value). Differences are those of b against a.

  --select PATH     compare this part of both files; given twice, the first is of A and the second of B, and A and B
                    may be one file
  --map RULE        REGEX=>REPLACEMENT rewrites the paths of both sides before they are matched;
                    a:REGEX=>... or b:REGEX=>... those of one side. Rules that would help are offered, never applied.
  --rtol, --atol    numbers are close when |a-b| <= atol + rtol * max(|a|, |b|), whichever file comes first

Exit status: 0, all numbers are the same (or within the tolerance that was given); 1, something differs; 2, with one
line on standard error, the files cannot be compared.

Examples:
  checkpoint-viewer diff step_1200.pth step_1300.pth
  checkpoint-viewer diff plain.pth ddp.pth --map '^module\.=>'
  checkpoint-viewer diff run.ckpt run.ckpt --select state_dict --select ema_state_dict
  checkpoint-viewer diff a.pth b.safetensors --json | jq '.entries[] | select(.numbers == false) | .path'
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("a", metavar="A", help="the left checkpoint; nothing in it is executed")
    parser.add_argument("b", metavar="B", help="the right checkpoint")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print JSON")
    form.add_argument("--csv", action="store_true", help="print a table of comma-separated values")
    parser.add_argument("--all", action="store_true", help="list what is the same, too (JSON and CSV always do)")
    parser.add_argument(
        "--structure", action="store_true", help="compare names, dtypes and shapes, and read no values"
    )
    parser.add_argument("--rtol", metavar="R", type=_tolerance, help="relative tolerance")
    parser.add_argument("--atol", metavar="A", type=_tolerance, help="absolute tolerance")
    parser.add_argument("--preset", action="store_true", help="take the tolerances that fit each pair of dtypes")
    parser.add_argument("--map", metavar="RULE", action="append", default=[], help="a rename rule; may be repeated")
    parser.add_argument("--select", metavar="PATH", action="append", default=[], help="compare this part only")
    parser.add_argument(
        "--top", metavar="N", type=natural_number, help="list the N largest differences of each tensor"
    )
    parser.add_argument("--html", metavar="FILE", help="also write a report that a browser shows")


def run(args: argparse.Namespace) -> int:
    from viewer.compare.task import run_compare
    from viewer.errors import ViewerError
    from viewer.formats.opening import open_task

    options = _options(args)
    if args.top and args.structure:
        raise ViewerError("--top needs values, and --structure reads none")
    a = run_with_bar(open_task(args.a), "reading")
    b = a if args.b == args.a else run_with_bar(open_task(args.b), "reading")
    comparison = run_with_bar(run_compare(a, b, options), "comparing")
    top = _top(comparison, args.top) if args.top else None
    if args.html is not None:
        _write_html(comparison, args.html)
    _print(comparison, top, args)
    _, numbers, close = comparison.verdict()
    if numbers is False and not close:
        return EXIT_FOUND if close is False else _undecided()
    return EXIT_DONE if numbers or close or args.structure else _undecided()


def _undecided() -> int:
    print_error("some values cannot be read, so the files may differ more than is shown")
    return EXIT_TROUBLE


def _print(
    comparison: Comparison, top: dict[int, tuple[ElementDifference, ...]] | None, args: argparse.Namespace
) -> None:
    from viewer.report.diff_csv import iter_diff_csv
    from viewer.report.diff_json import iter_diff_json
    from viewer.report.diff_text import iter_diff_text

    if args.json:
        write_all(iter_diff_json(comparison, top))
    elif args.csv:
        write_all(iter_diff_csv(comparison))
    else:
        write_all(iter_diff_text(comparison, top, all_rows=args.all))


def _options(args: argparse.Namespace) -> CompareOptions:
    from viewer.compare.names import parse_rule
    from viewer.compare.results import CompareOptions, Tolerance
    from viewer.errors import ViewerError

    tolerance = None
    if args.rtol is not None or args.atol is not None:
        if args.preset:
            raise ViewerError("--preset and --rtol or --atol exclude each other")
        tolerance = Tolerance(args.rtol or 0.0, args.atol or 0.0)
    if len(args.select) > 2:
        raise ViewerError("--select is given once, or twice for A and B")
    left, right = args.select * 2 if len(args.select) == 1 else args.select or ("", "")
    return CompareOptions(
        select_a=left,
        select_b=right,
        rules=tuple(parse_rule(text) for text in args.map),
        tolerance=tolerance,
        preset=args.preset,
        structure_only=args.structure,
    )


def _top(comparison: Comparison, count: int) -> dict[int, tuple[ElementDifference, ...]]:
    from viewer.compare.largest import largest_task

    return run_with_bar(largest_task(comparison, count), "looking for the largest differences")


def _write_html(comparison: Comparison, path: str) -> None:
    from pathlib import Path

    from viewer.report.diff_html import iter_diff_html
    from viewer.report.writing import write_text_file

    write_text_file(Path(path), iter_diff_html(comparison))


def _tolerance(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value >= 0):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0 on")
    return value
