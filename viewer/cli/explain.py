"""`checkpoint-viewer explain`: why two files differ in bytes."""

from __future__ import annotations

import argparse

from viewer.cli.output import EXIT_DONE, EXIT_FOUND, write_all
from viewer.cli.progress import run_with_bar

EPILOG = """\
Accounts for every byte in which the files differ: names of archives and records, their order, headers, padding,
checksums, storage keys, memo and opcodes of the pickles, key order, _metadata, strides, views, device tags, values.
Ends with a verdict: whether the content is the same, by the canonical form of both.

For what changed in the values, use `checkpoint-viewer diff`.

Exit status: 0 the same content, 1 different content, 2 a file cannot be read.

Example:
  checkpoint-viewer explain a.pth b.pth --json | jq '.reasons[] | select(.in_content)'
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("a", metavar="A", help="a checkpoint; nothing in it is executed")
    parser.add_argument("b", metavar="B", help="the other one")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    from viewer.export.explain import explain_task
    from viewer.report.verify_json import explain_json
    from viewer.report.verify_text import explain_lines

    found = run_with_bar(explain_task(args.a, args.b), "comparing")
    write_all([explain_json(found)] if args.json else (f"{line}\n" for line in explain_lines(found)))
    return EXIT_DONE if found.same_content or found.same_bytes else EXIT_FOUND
