"""The verdict on all launch lines of a script together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from maple_submit_filter.launchers.registry import AGENTS

from ...ask.schedulers import EndReason
from ..run.facts import Fact
from ..run.runs import Run
from ..run.watch import Until
from . import scenes
from .causes import CAUSES, gpus, unknown_ranks, wrong_worlds
from .comparison import Difference, compare
from .sanity import idle, warnings_of
from .scenes import Scene, in_output, kind_of, of_kind, ranks, reason
from .verdicts import Kind, Reason, Verdict, listed, numbers, ranks_in_words, verdict_of


def judged(runs: Sequence[Run], scene: Scene) -> Verdict:
    """Return the verdict on all launch lines together."""
    reasons: list[Reason] = []
    differences: list[Difference] = []
    values = known = 0
    for run in runs:
        reasons += reasons_of(run, scene)
        if run.facts:
            comparison = compare(run.step, run.facts, scene.names)
            differences += comparison.differences
            values, known = values + comparison.values, known + comparison.known
    reasons = _meeting_on_one_port(runs, reasons)
    if not any(run.facts for run in runs) and not reasons:
        reasons = [Reason(Kind.UNCLEAR, "every launch line stands behind a condition, and none ran", "see maple plan")]
    warnings = [warning for run in runs if run.facts for warning in warnings_of(run)]
    warnings += idle(runs, scene.names.hosts)
    return verdict_of(reasons, warnings, differences, values, known)


def _meeting_on_one_port(runs: Sequence[Run], reasons: list[Reason]) -> list[Reason]:
    """Launch lines beside each other that meet at one address and port take each other's ranks for their own."""
    at: dict[tuple[str | None, int | None], set[int]] = {}
    for run in runs:
        if run.step.background:
            for fact in run.facts:
                if fact.master_port is not None and fact.table("from").get("master_port"):
                    at.setdefault((fact.master_addr, fact.master_port), set()).add(run.step.line)
    shared = next(((where, lines) for where, lines in at.items() if len(lines) > 1), None)
    touched = (Kind.PORT, Kind.DUPLICATE, Kind.WORLD, Kind.RENDEZVOUS, Kind.COLLECTIVE, Kind.MISSING)
    if shared is None or not any(reason.kind in touched for reason in reasons):
        return reasons
    (address, port), lines = shared
    says = f"lines {' and '.join(map(str, sorted(lines)))} run at the same time and both meet at {address}:{port}"
    own = Reason(Kind.PORT, says, "give each launch line a port of its own", min(lines))
    return [own, *(reason for reason in reasons if reason.kind not in touched)]


# From the facts of one run of a launch line to the reasons why it is not what it should be.
#
# Causes come first. What follows from them, ranks that waited for those that could not come, is told only where no
# cause is known. Exit codes count for nothing.


def reasons_of(run: Run, scene: Scene) -> list[Reason]:
    """Return why a run is not right, the causes first; [] where it is, or where the script passed it by."""
    if not run.facts:
        return [] if run.maybe else [_nothing(run, scene)]
    if run.whole and not wrong_worlds(run):
        return [*unknown_ranks(run, scene), *gpus(run, scene)]
    causes: list[Reason] = []
    for look in CAUSES:
        causes += look(run, scene)
    absent = [*_missing(run, scene)] if not _explained(causes) else []
    reasons = causes + absent
    if not any(reason.kind is not Kind.WALLTIME for reason in reasons):
        reasons += _waits(run, scene)
    return reasons or _left(run) or [_unclear(run)]


def _explained(causes: Sequence[Reason]) -> bool:
    """Wrong numbers leave ranks out by that alone, and an agent ends the others where one cannot import."""
    explain = (Kind.DUPLICATE, Kind.FAN_OUT, Kind.WORLD, Kind.RANK, Kind.MODULE)
    return any(cause.kind in explain for cause in causes)


def _nothing(run: Run, scene: Scene) -> Reason:
    """No rank said anything: the launchers' words tell why, or the rules, or only that it is so."""
    ending = scene.job.ending if scene.job else None
    what = "no rank started" if run.stage.app in ("dry", "probe") else f"no rank came as far as {run.stage.app}"
    words = in_output(scene.output)
    if words is not None:
        kind, line = words
        return reason(run, kind, f"{what}: {line}")
    hint = next((words for line, words in scene.findings if line == run.step.line), "")
    hint = f"; {hint}" if hint else ""
    if ending is not None and ending.reason is EndReason.WALLTIME:
        return reason(run, Kind.WALLTIME, f"{what} before the walltime was over{hint}")
    if scene.until is Until.LATE and run.step.links and run.step.links[-1].name in AGENTS:
        name = run.step.links[-1].name
        return reason(
            run, Kind.RENDEZVOUS, f"{what} within {scene.seconds:g} s: {name} still waits for its other nodes{hint}"
        )
    if scene.until is Until.LATE:
        return reason(run, Kind.NOTHING, f"{what} within {scene.seconds:g} s{hint}")
    return reason(run, Kind.NOTHING, f"{what}, and the job ended without a word{hint}")


def _missing(run: Run, scene: Scene) -> Iterator[Reason]:
    """Ranks that never said a word, and nodes on which none did."""
    seen = {fact.rank for fact in run.facts}
    size = max((fact.world_size or 0 for fact in run.facts), default=0)
    gone = [rank for rank in range(min(size, 1_000_000)) if rank not in seen]
    planned = {process.node for group in run.step.groups for process in group.processes}
    names = scene.names
    silent = [names.hosts[node] for node in sorted(n for n in planned if n is not None) if node < len(names.hosts)]
    silent = [host for host in silent if host.split(".")[0] not in {fact.host.split(".")[0] for fact in run.facts}]
    waited = [fact for fact in run.facts if fact.ok is False and kind_of(fact) is Kind.RENDEZVOUS]
    more = f"; {ranks_in_words(ranks(waited))} waited for them at {_address(waited[0])}" if ranks(waited) else ""
    words = in_output(scene.output)
    more += f"; {words[1]}" if words is not None else ""
    if silent:
        lost = f", so {ranks_in_words(gone)} of {size} are missing" if gone else ""
        yield Reason(
            Kind.NODE, f"nothing started on {listed(silent)}{lost}{more}", scenes.about(Kind.NODE, run.step),
            run.step.line, tuple(gone), tuple(silent),
        )  # fmt: skip
    elif gone and len(run.step.groups) <= 1:
        yield Reason(
            Kind.MISSING, f"{ranks_in_words(gone)} of {size} never started{more}", scenes.about(Kind.MISSING, run.step),
            run.step.line, tuple(gone),
        )  # fmt: skip
    elif run.due is not None and len(run.facts) < run.due:
        yield reason(run, Kind.MISSING, f"{len(run.facts)} of {run.due} processes started{more}", run.facts)


def _waits(run: Run, scene: Scene) -> list[Reason]:
    """Return who waited in vain, and where."""
    reasons = []
    met = of_kind(run, Kind.RENDEZVOUS)
    if met:
        seconds = max(fact.seconds for fact in met)
        says = (
            f"{ranks_in_words(ranks(met))} waited {seconds:.0f} s for the others at {_address(met[0])}: {met[0].says}"
        )
        reasons.append(reason(run, Kind.RENDEZVOUS, says, met))
    stuck = [fact for fact in of_kind(run, Kind.COLLECTIVE) if fact.error != "CheckFailed"]
    if stuck and not met:
        says = f"{ranks_in_words(ranks(stuck))} met the others, but {stuck[0].phase} did not end: {stuck[0].says}"
        reasons.append(reason(run, Kind.COLLECTIVE, says, stuck))
    return reasons


def _address(fact: Fact) -> str:
    return f"{fact.master_addr}:{fact.master_port}" if fact.master_addr else "an unknown address"


def _left(run: Run) -> list[Reason]:
    """Return what is left to say where every rank only blames another."""
    facts = [fact for fact in run.facts if fact.ok is False]
    if not facts:
        return []
    first = min(facts, key=lambda fact: fact.ended_at)
    return [reason(run, Kind.COLLECTIVE, f"{first.who}, {first.phase}: {first.says}", facts)]


def _unclear(run: Run) -> Reason:
    came = numbers(ranks(run.facts)) or "none"
    return reason(run, Kind.UNCLEAR, f"{len(run.facts)} processes reported (ranks {came}), all is well with them", ())
