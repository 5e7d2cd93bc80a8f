"""Which optimizer wrote a state, by the names in its groups and states (torch/optim/*.py, and those of others)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Rule:
    """One optimizer.

    Attributes
    ----------
    group, state
        Keys that a group and a state must have. A rule with keys of a state says nothing before the first step.
    without
        Keys that neither may have.
    sure
        True where nothing else writes these.
    """

    kind: str
    group: frozenset[str] = frozenset()
    state: frozenset[str] = frozenset()
    without: frozenset[str] = frozenset()
    sure: bool = True


def _rule(kind: str, group: str = "", state: str = "", without: str = "", *, sure: bool = True) -> Rule:
    return Rule(kind, frozenset(group.split()), frozenset(state.split()), frozenset(without.split()), sure)


RULES: Final = (
    _rule("LBFGS", "max_iter history_size tolerance_grad"),
    _rule("Muon", "ns_coefficients ns_steps"),
    _rule("Muon", "ns_steps", sure=False),
    _rule("Adafactor", "beta2_decay d"),
    _rule("Adafactor", "scale_parameter relative_step"),  # transformers.Adafactor
    _rule("NAdam", "momentum_decay betas"),
    _rule("Prodigy", "d_coef d0"),
    _rule("DAdaptation", "d0 d_coef", sure=False),
    _rule("DAdaptAdam", "d growth_rate", sure=False),
    _rule("SOAP", "precondition_frequency max_precond_dim", sure=False),
    _rule("Shampoo", "", "preconditioner", sure=False),
    _rule("ScheduleFree", "train_mode weight_lr_power"),
    _rule("ScheduleFree", "weight_lr_power", sure=False),
    _rule("Sophia", "betas rho", sure=False),
    _rule("Adadelta", "rho eps"),
    _rule("Adagrad", "lr_decay"),
    _rule("Rprop", "etas step_sizes"),
    _rule("ASGD", "lambd alpha t0"),
    _rule("RMSprop", "alpha centered"),
    _rule("LARS", "momentum trust_coefficient", sure=False),
    _rule("SGD", "momentum dampening nesterov"),
    _rule("Adan", "betas", "exp_avg_diff", sure=False),
    _rule("Adan", "betas no_prox", sure=False),
    _rule("AdaBelief", "betas", "exp_avg_var", sure=False),
    _rule("AdamW", "betas correct_bias"),  # transformers.AdamW
    _rule("FusedLAMB", "betas grad_averaging max_grad_norm", sure=False),  # apex
    _rule("LAMB", "betas trust_clip", sure=False),  # timm
    _rule("FusedAdam", "betas bias_correction", sure=False),  # apex, DeepSpeed
    _rule("Ranger", "betas alpha k", sure=False),
    _rule("Adamax", "betas eps", "exp_inf"),
    _rule("SparseAdam", "betas eps", without="weight_decay"),
    _rule("RAdam", "betas eps decoupled_weight_decay", without="amsgrad momentum_decay"),
    _rule("Adamax", "betas eps foreach maximize capturable", without="amsgrad exp_avg exp_avg_sq", sure=False),
    _rule("Lion", "betas weight_decay", "exp_avg", without="eps exp_avg_sq", sure=False),
    _rule("Lion", "betas weight_decay", without="eps exp_avg_sq", sure=False),
    _rule("RAdam", "betas eps weight_decay foreach capturable", "exp_avg exp_avg_sq", "amsgrad", sure=False),
    _rule("Adam", "", "exp_avg exp_avg_sq", sure=False),
    _rule("RMSprop", "", "square_avg", "acc_delta", sure=False),
    _rule("SGD", "", "momentum_buffer", sure=False),
)
"""In the order in which they are asked."""

_QUANTIZED: Final = frozenset({"state1", "state2", "qmap1", "absmax1"})


def kind_of(group: Mapping[str, object], state_keys: frozenset[str], class_name: str = "") -> tuple[str, bool, str]:
    """Kind, whether it is known, and why.

    Parameters
    ----------
    group
        Plain hyperparameters of the first group; None for those that are not plain.
    state_keys
        Keys of the states of the entries.
    class_name
        Where a whole optimizer was pickled: its class as the file writes it.
    """
    if class_name:
        return class_name.rpartition(".")[2], True, f"the file names the class {class_name}"
    if "state1" in state_keys:
        return _eight_bit(group, state_keys)
    if "amsgrad" in group and "betas" in group and "exp_avg_diff" not in state_keys:
        return _adam(group)
    have = state_keys | set(group)
    for rule in RULES:
        if rule.group <= group.keys() and rule.state <= state_keys and not rule.without & have:
            keys = ", ".join(sorted(rule.group | (rule.state & state_keys)))
            return rule.kind, rule.sure, f"its groups and states have {keys}"
    if not state_keys and not group:
        return "unknown", False, "it has neither groups nor states"
    return "unknown", False, "no optimizer that is known here writes these keys"


def _adam(group: Mapping[str, object]) -> tuple[str, bool, str]:
    decoupled = group.get("decoupled_weight_decay")
    if decoupled is not None:
        # torch 2.7 on: AdamW is Adam with decoupled_weight_decay (torch/optim/adamw.py)
        kind = "AdamW" if decoupled else "Adam"
        return kind, True, f"its groups have amsgrad, and decoupled_weight_decay is {decoupled}"
    decay = group.get("weight_decay")
    if decay == 0:
        return (
            "Adam",
            False,
            "its groups have betas and amsgrad; AdamW writes the same, and does the same without decay",
        )
    return (
        "Adam or AdamW",
        False,
        "its groups have betas and amsgrad, and before torch 2.7 AdamW wrote the same as Adam",
    )


def _eight_bit(group: Mapping[str, object], state_keys: frozenset[str]) -> tuple[str, bool, str]:
    # bitsandbytes/optim/optimizer.py: Optimizer8bit.init_state; paged ones differ in where their memory lies.
    found = ", ".join(sorted(_QUANTIZED & state_keys))
    if "state2" in state_keys:
        kind = "Adam"
    elif "betas" in group:
        kind = "Lion"
    else:
        kind = "SGD"
    width = "8-bit " if "qmap1" in state_keys else ""
    return f"{width}{kind} (bitsandbytes)", False, f"its states have {found}, as those of bitsandbytes"
