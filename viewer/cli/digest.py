"""`checkpoint-viewer digest`: the names of contents, without writing anything."""

from __future__ import annotations

import argparse

from viewer.cli.export import add_form_arguments
from viewer.cli.output import EXIT_DONE, EXIT_TROUBLE, print_error, write_all
from viewer.cli.progress import run_with_bar
from viewer.errors import ViewerError
from viewer.export.options import ExportOptions

EPILOG = """\
The digest is the SHA-256 of the file that `export` would write as .pth with the same options, in the form of
sha256sum. Two files have the same digest when their content is the same, whatever their format and bytes.

With --tensors each tensor's own SHA-256 (of its bytes as they would be written) stands on an indented line.

Objects of unknown classes are part of the content by default (--objects keep).

Exit status: 0; 2 when a file could not be read, after the others were done.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", metavar="FILE", nargs="+", help="checkpoints; nothing in them is executed")
    parser.add_argument("--tensors", action="store_true", help="also list the digest of each tensor")
    add_form_arguments(parser, "keep")


def run(args: argparse.Namespace) -> int:
    from viewer.export.digest import digest_task
    from viewer.report.export_text import tensor_digest_line

    options = ExportOptions(
        select=args.select, objects=args.objects, sort_keys=args.sort_keys, keep_strides=args.keep_strides
    )
    code = EXIT_DONE
    for name in args.files:
        try:
            digest = run_with_bar(digest_task(name, options, tensors=args.tensors), "hashing")
        except (ViewerError, OSError) as error:
            print_error(str(error))
            code = EXIT_TROUBLE
            continue
        lines = [f"{digest.sha256}  {name}"]
        lines += [tensor_digest_line(tensor) for tensor in digest.tensors]
        write_all(f"{line}\n" for line in lines)
    return code
