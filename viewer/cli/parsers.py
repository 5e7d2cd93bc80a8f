"""The parsers of the window and of each command: for parsing, and for the completion of shells."""

from __future__ import annotations

from viewer.cli.commands import COMMANDS, Command
from viewer.cli.parser import PROGRAM, Parser


def command_parser(command: Command) -> Parser:
    """The parser of what follows a command's name."""
    module = command.load()
    parser = Parser(f"{PROGRAM} {command.name}", command.summary, getattr(module, "EPILOG", None))
    module.add_arguments(parser)
    return parser


def window_parser() -> Parser:
    """The parser of what is not a command."""
    from viewer.cli import window

    width = max(len(command.name) for command in COMMANDS)
    listed = "\n".join(f"  {command.name:<{width}}  {command.summary}" for command in COMMANDS)
    parser = Parser(
        PROGRAM,
        "Look into PyTorch checkpoints without running them.",
        f"commands:\n{listed}\n\n{window.EPILOG}",
        usage=f"{PROGRAM} [options] [FILE ...]\n       {PROGRAM} COMMAND ...",
    )
    parser.add_argument("--version", action="store_true", help="print the versions of what matters")
    window.add_arguments(parser)
    return parser
