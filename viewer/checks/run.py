"""All checks of a checkpoint, as one task."""

from __future__ import annotations

from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.meaning.recognise import recognise_task
from viewer.checkpoint.meaning.results import OptimizerFacts, Recognition
from viewer.checks import structure, values
from viewer.checks.danger import CHECK as DANGER
from viewer.checks.danger import danger_findings
from viewer.checks.results import SEVERITIES, CheckReport, OptimizerNumbers
from viewer.checks.weights_only import CHECK as WEIGHTS_ONLY
from viewer.checks.weights_only import weights_only_findings
from viewer.task import Task


def check_task(
    checkpoint: Checkpoint, recognition: Recognition | None = None, *, device: str = "cpu", with_values: bool = True
) -> Task[CheckReport]:
    """Every check.

    Parameters
    ----------
    recognition
        What the checkpoint was recognised as; found first where it is None.
    with_values
        False to read no tensor: the checks of `viewer.checks.values` are left out.

    Raises
    ------
    DeviceProblem, FileChanged
        When values cannot be read at all; tensors that cannot are in the notes.
    """
    if recognition is None:
        recognition = yield from recognise_task(checkpoint)
    report = CheckReport(checks=[*structure.CHECKS, WEIGHTS_ONLY, DANGER], with_values=with_values)
    report.findings += structure.structure_findings(checkpoint, recognition)
    report.findings += danger_findings(checkpoint)
    report.findings += weights_only_findings(checkpoint)
    if with_values:
        from viewer.tensors.brief_task import brief_task

        wanted = values.tensors_to_read(checkpoint)
        briefs = yield from brief_task(checkpoint, wanted, device=device)
        report.checks += values.CHECKS
        report.findings += values.value_findings(checkpoint, recognition, briefs)
        unread = [brief for brief in briefs.values() if brief.problem is not None]
        if unread:
            report.notes.append(
                f"{len(unread):,} tensors could not be read and their values were not checked: {unread[0].problem}"
            )
    report.findings.sort(key=lambda finding: SEVERITIES.index(finding.severity))
    return report


def optimizer_numbers_task(
    checkpoint: Checkpoint, optimizer: OptimizerFacts, *, device: str = "cpu"
) -> Task[OptimizerNumbers]:
    """Numbers about every tensor in an optimizer's state: norms, steps."""
    from viewer.tensors.brief_task import brief_task

    numbers = state_tensors(checkpoint, optimizer)
    briefs = yield from brief_task(checkpoint, numbers, device=device)
    return OptimizerNumbers(optimizer.node, briefs)


def state_tensors(checkpoint: Checkpoint, optimizer: OptimizerFacts) -> list[int]:
    """Numbers of the tensors at and below the states of an optimizer's entries."""
    nodes = checkpoint.nodes
    found: dict[int, None] = {}
    states = [state for state in optimizer.entries.state if state >= 0]
    states += [node for members in optimizer.entries.parts.values() for node in members.values()]
    for state in states:
        for node in nodes.tree_order(state):
            number = checkpoint.tensor_of_node(node)
            if number is not None:
                found[number.number] = None
    return list(found)
