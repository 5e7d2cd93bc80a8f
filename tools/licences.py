"""Write docs/licences.md: what the program stands on and what a folder build holds, with licences.

    python -m tools.licences [--check]

With --check nothing is written; the exit code is 1 where the list is another one.
"""

from __future__ import annotations

import argparse
import re
import sys
from dataclasses import dataclass
from email.message import Message
from importlib import metadata
from pathlib import Path
from typing import Final, cast

from packaging.requirements import Requirement

TARGET: Final = Path(__file__).parents[1] / "docs" / "licences.md"
OWN: Final = "checkpoint-viewer"

_HEAD: Final = """\
# Licences

Checkpoint Viewer itself, its icons and its samples are under the MIT licence ([LICENSE](../LICENSE)).

A wheel or a source archive holds nothing else. A folder build (see [installing](installing.md)) holds also the
packages in the table, as they lie in the environment that it was built in, and the libraries of the system that they
need. `python -m tools.licences` writes this page from the metadata of the installed packages.

| package | version | licence | from |
|---|---|---|---|
"""

_TAIL: Final = """
Qt comes with PySide6 under the LGPL, version 3: its libraries lie as files of their own in the folder build and can
be replaced. Python itself is under the PSF licence. The wheel of torch brings libraries of its own (oneDNN, OpenMP
and others; their licences are in its `licenses` folder), and the one of numpy OpenBLAS and the runtime of gfortran.
"""


@dataclass(frozen=True, slots=True)
class Package:
    """A package with what its metadata says."""

    name: str
    version: str
    licence: str
    place: str


def packages(root: str = OWN) -> list[Package]:
    """What `root` needs in this environment, by name; without itself."""
    found: dict[str, Package] = {}
    waiting = [root]
    seen = {_key(root)}
    while waiting:
        distribution = metadata.distribution(waiting.pop())
        if _key(distribution.name) != _key(root):
            found[_key(distribution.name)] = _package(distribution)
        for text in distribution.requires or ():
            requirement = Requirement(text)
            key = _key(requirement.name)
            if key not in seen and (requirement.marker is None or requirement.marker.evaluate({"extra": ""})):
                seen.add(key)
                waiting.append(requirement.name)
    return [found[key] for key in sorted(found)]


def page() -> str:
    """The document."""
    rows = [f"| {each.name} | {each.version} | {each.licence} | {each.place} |" for each in packages()]
    return _HEAD + "\n".join(rows) + "\n" + _TAIL


def main() -> int:
    parser = argparse.ArgumentParser(description="Write docs/licences.md.")
    parser.add_argument("--check", action="store_true", help="write nothing; fail where the list is another one")
    if parser.parse_args().check:
        return int(TARGET.read_text(encoding="utf-8") != page())
    TARGET.write_text(page(), encoding="utf-8")
    return 0


def _package(distribution: metadata.Distribution) -> Package:
    about = cast(Message, distribution.metadata)  # what it is, and what its protocol does not tell
    classified = [line.rpartition(" :: ")[2] for line in about.get_all("Classifier") or () if "License ::" in line]
    licence = about.get("License-Expression") or ", ".join(classified) or about.get("License") or "not said"
    links = [line.partition(", ") for line in about.get_all("Project-URL") or ()]
    wanted = ("homepage", "home", "source", "repository", "source code", "github")
    named = {name.casefold(): url for name, _, url in links}
    place = about.get("Home-page") or next((named[name] for name in wanted if name in named), "")
    return Package(distribution.name, distribution.version.partition("+")[0], _one_line(licence), place)


def _one_line(text: str) -> str:
    """A licence's name; some metadata holds the whole text."""
    first = text.strip().splitlines()[0].strip()
    return first.replace("|", "/")[:300]


def _key(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


if __name__ == "__main__":
    sys.exit(main())
