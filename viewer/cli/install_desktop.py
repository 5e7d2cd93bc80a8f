"""`checkpoint-viewer install-desktop`: tell the desktop of this user that the program opens checkpoints."""

from __future__ import annotations

import argparse
import sys

from viewer.cli.desktop import add_dry_run, print_steps, window_program

EPILOG = """\
For this user alone; running it again does no harm, and uninstall-desktop leaves nothing behind.

Linux: a desktop entry, file types (by content, so that Python's own .pth files stay text and a torch file named .bin
is known), icons and metadata, in ~/.local/share. With --default, this program opens checkpoints from now on.
Windows: "Open with" for the suffixes; the default is chosen in the system's settings. macOS: the app bundle says it
by itself. Windows and macOS have not been tried by the project.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--default", action="store_true", help="also open checkpoints with it by default (Linux)")
    add_dry_run(parser)


def run(args: argparse.Namespace) -> int:
    program = window_program()
    if sys.platform == "win32":
        from viewer.desktop import windows
        from viewer.resources import resource_path

        icon = resource_path("icons/app/checkpoint-viewer.ico")
        if args.dry_run:
            planned = [
                rf"set HKCU\{value.key} {value.name or '(default)'}" for value in windows.values(program, icon)
            ]
            return print_steps(planned, "nothing to do")
        return print_steps(windows.install(program, icon), "nothing to do")
    if sys.platform == "darwin":
        return print_steps([], "nothing to do: on macOS the app bundle says which files it opens")
    from viewer.desktop import linux

    steps = linux.install(program, linux.Homes.of_user(), make_default=args.default, dry_run=args.dry_run)
    return print_steps([step.says for step in steps], "nothing to do")
