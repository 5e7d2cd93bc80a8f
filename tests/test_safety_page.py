"""The page about safety lists exactly the names that the code holds to be harmless."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

from viewer.formats.pickle.known import HARMLESS, is_harmless

PAGE = Path(__file__).resolve().parents[1] / "docs" / "safety.md"


def listing() -> str:
    """The list as it stands in the page between its two marks, made from the code."""
    by_module: defaultdict[str, list[str]] = defaultdict(list)
    for dotted in sorted(HARMLESS):
        module, _, name = dotted.rpartition(".")
        by_module[module].append(f"`{name}`")
    rows = [f"| `{module}` | {' '.join(names)} |" for module, names in sorted(by_module.items())]
    return "\n".join(["", "| module | names |", "|---|---|", *rows, ""])


def test_that_the_page_lists_the_harmless_names_of_the_code() -> None:
    found = re.search(r"<!-- harmless: begin -->\n(.*)<!-- harmless: end -->", PAGE.read_text("utf-8"), re.DOTALL)
    assert found is not None
    assert found[1].split("\n") == [*listing().split("\n"), ""], "replace the list by what listing() returns"


def test_that_the_names_which_lead_anywhere_are_in_no_list() -> None:
    for module, name in (
        ("builtins", "getattr"),
        ("functools", "partial"),
        ("numpy.ma.core", "_mareconstruct"),
        ("torch.storage", "_load_from_bytes"),
    ):
        assert not is_harmless(module, name)
    for dotted in (
        "builtins.eval",
        "builtins.exec",
        "os.system",
        "torch.load",
        "builtins.print",
        "copyreg.add_extension",
    ):
        assert dotted not in HARMLESS
