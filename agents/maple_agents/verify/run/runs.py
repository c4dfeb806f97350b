"""One run of one launch line: the facts that belong to it, which stage of it decides, and how many were to come."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from maple_submit_filter.types.launch_plan import Step

from ..exchange.exchange import needs
from ..exchange.launch_lines import Line
from .facts import Fact


@dataclass(frozen=True)
class Stage:
    """A mini-app of an entry. *sure*: it is run whether or not its frameworks can be imported."""

    app: str
    timeout: float
    sure: bool = True

    def settings(self) -> dict[str, object]:
        """Return what the entry on the node is told of it."""
        return {"app": self.app, "timeout": self.timeout, "sure": self.sure, "needs": list(needs(self.app))}


@dataclass(frozen=True)
class Run:
    """The facts of one stage of one run. *due*: how many processes were to come, None unknown."""

    line: Line
    step: Step
    stage: Stage
    facts: tuple[Fact, ...]
    due: int | None
    whole: bool  # every process that was due came and ended well
    left_out: str = ""  # the mini-app behind it that this Python cannot import
    passed: str = ""  # the mini-app before it, with which all came and were content

    @property
    def maybe(self) -> bool:
        """Return True where the script may pass the step by."""
        return self.step.maybe


def due(step: Step) -> int | None:
    """Return how many processes a step starts, None where the plan does not know."""
    counts = [
        len(group.processes)
        if group.complete
        else group.nodes * group.ranks_per_node
        if group.nodes and group.ranks_per_node
        else None
        for group in step.groups
    ]
    return sum(count for count in counts if count) if counts and None not in counts else None


def runs_of(line: Line, stages: Sequence[Stage], facts: Sequence[Fact]) -> list[Run]:
    """Return the run of each step of a line, each in the stage that decides: the last one that all have come to."""
    apart = _apart(facts) if len(line.steps) > 1 else [tuple(facts)]
    apart += [()] * (len(line.steps) - len(apart))
    return [_run(line, step, stages, own) for step, own in zip(line.steps, apart)]


def _run(line: Line, step: Step, stages: Sequence[Stage], facts: Sequence[Fact]) -> Run:
    count = due(step)
    made = Run(line, step, stages[0], (), count, False)
    before: tuple[Fact, ...] = ()
    for stage in stages:
        here = tuple(fact for fact in facts if fact.miniapp == stage.app)
        if before and not here and not stage.sure and not all(_has(fact, stage) for fact in before):
            return replace(made, left_out=stage.app)
        whole = bool(here) and all(fact.ok for fact in here) and (count is None or len(here) >= count)
        made = Run(line, step, stage, here, count, whole, passed=made.stage.app if before else "")
        if not whole:
            return made
        before = here
    return made


def _has(fact: Fact, stage: Stage) -> bool:
    versions = fact.table("versions")
    return all(versions.get(name) for name in needs(stage.app))


def _apart(facts: Sequence[Fact]) -> list[tuple[Fact, ...]]:
    """Part the facts of a line that runs several times: another run begins when all of the one before have ended.

    Under Slurm each run is a step of its own, and the facts name it.
    """
    groups: list[list[Fact]] = []
    until, step = 0.0, ""
    for fact in sorted(facts, key=lambda fact: fact.started_at):
        named = str(fact.table("given").get("SLURM_STEP_ID", ""))
        new = named != step if named else fact.started_at >= until
        if not groups or (new and not (not named and fact.miniapp != "dry")):
            groups.append([])
        groups[-1].append(fact)
        until, step = max(until, fact.ended_at), named
    return [tuple(run) for run in groups]


def complete(lines: Sequence[tuple[Line, Sequence[Stage]]], facts: dict[str, Sequence[Fact]]) -> bool:
    """Return whether nothing more is to come: every process that is due has said how it ended, in its last stage."""
    runs = [run for line, stages in lines for run in runs_of(line, stages, facts.get(line.name, ()))]
    return bool(runs) and all(_is_over(run) for run in runs)


def _is_over(run: Run) -> bool:
    if run.due is None or run.maybe:
        return False
    if run.whole:
        return True
    ended = [fact for fact in run.facts if fact.ok is not None]
    return len(ended) >= max(1, run.due) and len(ended) == len(run.facts) and any(fact.ok is False for fact in ended)
