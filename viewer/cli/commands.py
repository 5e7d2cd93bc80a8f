"""The table of sub-commands. Adding one is one module in this package and one row here.

A module has `add_arguments(parser)`, `run(args) -> int`, and may have `EPILOG`, a text below its help. It is imported
when its command is used, so no command pays for another; what is heavy it imports inside `run`.
"""

from __future__ import annotations

import argparse
import importlib
from dataclasses import dataclass
from typing import Protocol, cast


class CommandModule(Protocol):
    """What a module of the table provides."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the arguments of this command."""

    def run(self, args: argparse.Namespace) -> int:
        """Do it, print, and return the exit code."""


@dataclass(frozen=True, slots=True)
class Command:
    """One sub-command.

    Attributes
    ----------
    module
        Dotted name of the module that provides it.
    summary
        One line for the list of commands.
    """

    name: str
    module: str
    summary: str

    def load(self) -> CommandModule:
        return cast(CommandModule, importlib.import_module(self.module))


COMMANDS: tuple[Command, ...] = (
    Command("show", "viewer.cli.show", "print the tree of a checkpoint, as text or JSON, with statistics and values"),
    Command("values", "viewer.cli.values", "print elements of one tensor, as torch does or to take elsewhere"),
    Command(
        "diff", "viewer.cli.diff", "compare two checkpoints, or two parts of one: what changed, where, by how much"
    ),
    Command("export", "viewer.cli.export", "write the canonical form: same content, same bytes"),
    Command("digest", "viewer.cli.digest", "print the name of a content: the SHA-256 of its canonical form"),
    Command("verify", "viewer.cli.verify", "read all of a file: is it whole, and is it canonical"),
    Command("explain", "viewer.cli.explain", "say why two files differ in bytes, and whether their content does"),
    Command("roundtrip", "viewer.cli.roundtrip", "save and reload in each way that people use: what survives?"),
    Command("optimizer", "viewer.cli.optimizer", "print the optimizers by parameter name: groups, steps and moments"),
    Command("check", "viewer.cli.check", "look for what goes wrong when training goes on from a checkpoint"),
    Command("install-desktop", "viewer.cli.install_desktop", "double-click a checkpoint to open it, for this user"),
    Command("uninstall-desktop", "viewer.cli.uninstall_desktop", "take back what install-desktop did"),
    Command("completion", "viewer.cli.completion", "print a script with which a shell completes these commands"),
)


def command_named(name: str) -> Command | None:
    return next((command for command in COMMANDS if command.name == name), None)
