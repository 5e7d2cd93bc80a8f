"""`checkpoint-viewer check`: what a person should know before training goes on from a checkpoint."""

from __future__ import annotations

import argparse

from viewer.cli.output import EXIT_DONE, EXIT_FOUND, write_all
from viewer.cli.progress import run_with_bar

EPILOG = """\
Looks for non-finite values, moments that do not fit their parameter, step 0 with moments, negative second moments,
prefixes that will not load, device tags that need a map, views that waste space, entries that cannot be read, and
says what torch.load(weights_only=True) would say. Each finding comes with its remedy. Nothing in the file is
executed.

Exit status: 0 when nothing is found; 1 when a check finds something; 2, with one line on standard error, when the
file cannot be checked.

Examples:
  checkpoint-viewer check run.ckpt
  checkpoint-viewer check run.ckpt --json | jq '.findings[] | select(.severity == "error")'
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="the checkpoint; nothing in it is executed")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--no-values", action="store_true", help="read no tensor: only the checks of the structure")
    parser.add_argument("--device", metavar="NAME", default="cpu", help="compute on this device (default: cpu)")


def run(args: argparse.Namespace) -> int:
    from viewer.checks.run import check_task
    from viewer.formats.opening import open_task
    from viewer.report.check_report import check_json, iter_check_text
    from viewer.report.measures import check_device

    checkpoint = run_with_bar(open_task(args.file), "reading")
    if not args.no_values:
        check_device(args.device)
    task = check_task(checkpoint, device=args.device, with_values=not args.no_values)
    report = run_with_bar(task, "checking")
    write_all([check_json(checkpoint, report)] if args.json else iter_check_text(checkpoint, report))
    return EXIT_FOUND if report.findings else EXIT_DONE
