"""Argument parsing that says one line where it refuses, and help that costs nothing."""

from __future__ import annotations

import argparse
from typing import NoReturn

from viewer.cli.output import EXIT_TROUBLE, print_error

PROGRAM = "checkpoint-viewer"


class Parser(argparse.ArgumentParser):
    """argparse with our error line instead of its usage text, and no guessing of abbreviated options."""

    def __init__(self, prog: str, description: str, epilog: str | None = None, usage: str | None = None) -> None:
        super().__init__(
            prog=prog,
            usage=usage,
            description=description,
            epilog=epilog,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        self.add_argument("--debug", action="store_true", help="on an unexpected error, show where it happened")

    def error(self, message: str) -> NoReturn:
        print_error(f"{message}. Try '{self.prog} --help'")
        raise SystemExit(EXIT_TROUBLE)


def natural_number(text: str) -> int:
    """An argument that is a whole number from 0 on."""
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0 on")
    return int(text)
