"""`checkpoint-viewer export`: write the canonical form of a checkpoint."""

from __future__ import annotations

import argparse

from viewer.cli.ending import tidy_ending
from viewer.cli.output import EXIT_DONE, EXIT_TROUBLE, print_error, write_all
from viewer.cli.progress import run_with_bar
from viewer.export.options import CASTS, FLAVOURS, OBJECTS, PARTS, ExportOptions, Flavour

EPILOG = """\
The bytes of the file depend on the content alone: not on the name or format of IN, the order of its records, devices,
strides, versions, the machine or the time. docs/canonical-format.md says what content is.

The file is written beside OUT, read back, compared bit by bit with IN, and then takes OUT's name. Prints its SHA-256
and OUT, as sha256sum does. What is left out, changed or separated is said on standard error. OUT must not be IN (by
any name) nor a link.

Objects of classes that are not known (--objects):
  refuse  write nothing and list them (default)
  drop    leave them out of dicts; None in their place elsewhere
  plain   their state as dicts and lists; dates and paths as text, numpy arrays as tensors
  keep    name the same class again, without importing it; torch then loads the file with weights_only=False only

Exit status: 0; 2, with one line on standard error and nothing written.

Examples:
  checkpoint-viewer export last.ckpt weights.pth --part model --strip-prefix model.
  checkpoint-viewer export model.pth model.safetensors --flavour safetensors --cast bfloat16
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="IN", help="the checkpoint; nothing in it is executed")
    parser.add_argument("target", metavar="OUT", help="the file to write")
    parser.add_argument("--force", action="store_true", help="replace OUT if it is there")
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="write nothing; print what would be written, and what a cast would change",
    )
    parser.add_argument("--flavour", choices=FLAVOURS, help="default: by the suffix of OUT, else pth")
    parser.add_argument(
        "--part", choices=PARTS, default="all", help="a ready choice: the model's weights, all but the optimizer, EMA"
    )
    parser.add_argument("--cast", choices=CASTS, default="", help="convert floating-point tensors to this dtype")
    parser.add_argument("--strip-prefix", metavar="P", default="", help="take P from the keys that begin with it")
    parser.add_argument("--add-prefix", metavar="P", default="", help="put P before all keys")
    add_form_arguments(parser, "refuse")


def add_form_arguments(parser: argparse.ArgumentParser, objects: str) -> None:
    """The options that `export` and `digest` share."""
    parser.add_argument("--select", metavar="PATH", default="", help="this node and what is below it only")
    parser.add_argument("--objects", choices=OBJECTS, default=objects, help=f"see below (default: {objects})")
    parser.add_argument("--sort-keys", action="store_true", help="sort the entries of all dicts")
    parser.add_argument("--keep-strides", action="store_true", help="keep the memory format of dense tensors")


def run(args: argparse.Namespace) -> int:
    from viewer.export.save import casts_task, export_task, plan_task
    from viewer.report.export_text import cast_lines, export_lines, plan_lines

    by_suffix: Flavour = "safetensors" if args.target.endswith(".safetensors") else "pth"
    options = ExportOptions(
        flavour=args.flavour or by_suffix,
        select=args.select,
        part=args.part,
        objects=args.objects,
        sort_keys=args.sort_keys,
        keep_strides=args.keep_strides,
        cast=args.cast,
        strip_prefix=args.strip_prefix,
        add_prefix=args.add_prefix,
    )
    if args.dry_run:
        plan = run_with_bar(plan_task(args.file, options), "reading")
        write_all(f"{line}\n" for line in plan_lines(plan))
        if options.cast and not plan.obstacles:
            casts = run_with_bar(casts_task(args.file, options), "counting")
            write_all(f"{line}\n" for line in cast_lines(casts))
        return EXIT_TROUBLE if plan.obstacles else EXIT_DONE
    with tidy_ending():
        result = run_with_bar(export_task(args.file, args.target, options, force=args.force), "writing")
    for line in export_lines(result):
        print_error(line)
    write_all([f"{result.sha256}  {args.target}\n"])
    return EXIT_DONE
