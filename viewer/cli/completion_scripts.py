"""Completion scripts of three shells, from the options of the parsers. Arguments that are no options are files, but
for those with choices."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from dataclasses import dataclass

from viewer.cli.commands import COMMANDS
from viewer.cli.parser import PROGRAM, Parser
from viewer.cli.parsers import command_parser, window_parser

_FUNCTION = "_checkpoint_viewer"


@dataclass(frozen=True, slots=True)
class _Option:
    names: tuple[str, ...]
    help: str
    takes_value: bool
    choices: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Words:
    """What may follow a command; the window is the command without a name.

    Attributes
    ----------
    choices
        Of the arguments that are no options; none where they are files.
    """

    name: str
    summary: str
    options: tuple[_Option, ...]
    choices: tuple[str, ...]

    @property
    def flags(self) -> list[str]:
        return [name for option in self.options for name in option.names]

    @property
    def chosen(self) -> list[_Option]:
        """The options whose value is one of a few."""
        return [option for option in self.options if option.choices]


def script(shell: str) -> str:
    """The script for "bash", "zsh" or "fish"."""
    window = _words("", "", window_parser())
    commands = [_words(command.name, command.summary, command_parser(command)) for command in COMMANDS]
    return {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell](window, commands)


def _words(name: str, summary: str, parser: Parser) -> _Words:
    options: list[_Option] = []
    choices: list[str] = []
    for action in parser._actions:
        given = tuple(str(choice) for choice in action.choices or ())
        if action.option_strings:
            text = "" if action.help in (None, argparse.SUPPRESS) else str(action.help)
            options.append(_Option(tuple(action.option_strings), text, action.nargs != 0, given))
        else:
            choices += given
    return _Words(name, summary, tuple(options), tuple(choices))


def _bash(window: _Words, commands: Sequence[_Words]) -> str:
    cases = []
    for words in (*commands, window):
        lines = [f"    {words.name or '*'})", f"      flags='{' '.join(words.flags)}'"]
        if words.choices:
            lines.append(f"      words='{' '.join(words.choices)}'")
        if words.chosen:
            lines.append('      case "$previous" in')
            lines += [
                f"        {'|'.join(each.names)}) values='{' '.join(each.choices)}' ;;" for each in words.chosen
            ]
            lines.append("      esac")
        cases.append("\n".join([*lines, "      ;;"]))
    names = " ".join(words.name for words in commands)
    body = "\n".join(cases)
    return f"""\
# bash completion of {PROGRAM}
{_FUNCTION}() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}" previous="${{COMP_WORDS[COMP_CWORD-1]}}"
  local flags='' words='' values=''
  COMPREPLY=()
  case "${{COMP_WORDS[1]}}" in
{body}
  esac
  if [[ $COMP_CWORD -eq 1 ]]; then
    words='{names}'
  fi
  if [[ -n $values ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$values" -- "$current")
  elif [[ $current == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$flags" -- "$current")
  else
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current"; compgen -f -- "$current")
  fi
}}
complete -F {_FUNCTION} {PROGRAM}
"""


def _zsh(window: _Words, commands: Sequence[_Words]) -> str:
    listed = "\n".join(f"    {_quoted(f'{words.name}:{words.summary}')}" for words in commands)
    cases = "\n".join(
        f"    {words.name or '*'})\n      _arguments {' '.join(_zsh_specs(words))}\n      ;;"
        for words in (*commands, window)
    )
    return f"""\
#compdef {PROGRAM}
{_FUNCTION}() {{
  local -a commands
  commands=(
{listed}
  )
  if (( CURRENT == 2 )) && [[ $words[2] != -* ]]; then
    _describe -t commands command commands
    _files
    return
  fi
  local name=$words[2]
  case $name in
    {"|".join(words.name for words in commands)}) shift words; (( CURRENT-- )) ;;
  esac
  case $name in
{cases}
  esac
}}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
  {_FUNCTION} "$@"
else
  compdef {_FUNCTION} {PROGRAM}
fi
"""


def _zsh_specs(words: _Words) -> list[str]:
    specs = []
    for option in words.options:
        text = re.sub(r"([\[\]:\\\\])", r"\\\1", option.help)
        value = (
            f":value:({' '.join(option.choices)})"
            if option.choices
            else ":value:_files"
            if option.takes_value
            else ""
        )
        specs += [_quoted(f"{name}[{text}]{value}") for name in option.names]
    rest = f"*:argument:({' '.join(words.choices)})" if words.choices else "*:file:_files"
    return [*specs, _quoted(rest)]


def _fish(window: _Words, commands: Sequence[_Words]) -> str:
    names = " ".join(words.name for words in commands)
    first = f"not __fish_seen_subcommand_from {names}"
    lines = [f"# fish completion of {PROGRAM}"]
    lines += [
        f"complete -c {PROGRAM} -n '__fish_is_first_arg' -a {words.name} -d {_quoted(words.summary)}"
        for words in commands
    ]
    for words in (window, *commands):
        condition = f"__fish_seen_subcommand_from {words.name}" if words.name else first
        for option in words.options:
            flags = " ".join(f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in option.names)
            value = f" -x -a '{' '.join(option.choices)}'" if option.choices else " -r" if option.takes_value else ""
            text = f" -d {_quoted(option.help)}" if option.help else ""
            lines.append(f"complete -c {PROGRAM} -n '{condition}' {flags}{value}{text}")
        if words.choices:
            lines.append(f"complete -c {PROGRAM} -n '{condition}' -f -a '{' '.join(words.choices)}'")
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    """In single quotes, of which fish and the others have the same idea but for the quote itself."""
    return "'" + text.replace("'", "’") + "'"
