"""`checkpoint-viewer [FILE ...]`: the arguments of the window. Qt is imported when they have been read."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Final

EPILOG = """\
A first argument that is the name of a command is that command; to open a file that is called like one, write
'checkpoint-viewer -- show' or 'checkpoint-viewer ./show'.

Examples:
  checkpoint-viewer model.pth             open the window on a file
  checkpoint-viewer show model.pth        print the tree instead
  checkpoint-viewer show --help           what a command takes
"""

THEMES: Final = ("system", "light", "dark")


@dataclass(frozen=True, slots=True)
class WindowOptions:
    """How the window starts.

    Attributes
    ----------
    device
        Name of the device to compute on; None for the one in the settings.
    theme
        One of `THEMES`; None for the one in the settings.
    fresh
        Start with default settings and leave the stored ones alone.
    new_window
        Open a window of its own even where one is open already.
    compare
        Two files to compare; None for none.
    ask_compare
        Open the dialog that asks for two.
    """

    device: str | None = None
    theme: str | None = None
    fresh: bool = False
    new_window: bool = False
    compare: tuple[Path, Path] | None = None
    ask_compare: bool = False


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", metavar="FILE", nargs="*", type=Path, help="checkpoints to open, each in a tab")
    parser.add_argument(
        "--compare", metavar=("A", "B"), nargs=2, type=Path, help="compare two checkpoints side by side"
    )
    parser.add_argument("--ask-compare", action="store_true", help="ask for two checkpoints to compare")
    parser.add_argument("--device", metavar="NAME", help="compute values on this device (cpu, cuda:0 ...)")
    parser.add_argument("--theme", choices=THEMES, help="colours of the window")
    parser.add_argument("--fresh", action="store_true", help="start with default settings, keeping the stored ones")
    parser.add_argument("--new-window", action="store_true", help="do not hand the files to a window that is open")


def run(args: argparse.Namespace) -> int:
    from viewer.gui.app import run_window

    options = WindowOptions(
        device=args.device,
        theme=args.theme,
        fresh=args.fresh,
        new_window=args.new_window,
        compare=tuple(args.compare) if args.compare else None,
        ask_compare=args.ask_compare,
    )
    return int(run_window(args.files, options))
