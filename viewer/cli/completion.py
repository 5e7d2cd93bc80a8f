"""`checkpoint-viewer completion SHELL`: a script for the shell, written from the parsers themselves."""

from __future__ import annotations

import argparse
from typing import Final

from viewer.cli.output import EXIT_DONE, write_all

SHELLS: Final = ("bash", "zsh", "fish")

EPILOG = """\
Examples:
  bash    checkpoint-viewer completion bash > ~/.local/share/bash-completion/completions/checkpoint-viewer
  zsh     checkpoint-viewer completion zsh > a folder of $fpath, as _checkpoint-viewer
  fish    checkpoint-viewer completion fish > ~/.config/fish/completions/checkpoint-viewer.fish

The script holds the options of this version; write it again after an update.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", metavar="SHELL", choices=SHELLS, help="bash, zsh or fish")


def run(args: argparse.Namespace) -> int:
    from viewer.cli.completion_scripts import script

    write_all([script(args.shell)])
    return EXIT_DONE
