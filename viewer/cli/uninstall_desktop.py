"""`checkpoint-viewer uninstall-desktop`: take back everything that install-desktop did."""

from __future__ import annotations

import argparse
import sys

from viewer.cli.desktop import add_dry_run, print_steps


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_dry_run(parser)


def run(args: argparse.Namespace) -> int:
    nothing = "nothing is installed"
    if sys.platform == "win32":
        from viewer.desktop import windows

        if args.dry_run:
            planned = [rf"remove HKCU\{key} {name}" for key, name in windows.shared_values()]
            return print_steps(planned + [rf"remove HKCU\{key}" for key in windows.own_keys()], nothing)
        return print_steps(windows.uninstall(), nothing)
    if sys.platform == "darwin":
        return print_steps([], nothing)
    from viewer.desktop import linux

    steps = linux.uninstall(linux.Homes.of_user(), dry_run=args.dry_run)
    return print_steps([step.says for step in steps], nothing)
