"""The entry points: which command is meant, and what becomes of its errors.

A first argument that is the name of a command is that command, whether or not a file of that name exists: a script
must not change its meaning with what lies in the folder. `checkpoint-viewer -- show` or `checkpoint-viewer ./show`
opens a file called show.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence
from pathlib import Path

from viewer.cli.commands import Command, command_named
from viewer.cli.output import (
    EXIT_DONE,
    EXIT_INTERRUPTED,
    EXIT_PIPE_CLOSED,
    EXIT_TROUBLE,
    abandon_stdout,
    print_error,
    write_all,
)
from viewer.cli.parsers import command_parser, window_parser
from viewer.errors import ViewerError


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code. `argv` is without the program's name."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments[:1] == ["--engine"]:
        # Where the program is frozen into one executable, it is its own `python -m viewer.engine`.
        from viewer.engine.server import main as serve
        from viewer.interpreter import give_up_rights

        give_up_rights()
        serve()  # ends the process
    try:
        return _dispatch(arguments)
    except SystemExit as leaving:  # argparse, after --help or a usage error that it has printed
        return leaving.code if isinstance(leaving.code, int) else EXIT_DONE
    except KeyboardInterrupt:
        abandon_stdout()
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        abandon_stdout()
        return EXIT_PIPE_CLOSED
    except ViewerError as error:
        print_error(str(error))
    except OSError as error:
        print_error(": ".join(str(part) for part in (error.filename, error.strerror or error) if part))
    except Exception as error:  # noqa: BLE001 - the last resort: one line, and the way to more
        if "--debug" in arguments:
            import traceback  # six milliseconds that the window need not wait for

            traceback.print_exc()
        what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        print_error(f"unexpected {what} (a fault of this program; add --debug to see where)")
    return EXIT_TROUBLE


def window_main() -> int:
    """The entry point without a terminal: the window, and never a sub-command."""
    return main(["--", *sys.argv[1:]] if sys.argv[1:] and command_named(sys.argv[1]) else None)


def _dispatch(arguments: list[str]) -> int:
    command = command_named(arguments[0]) if arguments else None
    if command is None:
        return _open_window(arguments)
    return _run_command(command, arguments[1:])


def _run_command(command: Command, arguments: list[str]) -> int:
    module = command.load()
    args = command_parser(command).parse_args(arguments)
    # A report makes many small objects and hardly a cycle: collecting doubles the time that a large file takes.
    collecting = gc.isenabled()
    gc.disable()
    try:
        return module.run(args)
    finally:
        if collecting:
            gc.enable()


def _open_window(arguments: list[str]) -> int:
    from viewer.cli import window

    parser = window_parser()
    # Intermixed: `a.pth --theme dark b.pth` is two files. What follows "--" is files whatever it looks like.
    end = arguments.index("--") if "--" in arguments else len(arguments)
    args = parser.parse_intermixed_args(arguments[:end])
    args.files += map(Path, arguments[end + 1 :])
    if args.version:
        from viewer.desktop.versions import version_lines

        write_all(line + "\n" for line in version_lines())
        return EXIT_DONE
    return window.run(args)
