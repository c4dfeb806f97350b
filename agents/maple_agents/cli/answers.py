"""What the engine decided, as JSON. The shapes are stable: other programs read them."""

from __future__ import annotations

from typing import Optional

from maple_submit_filter.answer.decision import Decision, Rewritten
from maple_submit_filter.answer.report import safety
from maple_submit_filter.types.findings import Finding
from maple_submit_filter.types.job import column_of, line_of
from maple_submit_filter.types.launch_plan import Allocation, Group, Process, Step
from maple_submit_filter.types.text import show

from ..ask.submission import Answer
from ..base.output import text, unified
from . import shapes


def checked(answer: Answer, mode: str) -> shapes.Check:
    """Return what `maple check --json` prints; a number that is unknown is None."""
    decision, source = answer.decision, answer.submission.script or b""
    return shapes.Check(
        site=answer.site.id,
        site_known_by=answer.known_by,
        scheduler=answer.submission.scheduler,
        mode=mode,
        verdict=decision.verdict,
        findings=[_finding(finding, source) for finding in decision.findings],
        plan=shapes.Steps(steps=[_step(step) for step in decision.plan.steps] if decision.plan else []),
        repaired=_rewritten(decision.repaired, answer) if decision.repaired else None,
        offered=_rewritten(decision.offered, answer) if decision.offered else None,
        offers=[{**_rewritten(offer, answer), "says": list(offer.says)} for offer in answer.offers],
        held_back=[shapes.HeldBack(code=code, why=why) for code, why in decision.held_back],
    )


def planned(answer: Answer) -> shapes.Plan:
    """Return what `maple plan --json` prints: the steps as `maple check` has them, and every process."""
    plan = answer.decision.plan
    return shapes.Plan(
        site=answer.site.id,
        site_known_by=answer.known_by,
        scheduler=answer.submission.scheduler,
        allocation=_allocation(plan.allocation) if plan else None,
        steps=[_step_with_processes(step) for step in plan.steps] if plan else [],
        unread=unread(answer.decision),
    )


def unread(decision: Decision) -> list[shapes.UnreadLine]:
    """Return what could not be understood, with its lines."""
    plan = decision.plan
    return [shapes.UnreadLine(line=line, says=says) for line, says in plan.unread] if plan else []


def _finding(finding: Finding, source: bytes) -> shapes.Finding:
    return shapes.Finding(
        code=finding.code,
        line=line_of(source, finding.at.start) if finding.at else None,
        column=column_of(source, finding.at.start) if finding.at else None,
        says=finding.says,
        safety=safety(finding),
        proven=finding.proven,
        asks_for=finding.asks_for or None,
        elsewhere=[
            shapes.FileLine(file=change.file, line=change.line, was=change.was, becomes=change.becomes)
            for change in finding.elsewhere
        ],
    )


def _step(step: Step) -> shapes.Step:
    return {**_head(step), "groups": [_group(group) for group in step.groups], "unknown": list(step.unknown)}


def _head(step: Step) -> shapes.StepHead:
    return shapes.StepHead(
        line=step.line,
        launchers=[link.name for link in step.links],
        nodes=step.nodes,
        tasks_per_node=step.tasks_per_node,
        workers_per_task=step.workers_per_task,
    )


def _group(group: Group) -> shapes.Group:
    return shapes.Group(
        nodes=group.nodes,
        ranks_per_node=group.ranks_per_node,
        world_size=group.world_size,
        master=_plain(group.master),
    )


def _step_with_processes(step: Step) -> shapes.PlannedStep:
    groups: list[shapes.GroupOfProcesses] = [
        {**_group(group), "complete": group.complete, "processes": [_process(process) for process in group.processes]}
        for group in step.groups
    ]
    program = [show(word) for word in step.program]
    return {**_head(step), "groups": groups, "unknown": list(step.unknown), "program": program}


def _process(process: Process) -> shapes.Process:
    return shapes.Process(
        node=process.node,
        task=process.task,
        local_rank=process.local_rank,
        rank=process.rank,
        world_size=process.world_size,
        master=_plain(process.master),
        port=_plain(process.port),
        gpus=None if process.gpus is None else [show(gpu) for gpu in process.gpus],
        cpus=process.cpus,
    )


def _allocation(allocation: Allocation) -> shapes.Allocation:
    return shapes.Allocation(
        nodes=allocation.nodes,
        tasks=allocation.tasks,
        tasks_per_node=allocation.tasks_per_node,
        cpus_per_task=allocation.cpus_per_task,
        gpus_per_node=allocation.gpus_per_node,
        gpus_per_task=allocation.gpus_per_task,
        node_kinds=[kind.name for kind in allocation.node_kinds],
        partition=allocation.partition,
    )


def _rewritten(new: Rewritten, answer: Answer) -> shapes.Rewritten:
    before = answer.submission.script or b""
    after = before if new.script is None else new.script
    return shapes.Rewritten(
        script=text(after),
        argv=[text(word) for word in new.argv],
        diff=unified(before, after, answer.name),
        edits=[shapes.Changed(line=line, because=because) for line, because in new.because],
    )


def _plain(value: Optional[bytes]) -> Optional[str]:
    """Return a value with its tokens as people read them; None where any part of it is unknown."""
    return None if value is None or b"\0same" in value else show(value)
