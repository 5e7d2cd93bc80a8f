"""Which names are matched, which renames are offered, and what collides."""

from __future__ import annotations

from collections import OrderedDict
from pathlib import Path

import pytest
import torch

from tests.compare.measured import compare_objects, rows_by_path, statuses
from viewer.compare.names import parse_rule
from viewer.compare.results import CompareOptions, Status
from viewer.errors import BadPath, ViewerError


def model(prefix: str = "") -> dict[str, torch.Tensor]:
    return {
        f"{prefix}fc.weight": torch.arange(6.0).view(2, 3),
        f"{prefix}fc.bias": torch.ones(2),
        f"{prefix}bn.num_batches_tracked": torch.tensor(4),
    }


def rules(*texts: str) -> CompareOptions:
    return CompareOptions(rules=tuple(map(parse_rule, texts)))


@pytest.mark.parametrize(
    ("other", "rule"),
    [
        (model("module."), r"b:^module\.=>"),
        (model("_orig_mod.module."), r"b:^_orig_mod\.module\.=>"),
        ({"epoch": 1, "state_dict": model("model.")}, r"b:^state_dict/model\.=>"),
    ],
)
def test_that_a_prefix_is_offered_and_explains_everything(
    other: dict[str, object], rule: str, tmp_path: Path
) -> None:
    comparison = compare_objects(tmp_path, model(), other)
    counts = comparison.totals()
    assert (counts[Status.REMOVED], counts[Status.IDENTICAL]) == (3, 0)
    best = comparison.structure.offers[0]
    assert (str(best.rule), best.matches, best.same_shape) == (rule, 3, 3)
    counts = compare_objects(tmp_path, model(), other, rules(rule)).totals()
    assert (counts[Status.IDENTICAL], counts[Status.REMOVED]) == (3, 0)


def test_that_one_prefix_is_offered_for_another(tmp_path: Path) -> None:
    comparison = compare_objects(tmp_path, model("model."), model("backbone."))
    (offer, *_) = comparison.structure.offers
    assert (offer.rule.pattern, offer.rule.replacement, offer.matches) == (r"^model\.", "backbone.", 3)


def test_that_a_wrapper_inside_the_names_is_offered(tmp_path: Path) -> None:
    a = {f"net.{at}.w": torch.full((at + 1,), 1.0) for at in range(3)}
    b = {f"net.{at}._orig_mod.w": torch.full((at + 1,), 1.0) for at in range(3)}
    comparison = compare_objects(tmp_path, a, b)
    assert any(offer.rule.pattern == r"_orig_mod\." and offer.matches == 3 for offer in comparison.structure.offers)


def test_that_colliding_renames_keep_their_names_and_are_told(tmp_path: Path) -> None:
    mixed = {"w": torch.zeros(2), "module.w": torch.ones(2)}
    comparison = compare_objects(tmp_path, mixed, mixed, rules(r"^module\.=>"))
    assert statuses(comparison) == {"w": "identical", "module.w": "identical"}
    assert any("'w'" in warning for warning in comparison.structure.warnings)


def test_that_user_rules_take_groups_and_one_side(tmp_path: Path) -> None:
    a = {"layers.0.w": torch.ones(2), "layers.1.w": torch.zeros(2)}
    b = {"blocks.0.w": torch.ones(2), "blocks.1.w": torch.zeros(2)}
    comparison = compare_objects(tmp_path, a, b, rules(r"a:^layers\.(\d+)=>blocks.\1"))
    assert set(statuses(comparison).values()) == {"identical"}
    (first, *_) = comparison.counted_rows()
    assert (comparison.path_a(first), comparison.path_b(first)) == ("layers.0.w", "blocks.0.w")
    assert [note.aspect for note in comparison.notes(first)] == ["name"]


@pytest.mark.parametrize("text", ["module", "=>x", "(=>x", r"a=>\1"])
def test_that_a_rule_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ViewerError, match="rule"):
        parse_rule(text)


def test_that_flat_and_nested_names_are_one(tmp_path: Path) -> None:
    nested = {
        "fc": {"weight": torch.arange(6.0).view(2, 3), "bias": torch.ones(2)},
        "bn": {"num_batches_tracked": torch.tensor(4)},
    }
    for a, b in ((model(), nested), (nested, model())):
        comparison = compare_objects(tmp_path, a, b)
        assert set(statuses(comparison).values()) == {"identical"}
        assert comparison.totals()[Status.IDENTICAL] == 3


def test_that_an_int_key_is_not_a_str_key(tmp_path: Path) -> None:
    comparison = compare_objects(tmp_path, {1: "x"}, {"1": "x"})
    assert statuses(comparison) == {"[1]": "removed", "1": "added"}


def test_that_the_order_of_keys_is_a_note_and_no_difference(tmp_path: Path) -> None:
    comparison = compare_objects(tmp_path, {"x": 1, "y": 2}, {"y": 2, "x": 1})
    assert set(statuses(comparison).values()) == {"identical"}
    assert [note.aspect for note in comparison.notes(0)] == ["order"]
    assert comparison.verdict() == (True, True, True)


def adam(*, reverse: bool = False, named: bool = False) -> dict[str, object]:
    weight, bias = torch.nn.Parameter(torch.ones(1, 2)), torch.nn.Parameter(torch.zeros(1))
    parameters = [("weight", weight), ("bias", bias)]
    if reverse:
        parameters.reverse()
    optimizer = torch.optim.Adam(parameters if named else [parameter for _, parameter in parameters], lr=0.0)
    (weight.sum() * 2 + bias.sum()).backward()
    optimizer.step()
    state: dict[str, object] = optimizer.state_dict()
    return {"optimizer": state}


def test_that_optimizer_entries_match_by_parameter_name(tmp_path: Path) -> None:
    comparison = compare_objects(tmp_path, adam(named=True), adam(named=True, reverse=True))
    found = statuses(comparison)
    assert {status for path, status in found.items() if "/state[" in path} == {"identical"}
    row = rows_by_path(comparison)["optimizer/state[0]/exp_avg"]
    assert comparison.path_b(row) == "optimizer/state[1]/exp_avg"


def test_that_entries_matched_by_position_say_so_where_shapes_differ(tmp_path: Path) -> None:
    comparison = compare_objects(tmp_path, adam(), adam(reverse=True))
    (warning,) = comparison.structure.warnings
    assert "position" in warning
    assert "(1, 2) against (1,)" in warning
    assert "order 1, 0" in warning


def test_that_entries_match_by_the_names_of_the_model_beside_them(tmp_path: Path) -> None:
    def checkpoint(*, frozen: bool) -> dict[str, object]:
        torch.manual_seed(0)
        net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Linear(3, 4))
        trained = list(net[1].parameters()) if frozen else list(net.parameters())
        optimizer = torch.optim.Adam(trained, lr=0.0)
        net(torch.ones(1, 2)).sum().backward()
        optimizer.step()
        return {"model": net.state_dict(), "optimizer": optimizer.state_dict()}

    comparison = compare_objects(tmp_path, checkpoint(frozen=False), checkpoint(frozen=True))
    row = rows_by_path(comparison)["optimizer/state[2]/exp_avg"]
    assert comparison.path_b(row) == "optimizer/state[0]/exp_avg"
    assert comparison.status(row) == Status.IDENTICAL
    assert statuses(comparison)["optimizer/state[0]/exp_avg"] == "removed"
    assert comparison.structure.warnings == []


def test_that_ids_that_are_addresses_match_by_their_order(tmp_path: Path) -> None:
    new = adam()
    optimizer = new["optimizer"]
    assert isinstance(optimizer, dict)
    address = {0: 140230000000016, 1: 140230000000400}
    old = {
        "optimizer": {
            "state": {address[key]: value for key, value in optimizer["state"].items()},
            "param_groups": [{**optimizer["param_groups"][0], "params": list(address.values())}],
        }
    }
    comparison = compare_objects(tmp_path, new, old)
    assert {status for path, status in statuses(comparison).items() if "/state[" in path} == {"identical"}
    assert comparison.verdict()[1] is True


def test_that_two_parts_of_one_file_are_compared(tmp_path: Path) -> None:
    both = {"live": model(), "ema": {**model(), "fc.bias": torch.zeros(2)}}
    options = CompareOptions(select_a="live", select_b="ema")
    comparison = compare_objects(tmp_path, both, both, options)
    assert statuses(comparison) == {
        "live/fc.weight": "identical",
        "live/fc.bias": "changed",
        "live/bn.num_batches_tracked": "identical",
    }
    with pytest.raises(BadPath, match="nothing is at 'emu'"):
        compare_objects(tmp_path, both, both, CompareOptions(select_b="emu"))


def test_that_a_renamed_tensor_is_suggested_by_its_shape(tmp_path: Path) -> None:
    comparison = compare_objects(tmp_path, {"head.w": torch.ones(7, 3)}, {"classifier": torch.zeros(7, 3)})
    (pair,) = comparison.structure.renamed
    assert (comparison.path_a(pair.row_a), comparison.path_b(pair.row_b)) == ("head.w", "classifier")


def test_that_an_ordered_dict_against_a_dict_is_a_kind(tmp_path: Path) -> None:
    comparison = compare_objects(tmp_path, {"x": OrderedDict(a=1)}, {"x": {"a": 1}})
    assert statuses(comparison) == {"x": "kind", "x/a": "identical"}
    assert comparison.verdict() == (False, True, True)


def test_that_renamed_tensors_are_suggested_by_their_content(tmp_path: Path) -> None:
    a = {f"old.{at}": torch.full((3, 2), float(at)) for at in range(4)}
    b = {f"new.{name}": torch.full((3, 2), value) for name, value in (("x", 2.0), ("y", 0.0), ("z", 9.0))}
    comparison = compare_objects(tmp_path, a, b)
    pairs = {
        (comparison.path_a(pair.row_a), comparison.path_b(pair.row_b), pair.reason)
        for pair in comparison.structure.renamed
    }
    assert pairs == {("old.2", "new.x", "the same content"), ("old.0", "new.y", "the same content")}
