"""Names of optimizer entries against the truth of real trainings, with every optimizer of torch."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from tests.checkpoint.meaning.training import (
    GROUPINGS,
    MODELS,
    OPTIMIZERS,
    FrozenTwin,
    Named,
    Plain,
    Tied,
    Training,
    Twins,
    by_decay,
    floating_entries,
    head_first,
    one_group,
    only_optimizer,
    possible_names,
    recognised,
    step,
    train,
)
from viewer import open_checkpoint
from viewer.checkpoint.meaning.recognise import recognise_task
from viewer.checkpoint.meaning.results import FITS, MISFITS, UNKNOWN, OptimizerFacts
from viewer.task import run


@pytest.mark.parametrize("kind", OPTIMIZERS)
@pytest.mark.parametrize("make", [Plain, Tied], ids=lambda make: make.__name__)
def test_that_every_optimizer_is_recognised_and_named(
    kind: str, make: Callable[[], nn.Module], tmp_path: Path
) -> None:
    training = train(make(), kind)
    facts = only_optimizer(training.content, tmp_path)
    assert (facts.kind, facts.named_by) == (kind, "state_dict")
    assert facts.entries.name == training.truth
    assert set(facts.entries.fits) == {FITS}
    assert not facts.unstated


@pytest.mark.parametrize("kind", OPTIMIZERS)
def test_that_every_optimizer_is_named_before_its_first_step(kind: str, tmp_path: Path) -> None:
    training = train(Plain(), kind, steps=0)
    facts = only_optimizer(training.content, tmp_path)
    assert facts.entries.name == training.truth
    if kind not in ("Adamax", "RAdam"):
        assert facts.kind == kind


@pytest.mark.parametrize("make", MODELS, ids=lambda make: make.__name__)
@pytest.mark.parametrize("grouping", GROUPINGS, ids=lambda grouping: grouping.__name__)
def test_that_an_entry_is_named_if_and_only_if_one_name_fits(
    make: Callable[[], nn.Module], grouping: Callable[[Named], list[Named]], tmp_path: Path
) -> None:
    model = make()
    training = train(model, "Adam", grouping)
    facts = only_optimizer(training.content, tmp_path)
    shapes = dict(floating_entries(model))
    groups = [[shapes[name] for name in group] for group in training.groups]
    expected = possible_names(groups, floating_entries(model))
    for nth, (truth, possible) in enumerate(zip(training.truth, expected, strict=True)):
        assert truth in possible
        if len(possible) == 1:
            assert (facts.entries.name[nth], facts.entries.candidates[nth]) == (truth, ())
        else:
            assert facts.entries.name[nth] is None
            assert set(facts.entries.candidates[nth]) == possible
            assert facts.entries.n_candidates[nth] == len(possible)
    assert facts.named_by == "state_dict"


def test_that_a_frozen_twin_is_ambiguous_and_says_so(tmp_path: Path) -> None:
    facts = only_optimizer(train(FrozenTwin(), "SGD").content, tmp_path)
    assert facts.entries.name[:2] == [None, None]
    assert facts.entries.candidates[0] == ("first.weight", "second.weight")
    assert facts.entries.name[2:] == ["head.weight", "head.bias"]
    assert "more than one assignment fits" in facts.naming


def test_that_equal_layers_in_groups_of_their_own_show_the_likely_order(tmp_path: Path) -> None:
    def by_layer(named: Named) -> list[Named]:
        return [named[:2], named[2:4], named[4:]]

    facts = only_optimizer(train(Twins(), "Adam", by_layer).content, tmp_path)
    assert facts.entries.name == [None, None, None, None, "head.weight", "head.bias"]
    assert facts.entries.likely[:4] == ["a.weight", "a.bias", "b.weight", "b.bias"]


@pytest.mark.parametrize("grouping", GROUPINGS, ids=lambda grouping: grouping.__name__)
@pytest.mark.parametrize("make", MODELS, ids=lambda make: make.__name__)
def test_that_named_parameters_give_their_names(
    make: Callable[[], nn.Module], grouping: Callable[[Named], list[Named]], tmp_path: Path
) -> None:
    training = train(make(), "AdamW", grouping, named=True)
    facts = only_optimizer(training.content, tmp_path)
    assert (facts.kind, facts.named_by, facts.entries.name) == ("AdamW", "param_names", training.truth)
    assert set(facts.entries.fits) == {FITS}


def test_that_moments_which_do_not_fit_a_named_parameter_are_marked(tmp_path: Path) -> None:
    content = train(Plain(), "Adam", named=True).content
    state = content["optimizer"]["state"]
    state[0], state[1] = state[1], state[0]
    facts = only_optimizer(content, tmp_path)
    assert list(facts.entries.fits) == [MISFITS, MISFITS] + [FITS] * (len(state) - 2)


def test_that_exchanged_states_are_marked_and_not_named(tmp_path: Path) -> None:
    content = train(Plain(), "Adam").content
    state = content["optimizer"]["state"]
    state[0], state[1] = state[1], state[0]
    facts = only_optimizer(content, tmp_path)
    assert facts.named_by == "none"
    assert facts.entries.name == [None] * len(state)
    assert list(facts.entries.fits[:3]) == [MISFITS, MISFITS, FITS]
    assert "entry 0 has moments of shape 8, and parameter 0 of the model, inner.0.weight, has 8×4" in facts.naming
    assert any("another order" in note for note in facts.notes)


def test_that_one_odd_moment_is_marked(tmp_path: Path) -> None:
    content = train(Plain(), "Adam").content
    content["optimizer"]["state"][3]["exp_avg_sq"] = torch.zeros(5, 5)
    facts = only_optimizer(content, tmp_path)
    assert facts.entries.fits[3] == MISFITS
    assert facts.entries.name[3] is not None


def test_that_another_model_does_not_fit_and_the_counts_are_told(tmp_path: Path) -> None:
    content = train(Plain(), "Adam").content
    content["model"] = nn.Sequential(nn.Linear(4, 8), nn.Linear(9, 3)).state_dict()
    facts = only_optimizer(content, tmp_path)
    assert facts.named_by == "none"
    assert set(facts.entries.name) == {None}
    assert "the optimizer has 10 entries and model has 4 parameters" in facts.naming
    assert "parameter 2 of the model, 1.weight, has 3×9" in facts.naming


def test_that_an_optimizer_alone_says_that_there_is_no_model(tmp_path: Path) -> None:
    facts = only_optimizer(train(Plain(), "SGD").content["optimizer"], tmp_path)
    assert (facts.node, facts.kind, facts.named_by) == (0, "SGD", "none")
    assert "no model" in facts.naming
    assert set(facts.entries.fits) == {UNKNOWN}


def test_that_a_model_in_another_file_gives_the_names(tmp_path: Path) -> None:
    training = train(Plain(), "Adadelta", by_decay)
    torch.save(training.content["model"], tmp_path / "model.pth")
    torch.save(training.content["optimizer"], tmp_path / "optimizer.pth")
    checkpoint = open_checkpoint(tmp_path / "optimizer.pth")
    (facts,) = run(recognise_task(checkpoint, open_checkpoint(tmp_path / "model.pth"))).optimizers
    assert facts.entries.name == training.truth
    assert set(facts.entries.parameter) == {-1}


def beside_safetensors(training: Training, folder: Path) -> OptimizerFacts:
    """The optimizer as named from a safetensors file with the model."""
    save_file(training.model.state_dict(), folder / "model.safetensors")
    torch.save(training.content["optimizer"], folder / "optimizer.pt")
    model = open_checkpoint(folder / "model.safetensors")
    (facts,) = run(recognise_task(open_checkpoint(folder / "optimizer.pt"), model)).optimizers
    return facts


def test_that_safetensors_which_lose_the_order_never_give_a_wrong_name(tmp_path: Path) -> None:
    """Sorted by name, `0.bias` stands before `0.weight`, and shapes alone must tell."""
    training = train(Plain(), "Adam", by_decay)
    facts = beside_safetensors(training, tmp_path)
    shapes = dict(floating_entries(training.model))
    for nth, truth in enumerate(training.truth):
        same = {name for name, shape in shapes.items() if shape == shapes[truth]}
        if len(same) == 1:
            assert facts.entries.name[nth] == truth
        else:
            assert facts.entries.name[nth] is None
            assert set(facts.entries.candidates[nth]) == same
    assert "order is lost" in facts.naming
    assert [likely or name for likely, name in zip(facts.entries.likely, facts.entries.name, strict=True)][-2:] == [
        "inner.3.bias",
        "head.bias",
    ]


def test_that_numbers_tell_equal_layers_of_a_list_apart_in_safetensors(tmp_path: Path) -> None:
    model = nn.Sequential(*[nn.Linear(4, 4, bias=False) for _ in range(12)], nn.Linear(4, 3))
    training = train(model, "SGD")
    facts = beside_safetensors(training, tmp_path)
    assert training.truth[2] == "2.weight"
    assert facts.entries.name == training.truth


def test_that_a_sorted_state_dict_is_taken_as_one_that_lost_its_order(tmp_path: Path) -> None:
    training = train(Twins(), "Adam")
    training.content["model"] = dict(sorted(training.content["model"].items()))
    facts = only_optimizer(training.content, tmp_path)
    assert facts.entries.name == [None, None, None, None, "head.weight", "head.bias"]
    assert facts.entries.candidates[0] == ("a.weight", "b.weight")


def test_that_lbfgs_with_its_one_state_is_named(tmp_path: Path) -> None:
    training = train(Plain(), "SGD")
    optimizer = torch.optim.LBFGS(training.model.parameters())
    step(training.model, optimizer)
    content = {"model": training.model.state_dict(), "optimizer": optimizer.state_dict()}
    facts = only_optimizer(content, tmp_path)
    assert facts.kind == "LBFGS"
    assert facts.entries.name == training.truth


def test_that_muon_over_the_matrices_is_named(tmp_path: Path) -> None:
    model = Plain()
    step(model, optimizer := torch.optim.Muon([value for value in model.parameters() if value.dim() == 2]))
    facts = only_optimizer({"model": model.state_dict(), "opt": optimizer.state_dict()}, tmp_path)
    assert facts.kind == "Muon"
    assert facts.entries.name == ["inner.0.weight", "inner.2.weight", "head.weight"]
    assert "inner.0.bias" in facts.unstated


def test_that_sparse_adam_is_named(tmp_path: Path) -> None:
    model = nn.Embedding(5, 3, sparse=True)
    optimizer = torch.optim.SparseAdam(list(model.parameters()))
    model(torch.tensor([1, 2])).sum().backward()
    optimizer.step()
    facts = only_optimizer({"model": model.state_dict(), "opt": optimizer.state_dict()}, tmp_path)
    assert (facts.kind, facts.entries.name) == ("SparseAdam", ["weight"])


def test_that_a_pickled_optimizer_is_named_by_the_tensors_it_holds(tmp_path: Path) -> None:
    training = train(Twins(), "Adam", head_first)
    _, recognition = recognised({"net": training.model, "opt": training.optimizer}, tmp_path)
    (facts,) = recognition.optimizers
    assert (facts.kind, facts.kind_known, facts.named_by) == ("Adam", True, "state_dict")
    assert facts.entries.name == training.truth
    assert set(facts.entries.fits) == {FITS}


def test_that_states_keyed_by_name_are_named_by_key(tmp_path: Path) -> None:
    training = train(Plain(), "Adam")
    optimizer = training.content["optimizer"]
    names = training.truth
    content = {
        "model": {f"module.{name}": value for name, value in training.content["model"].items()},
        "optimizer": {
            "state": {names[nth]: state for nth, state in optimizer["state"].items()},
            "param_groups": [{**optimizer["param_groups"][0], "params": names}],
        },
    }
    facts = only_optimizer(content, tmp_path)
    assert (facts.named_by, facts.entries.name) == ("key", names)
    assert set(facts.entries.fits) == {FITS}


def test_that_a_flat_state_is_read_like_any_other(tmp_path: Path) -> None:
    """The form of torch.distributed.checkpoint with flatten_optimizer_state_dict=True."""
    training = train(Plain(), "AdamW", by_decay)
    optimizer = training.content["optimizer"]
    flat: dict[str, Any] = {}
    for nth, name in enumerate(training.truth):
        group = optimizer["param_groups"][0 if nth < 3 else 1]
        flat |= {f"state.{name}.{key}": value for key, value in optimizer["state"][nth].items()}
        flat |= {f"param_groups.{name}.{key}": value for key, value in group.items() if key != "params"}
    facts = only_optimizer({"model": training.content["model"], "optim": flat}, tmp_path)
    assert (facts.kind, facts.named_by, facts.entries.name) == ("AdamW", "key", training.truth)
    assert set(facts.entries.fits) == {FITS}
    assert [group.n_parameters for group in facts.groups] == [3, 7]
    assert facts.groups[0].differing == ("weight_decay",)
    assert set(facts.entries.parts[0]) == {"step", "exp_avg", "exp_avg_sq"}


def test_that_addresses_as_ids_go_by_the_groups(tmp_path: Path) -> None:
    """torch before 1.5 wrote `id(parameter)` in place of numbers."""
    training = train(Plain(), "SGD")
    optimizer = training.content["optimizer"]
    address = {nth: 140230000000000 - 16 * nth for nth in optimizer["state"]}
    optimizer["state"] = {address[nth]: state for nth, state in reversed(optimizer["state"].items())}
    optimizer["param_groups"][0]["params"] = list(address.values())
    facts = only_optimizer(training.content, tmp_path)
    assert facts.entries.name == training.truth
    assert facts.entries.id == list(address.values())


def test_that_each_of_several_optimizers_gets_its_own_model(tmp_path: Path) -> None:
    large, small = train(Plain(), "Adam"), train(Twins(), "SGD")
    content = {
        "state_dicts": [large.content["model"], small.content["model"]],
        "optimizers": [small.content["optimizer"], large.content["optimizer"]],
    }
    _, recognition = recognised(content, tmp_path)
    found = [(facts.kind, facts.entries.name) for facts in recognition.optimizers]
    assert found == [("SGD", small.truth), ("Adam", large.truth)]


def test_that_one_optimizer_over_two_models_has_paths_as_names(tmp_path: Path) -> None:
    first, second = Plain(), Twins()
    optimizer = torch.optim.Adam([*first.parameters(), *second.parameters()])
    step(first, optimizer)
    step(second, optimizer)
    content = {"encoder": first.state_dict(), "decoder": second.state_dict(), "opt": optimizer.state_dict()}
    facts = only_optimizer(content, tmp_path)
    assert facts.entries.name[0] == "encoder/inner.0.weight"
    assert facts.entries.name[-1] == "decoder/head.bias"


def test_that_an_averaged_copy_of_the_model_confuses_nothing(tmp_path: Path) -> None:
    training = train(Plain(), "Adam")
    content = {"ema": copy.deepcopy(training.content["model"]), **training.content}
    checkpoint, recognition = recognised(content, tmp_path)
    (facts,) = recognition.optimizers
    assert facts.entries.name == training.truth
    assert facts.model == checkpoint.find("model")


def test_that_two_models_which_both_fit_with_other_names_are_both_shown(tmp_path: Path) -> None:
    training = train(Plain(), "Adam", one_group)
    renamed = {name.replace("inner", "trunk"): value.clone() for name, value in training.content["model"].items()}
    content: dict[str, Any] = {"x": training.content["model"], "y": renamed, "z": training.content["optimizer"]}
    facts = only_optimizer(content, tmp_path)
    assert facts.entries.name[0] is None
    assert facts.entries.candidates[0] == ("x/inner.0.weight", "y/trunk.0.weight")
    assert "more than one model fits" in facts.naming
    content = {"net_g": training.content["model"], "net_d": renamed, "optimizer_d": training.content["optimizer"]}
    facts = only_optimizer(content, tmp_path)
    assert facts.entries.name[0] == "trunk.0.weight"
    assert any("net_d is taken" in note for note in facts.notes)


def test_that_differences_between_groups_are_told(tmp_path: Path) -> None:
    facts = only_optimizer(train(Plain(), "Adam", by_decay).content, tmp_path)
    assert [group.n_parameters for group in facts.groups] == [3, 7]
    assert facts.groups[0].differing == ("weight_decay",)
    assert [name for name, _ in facts.groups[0].hyperparameters][:2] == ["weight_decay", "lr"]


def test_that_state_of_no_group_is_listed(tmp_path: Path) -> None:
    content = train(Plain(), "Adam").content
    content["optimizer"]["state"][99] = content["optimizer"]["state"][0]
    facts = only_optimizer(content, tmp_path)
    assert (facts.entries.id[-1], facts.entries.group[-1], facts.entries.name[-1]) == (99, -1, None)
