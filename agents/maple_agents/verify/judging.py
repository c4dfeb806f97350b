"""From the facts of one run of a launch line to the reasons why it is not what it should be.

Causes come first. What follows from them, ranks that waited for those that could not come, is told only where no cause
is known. Exit codes count for nothing.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from ..schedulers import EndReason
from ..schedulers import Job as Submitted
from . import advice
from .comparing import CHOOSE_THEMSELVES, Names
from .facts import Fact
from .launch_lines import AGENTS
from .runs import Run
from .symptoms import in_output, kind_of
from .verdicts import Kind, Reason, listed, numbers, ranks_in_words
from .watching import Until

LOCAL = ("localhost", "127.", "::1", "0.0.0.0")


@dataclass(frozen=True)
class Scene:
    """What is known beside the facts. *seconds*: how long was waited for them; *findings*: what the rules say."""

    until: Until
    job: Submitted | None
    names: Names
    output: str
    seconds: float
    findings: tuple[tuple[int, str], ...] = ()  # line of the script, words
    wants_gpus: bool = True


def reasons_of(run: Run, scene: Scene) -> list[Reason]:
    """Return why a run is not right, the causes first; [] where it is, or where the script passed it by."""
    if not run.facts:
        return [] if run.maybe else [_nothing(run, scene)]
    if run.whole and not _wrong_worlds(run):
        return list(_gpus(run, scene))
    causes: list[Reason] = []
    for look in _CAUSES:
        causes += look(run, scene)
    absent = [*_missing(run, scene)] if not _explained(causes) else []
    found = causes + absent
    if not any(reason.kind is not Kind.WALLTIME for reason in found):
        found += _waits(run, scene)
    return found or _left(run) or [_unclear(run)]


def _explained(causes: Sequence[Reason]) -> bool:
    """Ranks that are numbered wrongly leave others out by that alone."""
    return any(cause.kind in (Kind.DUPLICATE, Kind.WORLD, Kind.RANK) for cause in causes)


def _reason(run: Run, kind: Kind, says: str, facts: Sequence[Fact] = ()) -> Reason:
    ranks = tuple(sorted({fact.rank for fact in facts if fact.rank is not None}))
    hosts = tuple(sorted({fact.host for fact in facts}))
    return Reason(kind, says, advice.about(kind, run.step), run.step.line, ranks, hosts)


def _failed(run: Run) -> list[Fact]:
    return [fact for fact in run.facts if not fact.ok]


def _of_kind(run: Run, kind: Kind) -> list[Fact]:
    return [fact for fact in run.facts if fact.ok is False and kind_of(fact) is kind]


# Nothing at all


def _nothing(run: Run, scene: Scene) -> Reason:
    """No rank said anything: the launchers' words tell why, or the rules, or only that it is so."""
    ending = scene.job.ending if scene.job else None
    what = "no rank started" if run.stage.app in ("dry", "probe") else f"no rank came as far as {run.stage.app}"
    said = in_output(scene.output)
    if said is not None:
        kind, line = said
        return _reason(run, kind, f"{what}: {line}")
    hint = next((words for line, words in scene.findings if line == run.step.line), "")
    hint = f"; {hint}" if hint else ""
    if ending is not None and ending.reason is EndReason.WALLTIME:
        return _reason(run, Kind.WALLTIME, f"{what} before the walltime was over{hint}")
    if scene.until is Until.LATE and run.step.links and run.step.links[-1].name in AGENTS:
        name = run.step.links[-1].name
        return _reason(
            run, Kind.RENDEZVOUS, f"{what} within {scene.seconds:g} s: {name} still waits for its other nodes{hint}"
        )
    if scene.until is Until.LATE:
        return _reason(run, Kind.NOTHING, f"{what} within {scene.seconds:g} s{hint}")
    return _reason(run, Kind.NOTHING, f"{what}, and the job ended without a word{hint}")


# Causes


def _modules(run: Run, scene: Scene) -> Iterator[Reason]:
    facts = _of_kind(run, Kind.MODULE)
    if facts:
        pythons = listed(sorted({str(fact.told.get("executable", "?")) for fact in facts}))
        where = listed(sorted({fact.host for fact in facts}))
        yield _reason(run, Kind.MODULE, f"{facts[0].says} in {pythons} on {where}", facts)


def _ports(run: Run, scene: Scene) -> Iterator[Reason]:
    facts = [fact for fact in _of_kind(run, Kind.PORT) if fact.rank not in _twice(run)]
    if facts:
        one = facts[0]
        says = f"{one.who} cannot listen on port {one.master_port}: somebody else does"
        yield _reason(run, Kind.PORT, says, facts)


def _twice(run: Run) -> dict[int, list[Fact]]:
    """Return the ranks that more processes carry than worlds are planned."""
    claims: dict[int, list[Fact]] = defaultdict(list)
    for fact in run.facts:
        if fact.rank is not None:
            claims[fact.rank].append(fact)
    return {rank: facts for rank, facts in claims.items() if len(facts) > max(1, len(run.step.groups))}


def _duplicates(run: Run, scene: Scene) -> Iterator[Reason]:
    twice = _twice(run)
    if twice:
        rank, facts = min(twice.items())
        hosts = listed([f"{host} ({count})" for host, count in sorted(Counter(f.host for f in facts).items())])
        says = f"{ranks_in_words(list(twice))} came more than once: {len(facts)} processes are rank {rank}, on {hosts}"
        variable = facts[0].from_variable
        says += f"; the number is from {variable}" if variable else ""
        yield _reason(run, Kind.DUPLICATE, says, [fact for facts in twice.values() for fact in facts])


def _unknown_ranks(run: Run, scene: Scene) -> Iterator[Reason]:
    facts = _of_kind(run, Kind.RANK)
    if facts:
        yield _reason(run, Kind.RANK, f"{len(facts)} processes do not know who they are: {facts[0].says}", facts)


def _worlds(run: Run, scene: Scene) -> Iterator[Reason]:
    if _twice(run):
        return
    wrong = _wrong_worlds(run)
    facts = _of_kind(run, Kind.WORLD)
    if wrong:
        yield _reason(run, Kind.WORLD, wrong, run.facts)
    elif facts:
        yield _reason(run, Kind.WORLD, facts[0].says, facts)


def _wrong_worlds(run: Run) -> str:
    """Return in words how the worlds that came differ from the processes that did, "" where they do not."""
    told = {fact.world_size for fact in run.facts}
    came = len(run.facts)
    if len(run.step.groups) != 1:
        return ""
    declared = run.step.groups[0].declared
    if len(told) > 1:
        return f"ranks believe in worlds of different size: {listed(sorted(str(size or 1) for size in told))}"
    (size,) = told
    if size is None and came > 1:
        return f"{came} processes train alone, each for itself: none of them was told a rank or a world size"
    if run.due is not None and size is not None and size != came == run.due:
        return f"the world size is {size}, but {came} processes were started"
    met = {fact.group_world for fact in run.facts if fact.ok and fact.group_world is not None}
    if len(met) == 1 and met != {came} and (run.due is None or came >= run.due):
        return f"{came} processes met in worlds of {met.pop()}"
    if declared is not None and size is not None and declared != size and run.due == came:
        return f"the launch line says {declared} processes, and {came} of a world of {size} came"
    return ""


def _masters(run: Run, scene: Scene) -> Iterator[Reason]:
    """Where ranks look for rank 0, and where it is."""
    if run.whole or _twice(run) or not _failed(run):
        return
    at: dict[str, list[Fact]] = defaultdict(list)
    for fact in run.facts:
        if fact.master_addr is not None:
            at[fact.master_addr].append(fact)
    hosts = {fact.host for fact in run.facts}
    unresolved = _of_kind(run, Kind.MASTER)
    first = next((fact for fact in run.facts if fact.rank == 0), None)
    agent = bool(run.step.links) and run.step.links[-1].name in CHOOSE_THEMSELVES
    if unresolved:
        address = unresolved[0].master_addr or "nowhere"
        yield _reason(
            run, Kind.MASTER, f"{unresolved[0].who} looks for rank 0 at {address}: {unresolved[0].says}", unresolved
        )
    elif len(at) > 1 and len(run.step.groups) == 1 and not agent:
        places = "; ".join(f"{ranks_in_words(_ranks(facts))} at {address}" for address, facts in sorted(at.items()))
        yield _reason(run, Kind.MASTER, f"the ranks look for rank 0 at different addresses: {places}", run.facts)
    elif len(hosts) > 1 and any(address.startswith(LOCAL) for address in at):
        address = next(iter(at))
        says = f"the ranks of {len(hosts)} nodes look for rank 0 at {address}, each on its own node"
        yield _reason(run, Kind.MASTER, says, run.facts)
    elif first is not None and first.table("rendezvous").get("master_is_here") is False:
        says = f"MASTER_ADDR is {first.master_addr}, but rank 0 is on {first.host}"
        yield _reason(run, Kind.MASTER, says, [first])


def _ranks(facts: Sequence[Fact]) -> list[int]:
    return [fact.rank for fact in facts if fact.rank is not None]


def _gpus(run: Run, scene: Scene) -> Iterator[Reason]:
    """A torch worker takes the device of its local rank, so there must be one."""
    binds = any(process.binds_gpu for group in run.step.groups for process in group.processes)
    expected = any(process.gpus for group in run.step.groups for process in group.processes)
    beyond = [
        fact
        for fact in run.facts
        if binds and expected and (seen := fact.visible()) is not None and (fact.local_rank or 0) >= len(seen)
    ]
    facts = _of_kind(run, Kind.GPU)
    blind = [fact for fact in run.facts if fact.table("device").get("kind") == "cpu"]
    if not scene.wants_gpus:
        return
    if beyond:
        one, seen = beyond[0], beyond[0].visible() or ()
        shown = f"sees GPUs {','.join(seen)}" if seen else "sees no GPU"
        says = f"{ranks_in_words(_ranks(beyond))} have no GPU: {one.who} is local rank {one.local_rank} and {shown}"
        yield _reason(run, Kind.GPU, says, beyond)
    elif facts:
        yield _reason(run, Kind.GPU, f"{facts[0].who}: {facts[0].says}", facts)
    elif expected and blind:
        says = (
            f"torch {blind[0].table('versions').get('torch')} finds no GPU on {listed(sorted({f.host for f in blind}))}"
        )
        yield _reason(run, Kind.GPU, says, blind)


def _collectives(run: Run, scene: Scene) -> Iterator[Reason]:
    facts = [fact for fact in _of_kind(run, Kind.COLLECTIVE) if fact.error == "CheckFailed"]
    if facts:
        yield _reason(run, Kind.COLLECTIVE, f"{facts[0].who}: {facts[0].says}", facts)


def _killed(run: Run, scene: Scene) -> Iterator[Reason]:
    facts = [fact for fact in run.facts if fact.ok is None]
    ending = scene.job.ending if scene.job else None
    if facts and not (ending is not None and ending.reason is EndReason.WALLTIME):
        phases = listed(sorted({fact.phase for fact in facts}))
        why = " by the memory limit" if ending is not None and ending.reason is EndReason.MEMORY else ""
        where = listed(sorted({fact.host for fact in facts}))
        who = ranks_in_words(_ranks(facts)) if _ranks(facts) else "processes"
        says = f"{who} on {where} ended without a word during {phases}: killed{why}"
        yield _reason(run, Kind.KILLED, says, facts)


def _crashed(run: Run, scene: Scene) -> Iterator[Reason]:
    facts = _of_kind(run, Kind.CRASHED)
    if facts:
        first = min(facts, key=lambda fact: fact.ended_at)
        says = f"{first.who} failed during {first.phase} with {first.error}: {first.says}"
        yield _reason(run, Kind.CRASHED, says, facts)


def _walltime(run: Run, scene: Scene) -> Iterator[Reason]:
    ending = scene.job.ending if scene.job else None
    if ending is not None and ending.reason is EndReason.WALLTIME:
        phases = listed(sorted({fact.phase for fact in _failed(run)}))
        yield _reason(run, Kind.WALLTIME, f"the walltime was over during {phases or 'the start'}", _failed(run))


_CAUSES: tuple[Callable[[Run, Scene], Iterator[Reason]], ...] = (
    _modules, _unknown_ranks, _duplicates, _worlds, _ports, _masters, _gpus, _collectives, _killed, _crashed, _walltime,
)  # fmt: skip


# What follows


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
    told = f"; {ranks_in_words(_ranks(waited))} waited for them at {_address(waited[0])}" if _ranks(waited) else ""
    if silent:
        lost = f", so {ranks_in_words(gone)} of {size} are missing" if gone else ""
        yield Reason(
            Kind.NODE, f"nothing started on {listed(silent)}{lost}{told}", advice.about(Kind.NODE, run.step),
            run.step.line, tuple(gone), tuple(silent),
        )  # fmt: skip
    elif gone and len(run.step.groups) <= 1:
        yield Reason(
            Kind.MISSING, f"{ranks_in_words(gone)} of {size} never started{told}", advice.about(Kind.MISSING, run.step),
            run.step.line, tuple(gone),
        )  # fmt: skip
    elif run.due is not None and len(run.facts) < run.due:
        yield _reason(run, Kind.MISSING, f"{len(run.facts)} of {run.due} processes started{told}", run.facts)


def _waits(run: Run, scene: Scene) -> list[Reason]:
    """Return who waited in vain, and where."""
    found = []
    met = _of_kind(run, Kind.RENDEZVOUS)
    if met:
        seconds = max(fact.seconds for fact in met)
        says = (
            f"{ranks_in_words(_ranks(met))} waited {seconds:.0f} s for the others at {_address(met[0])}: {met[0].says}"
        )
        found.append(_reason(run, Kind.RENDEZVOUS, says, met))
    stuck = [fact for fact in _of_kind(run, Kind.COLLECTIVE) if fact.error != "CheckFailed"]
    if stuck and not met:
        says = f"{ranks_in_words(_ranks(stuck))} met the others, but {stuck[0].phase} did not end: {stuck[0].says}"
        found.append(_reason(run, Kind.COLLECTIVE, says, stuck))
    return found


def _address(fact: Fact) -> str:
    return f"{fact.master_addr}:{fact.master_port}" if fact.master_addr else "an address that nobody told them"


def _left(run: Run) -> list[Reason]:
    """Return what is left to say where every rank only blames another."""
    facts = [fact for fact in run.facts if fact.ok is False]
    if not facts:
        return []
    first = min(facts, key=lambda fact: fact.ended_at)
    return [_reason(run, Kind.COLLECTIVE, f"{first.who}, {first.phase}: {first.says}", facts)]


def _unclear(run: Run) -> Reason:
    came = numbers(_ranks(run.facts)) or "none"
    return _reason(run, Kind.UNCLEAR, f"{len(run.facts)} processes reported (ranks {came}), all is well with them", ())
