"""The causes for which a run of a launch line is not what it should be, each found in the facts on its own."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator

from maple_submit_filter.plan import breach_kinds

from ...ask.schedulers import EndReason
from ..run.facts import Fact
from ..run.runs import Run
from ..run.watch import Until
from .comparison import CHOOSE_THEMSELVES
from .scenes import EARLY, Scene, failed, of_kind, ranks, reason
from .verdicts import Kind, Reason, listed, ranks_in_words

LOCAL = ("localhost", "127.", "::1", "0.0.0.0")


def modules(run: Run, scene: Scene) -> Iterator[Reason]:
    facts = of_kind(run, Kind.MODULE)
    if facts:
        pythons = listed(sorted({str(fact.told.get("executable", "?")) for fact in facts}))
        where = listed(sorted({fact.host for fact in facts}))
        works = f"; the launch itself works: with the mini-app {run.passed} all ranks came" if run.passed else ""
        yield reason(run, Kind.MODULE, f"{facts[0].says} in {pythons} on {where}{works}", facts)


def ports(run: Run, scene: Scene) -> Iterator[Reason]:
    facts = [fact for fact in of_kind(run, Kind.PORT) if fact.rank not in twice(run)]
    if facts:
        fact = facts[0]
        says = f"{fact.who} cannot listen on port {fact.master_port}: somebody else does"
        yield reason(run, Kind.PORT, says, facts)


def twice(run: Run) -> dict[int, list[Fact]]:
    """Return the ranks that more processes carry than worlds are planned."""
    claims: dict[int, list[Fact]] = defaultdict(list)
    for fact in run.facts:
        if fact.rank is not None:
            claims[fact.rank].append(fact)
    return {rank: facts for rank, facts in claims.items() if len(facts) > max(1, len(run.step.groups))}


def duplicates(run: Run, scene: Scene) -> Iterator[Reason]:
    claimed = twice(run)
    if claimed:
        rank, facts = min(claimed.items())
        hosts = listed([f"{host} ({count})" for host, count in sorted(Counter(f.host for f in facts).items())])
        says = f"{ranks_in_words(list(claimed))} came more than once: "
        says += f"{len(facts)} processes carry rank {rank}, on {hosts}"
        variable = facts[0].from_variable
        says += f"; the number is from {variable}" if variable else ""
        yield reason(run, Kind.DUPLICATE, says, [fact for facts in claimed.values() for fact in facts])


def fan_out(run: Run, scene: Scene) -> Iterator[Reason]:
    """An agent started on a node more than once: which of them take part is left to chance."""
    if fans_out(run) and not run.whole:
        name = run.step.links[-1].name
        says = f"{name} was started {run.step.tasks} times on {run.step.nodes} nodes: {len(run.facts)} processes"
        yield reason(run, Kind.FAN_OUT, f"{says} came of {run.due or 'an unknown number'}", run.facts)


def fans_out(run: Run) -> bool:
    """Tell whether more agents were started than the job has nodes, and more than they count themselves."""
    several = (run.step.tasks or 0) > (run.step.nodes or 0) > 0
    return several and any(breach.kind == breach_kinds.AGENTS for breach in run.step.breaches)


def unknown_ranks(run: Run, scene: Scene) -> Iterator[Reason]:
    facts = of_kind(run, Kind.RANK)
    empty = [fact for fact in run.facts if fact.table("given").get("RANK") == ""]
    if facts:
        yield reason(run, Kind.RANK, f"{len(facts)} processes do not know who they are: {facts[0].says}", facts)
    elif empty:
        says = f"RANK is set and empty for {len(empty)} processes: a program that reads it takes it for no number"
        yield reason(run, Kind.RANK, says, empty)


def worlds(run: Run, scene: Scene) -> Iterator[Reason]:
    if twice(run) or fans_out(run):
        return
    wrong = wrong_worlds(run)
    facts = of_kind(run, Kind.WORLD)
    if wrong:
        yield reason(run, Kind.WORLD, wrong, run.facts)
    elif facts:
        yield reason(run, Kind.WORLD, facts[0].says, facts)


def wrong_worlds(run: Run) -> str:
    """Return in words how the worlds that came differ from the processes that did, "" where they do not."""
    sizes = {fact.world_size for fact in run.facts}
    came = len(run.facts)
    if len(run.step.groups) != 1:
        return ""
    declared = run.step.groups[0].declared
    if len(sizes) > 1:
        return f"ranks believe in worlds of different size: {listed(sorted(str(size or 1) for size in sizes))}"
    (size,) = sizes
    if size is None and came > 1:
        return f"{came} processes train alone, each for itself: none of them was told a rank or a world size"
    whole = {fact.rank for fact in run.facts} == set(range(came))
    if run.due is not None and size is not None and size != came == run.due and (whole or size < came):
        return f"the world size is {size}, but {came} processes were started"
    met = {fact.group_world for fact in run.facts if fact.ok and fact.group_world is not None}
    if len(met) == 1 and met != {came} and (run.due is None or came >= run.due):
        return f"{came} processes met in worlds of {met.pop()}"
    if declared is not None and size is not None and declared != size and run.due == came:
        return f"the launch line says {declared} processes, and {came} of a world of {size} came"
    return ""


def masters(run: Run, scene: Scene) -> Iterator[Reason]:
    """Where ranks look for rank 0, and where it is."""
    if run.whole or twice(run) or not failed(run):
        return
    at: dict[str, list[Fact]] = defaultdict(list)
    for fact in run.facts:
        if fact.master_addr is not None:
            at[fact.master_addr].append(fact)
    hosts = {fact.host for fact in run.facts}
    unresolved = of_kind(run, Kind.MASTER)
    first = next((fact for fact in run.facts if fact.rank == 0), None)
    agent = bool(run.step.links) and run.step.links[-1].name in CHOOSE_THEMSELVES
    if unresolved:
        address = unresolved[0].master_addr or "nowhere"
        yield reason(
            run, Kind.MASTER, f"{unresolved[0].who} looks for rank 0 at {address}: {unresolved[0].says}", unresolved
        )
    elif len(at) > 1 and len(run.step.groups) == 1 and not agent:
        places = "; ".join(f"{ranks_in_words(ranks(facts))} at {address}" for address, facts in sorted(at.items()))
        yield reason(run, Kind.MASTER, f"the ranks look for rank 0 at different addresses: {places}", run.facts)
    elif len(hosts) > 1 and any(address.startswith(LOCAL) for address in at):
        address = next(iter(at))
        says = f"the ranks of {len(hosts)} nodes look for rank 0 at {address}, each on its own node"
        yield reason(run, Kind.MASTER, says, run.facts)
    elif first is not None and first.table("rendezvous").get("master_is_here") is False:
        says = f"MASTER_ADDR is {first.master_addr}, but rank 0 is on {first.host}"
        yield reason(run, Kind.MASTER, says, [first])


def gpus(run: Run, scene: Scene) -> Iterator[Reason]:
    """A torch worker takes the device of its local rank, so there must be one."""
    binds = any(process.binds_gpu for group in run.step.groups for process in group.processes)
    expected = any(process.gpus for group in run.step.groups for process in group.processes)
    there = expected or any(fact.table("machine").get("nvidia_on_node") for fact in run.facts)
    shared = sharing(run) if binds and there else []
    one_device = [] if run.whole else on_one_device(run)
    beyond = [
        fact
        for fact in run.facts
        if binds and expected and (seen := fact.visible()) is not None and (fact.local_rank or 0) >= len(seen)
    ]
    facts = of_kind(run, Kind.GPU)
    blind = [fact for fact in run.facts if fact.table("device").get("kind") == "cpu"]
    if not scene.wants_gpus:
        return
    if beyond:
        fact, seen = beyond[0], beyond[0].visible() or ()
        shown = f"sees GPUs {','.join(seen)}" if seen else "sees no GPU"
        says = f"no GPU for {ranks_in_words(ranks(beyond))}: {fact.who} is local rank {fact.local_rank} and {shown}"
        yield reason(run, Kind.GPU, says, beyond)
    elif shared:
        says = f"{shared[0].who} and {shared[1].who} take the same GPU: both are local rank {shared[0].local_rank}"
        yield reason(run, Kind.GPU, says, shared)
    elif one_device:
        taken = one_device[0].table("device")
        says = f"{ranks_in_words(ranks(one_device))} on {one_device[0].host} take the same GPU ({taken.get('uuid')})"
        yield reason(run, Kind.GPU, f"{says}: {_seen(taken.get('count'))}, and NCCL refuses to share it", one_device)
    elif facts:
        yield reason(run, Kind.GPU, f"{facts[0].who}: {facts[0].says}", facts)
    elif expected and blind:
        says = (
            f"torch {blind[0].table('versions').get('torch')} finds no GPU on {listed(sorted({f.host for f in blind}))}"
        )
        yield reason(run, Kind.GPU, says, blind)


def sharing(run: Run) -> list[Fact]:
    """Return the processes of one node that see the same GPUs and take the same one of them."""
    takes: dict[tuple[str, int | None, tuple[str, ...] | None], list[Fact]] = defaultdict(list)
    for fact in run.facts:
        takes[fact.host, fact.local_rank, fact.visible()].append(fact)
    return next((facts for facts in takes.values() if len(facts) > 1), [])


def on_one_device(run: Run) -> list[Fact]:
    """Return the processes of NCCL that failed and hold one device: it takes no two ranks on one (NCCL 2.28.9)."""
    holds: dict[object, list[Fact]] = defaultdict(list)
    for fact in run.facts:
        device = fact.table("device")
        if fact.ok is False and device.get("uuid") and fact.told.get("backend") == "nccl":
            holds[fact.host, device["uuid"]].append(fact)
    return next((facts for facts in holds.values() if len(facts) > 1), [])


def _seen(count: object) -> str:
    return f"each sees {count} GPU{'' if count == 1 else 's'}"


def interfaces(run: Run, scene: Scene) -> Iterator[Reason]:
    facts = of_kind(run, Kind.NETWORK)
    if facts:
        yield reason(run, Kind.NETWORK, f"{facts[0].who} finds no such interface: {facts[0].says}", facts)


def collectives(run: Run, scene: Scene) -> Iterator[Reason]:
    facts = [fact for fact in of_kind(run, Kind.COLLECTIVE) if fact.error == "CheckFailed"]
    if facts:
        yield reason(run, Kind.COLLECTIVE, f"{facts[0].who}: {facts[0].says}", facts)


def killed(run: Run, scene: Scene) -> Iterator[Reason]:
    facts = [fact for fact in run.facts if fact.ok is None]
    ending = scene.job.ending if scene.job else None
    if facts and not (ending is not None and ending.reason is EndReason.WALLTIME):
        phases = listed(sorted({fact.phase for fact in facts}))
        why = " by the memory limit" if ending is not None and ending.reason is EndReason.MEMORY else ""
        where = listed(sorted({fact.host for fact in facts}))
        who = ranks_in_words(ranks(facts)) if ranks(facts) else "processes"
        says = f"{who} on {where} ended without a word during {phases}: killed{why}"
        yield reason(run, Kind.KILLED, says, facts)


def crashed(run: Run, scene: Scene) -> Iterator[Reason]:
    shared = on_one_device(run) if scene.wants_gpus else []
    facts = [fact for fact in of_kind(run, Kind.CRASHED) if fact not in shared]
    if facts:
        first = min(facts, key=lambda fact: fact.ended_at)
        says = f"{first.who} failed during {first.phase} with {first.error}: {first.says}"
        yield reason(run, Kind.CRASHED, says, facts)


def walltime(run: Run, scene: Scene) -> Iterator[Reason]:
    ending = scene.job.ending if scene.job else None
    if ending is not None and ending.reason is EndReason.WALLTIME:
        phases = listed(sorted({fact.phase for fact in failed(run)}))
        yield reason(run, Kind.WALLTIME, f"the walltime was over during {phases or 'the start'}", failed(run))
    slow = of_kind(run, Kind.WALLTIME)
    if scene.until is Until.LATE:
        slow += [fact for fact in failed(run) if fact.error == "Stopped" and fact.phase in EARLY]
    if slow:
        says = f"{slow[0].who} was still at the phase {slow[0].phase} after {slow[0].seconds:.0f} s"
        yield reason(run, Kind.WALLTIME, says, slow)


CAUSES: tuple[Callable[[Run, Scene], Iterator[Reason]], ...] = (
    modules,
    fan_out,
    unknown_ranks,
    duplicates,
    worlds,
    ports,
    masters,
    gpus,
    interfaces,
    collectives,
    killed,
    crashed,
    walltime,
)
