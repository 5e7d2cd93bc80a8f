"""Rename rules at work: what they make of names, and that none of them takes for ever."""

from __future__ import annotations

import pytest

from viewer.compare import rewriting
from viewer.compare.names import parse_rule
from viewer.compare.rewriting import rewritten
from viewer.errors import ViewerError

NAMES = ["module.layers.0.weight", "module.layers.10.weight", "bias", "", "ü\udcff\n.weight"]


def apply(*rules: str) -> list[str]:
    return rewritten([parse_rule(rule) for rule in rules], NAMES)


@pytest.mark.parametrize(
    ("rule", "first"),
    [
        (r"^module\.=>", "layers.0.weight"),
        (r"layers\.(\d+)=>h\1", "module.h0.weight"),
        (r"layers\.(?P<at>\d+)=>h.\g<at>", "module.h.0.weight"),
        ("(?i)MODULE=>m", "m.layers.0.weight"),
        ("weight|bias=>w", "module.layers.0.w"),
    ],
)
def test_that_rules_rewrite_names_as_re_does(rule: str, first: str) -> None:
    found = apply(rule)
    assert found[0] == first
    assert len(found) == len(NAMES)


def test_that_names_pass_through_another_process_unharmed() -> None:
    assert apply("nothing like it+=>x") == NAMES


def test_that_rules_are_applied_in_their_order() -> None:
    assert apply("^module=>model", "model.*=>x")[:3] == ["x", "x", "bias"]


def test_that_a_pattern_that_tries_everything_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rewriting, "_PATIENCE_S", 1.0)
    with pytest.raises(ViewerError, match="take too long"):
        rewritten([parse_rule("(([a-z]+)+)+$Z=>x")], ["a" * 60])


def test_that_a_pattern_that_tries_everything_on_an_empty_text_can_be_typed() -> None:
    assert parse_rule("(|)" * 40 + "(?:|){40}y=>x").replacement == "x"


def test_that_rules_that_double_a_name_are_stopped() -> None:
    with pytest.raises(ViewerError, match="more than 100,000 characters"):
        apply(*[r"(.*)=>\1\1"] * 30)
    with pytest.raises(ViewerError, match="more than 100,000 characters"):
        apply(*["a=>aaaaaaaaaa"] * 9)
