"""`checkpoint-viewer verify`: is a file whole, and is it canonical?"""

from __future__ import annotations

import argparse

from viewer.cli.output import EXIT_DONE, EXIT_FOUND, write_all
from viewer.cli.progress import run_with_bar

EPILOG = """\
Reads every byte: the checksums of all records, the ranges of all tensors, and all values. Says which tensors hold NaN
or infinite values (which is no fault), whether the file is in the canonical form (docs/canonical-format.md), and in
which points it is not.

Only zip archives (.pth of torch 1.6 and newer) keep checksums.

Exit status: 0 sound, 1 a fault was found, 2 the file cannot be read.

Examples:
  checkpoint-viewer verify model.pth
  checkpoint-viewer verify model.pth --json | jq -r '.faults[].path'
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="the checkpoint; nothing in it is executed")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    from viewer.export.verify import verify_task
    from viewer.report.verify_json import verify_json
    from viewer.report.verify_text import verify_lines

    report = run_with_bar(verify_task(args.file), "verifying")
    write_all([verify_json(report)] if args.json else (f"{line}\n" for line in verify_lines(report)))
    return EXIT_DONE if report.sound else EXIT_FOUND
