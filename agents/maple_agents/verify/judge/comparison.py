"""The plan beside the facts: every process that came is put to a planned one, and every value known is compared.

Where a rendezvous hands out ranks by arrival the plan knows the set of ranks and not whose is whose; there a rank is
right when it lies in the world. What the plan does not know is never wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from maple_submit_filter.types.launch_plan import Group, Process, Step

from ..run.facts import Fact

_TOKEN = re.compile(rb"\0([^\0]*)\0")
CHOOSE_THEMSELVES = ("torchrun", "accelerate")  # with c10d these take a master and a port of their own
_PAIRED_AT_MOST = 4096  # processes; beyond, ranks alone tell who is who


@dataclass(frozen=True)
class Difference:
    """One value of one process that came otherwise than foretold."""

    what: str
    planned: str
    real: str
    host: str
    rank: int | None


@dataclass(frozen=True)
class Comparison:
    """*values* were there to compare, *known* of them the plan knew. *pairs*: each fact with its planned process."""

    values: int
    known: int
    differences: tuple[Difference, ...]
    pairs: tuple[tuple[Fact, Process | None], ...]


@dataclass(frozen=True)
class Names:
    """What tokens of the plan stand for: the job's hosts in order, and its id."""

    hosts: tuple[str, ...]
    job_id: str

    def index(self, host: str) -> int | None:
        """Return the number of a host in the job; its name may or may not have a domain."""
        short = [name.split(".")[0] for name in self.hosts]
        return short.index(host.split(".")[0]) if host.split(".")[0] in short else None

    def real(self, planned: bytes | None) -> str | None:
        """Return a planned text with its tokens replaced; None where it is not known what one stands for."""
        if planned is None:
            return None
        lost = []

        def put(match: re.Match[bytes]) -> bytes:
            kind, _, value = match[1].partition(b":")
            if kind in (b"host", b"name") and value.isdigit() and int(value) < len(self.hosts):
                return self.hosts[int(value)].encode()
            if kind == b"job" and self.job_id:
                return self.job_id.encode()
            lost.append(kind)
            return b""

        text = _TOKEN.sub(put, planned).decode("utf-8", "replace")
        return None if lost else text


def compare(step: Step, facts: Sequence[Fact], names: Names) -> Comparison:
    """Return how the facts of one run of a step differ from what was foretold."""
    planned = [(process, group) for group in step.groups for process in group.processes]
    agent = bool(step.links) and step.links[-1].name in CHOOSE_THEMSELVES
    pairs: list[tuple[Fact, Process | None]] = []
    differences: list[Difference] = []
    values = known = 0
    for fact, match in _paired(planned, facts, names):
        pairs.append((fact, match[0] if match else None))
        if match is None:
            values += 4
            continue
        for what, foretold, real in _values(fact, *match, names, agent):
            values += 1
            if foretold is None:
                continue
            known += 1
            if foretold != real:
                differences.append(Difference(what, str(foretold), str(real), fact.host, fact.rank))
    return Comparison(values, known, tuple(differences), tuple(pairs))


Planned = tuple[Process, Group]


def _paired(planned: Sequence[Planned], facts: Sequence[Fact], names: Names) -> Iterator[tuple[Fact, Planned | None]]:
    """Yield each fact with the planned process that is most like it; each planned process is taken once."""
    if len(planned) * len(facts) > _PAIRED_AT_MOST**2 // 16:
        by_rank = {process.rank: (process, group) for process, group in planned if process.rank is not None}
        yield from ((fact, by_rank.get(fact.rank if fact.rank is not None else -1)) for fact in facts)
        return
    free = set(range(len(planned)))
    likeness = sorted(
        ((_likeness(planned[i], fact, names), -j, -i) for j, fact in enumerate(facts) for i in free), reverse=True
    )
    taken: dict[int, int] = {}
    for _, j, i in likeness:
        if -j not in taken and -i in free:
            taken[-j] = -i
            free.discard(-i)
    for j, fact in enumerate(facts):
        yield fact, planned[taken[j]] if j in taken else None


def _likeness(pair: Planned, fact: Fact, names: Names) -> int:
    process = pair[0]
    node = names.index(fact.host)
    return (
        8 * (process.node is not None and process.node == node)
        + 4 * (process.rank is not None and process.rank == fact.rank)
        + 2 * (process.local_rank is not None and process.local_rank == fact.local_rank)
    )


def _values(
    fact: Fact, process: Process, group: Group, names: Names, agent: bool
) -> Iterator[tuple[str, object, object]]:
    """Yield what, planned (None unknown) and real of each value there is."""
    if names.hosts:
        yield "node", _host(process.node, names), fact.host.split(".")[0]
    if fact.rank is not None:
        by_arrival = process.rank is None and group.complete and process.world_size is not None
        inside = by_arrival and 0 <= fact.rank < (process.world_size or 0)
        yield "rank", (fact.rank if inside else "in the world") if by_arrival else process.rank, fact.rank
        yield "world size", process.world_size, fact.world_size
    if fact.local_rank is not None:
        yield "local rank", process.local_rank, fact.local_rank
    seen = fact.visible()
    if seen is not None:
        yield "visible GPUs", _devices(process, seen), ",".join(seen)
    if not agent and _table_says(fact, "master_addr") == "MASTER_ADDR":
        yield "master", _alike(names.real(process.master), fact.master_addr), fact.master_addr
    if not agent and _table_says(fact, "master_port") == "MASTER_PORT":
        yield "port", names.real(process.port), str(fact.master_port)


def _table_says(fact: Fact, name: str) -> object:
    return fact.table("from").get(name)


def _host(node: int | None, names: Names) -> str | None:
    return names.hosts[node].split(".")[0] if node is not None and node < len(names.hosts) else None


def _alike(planned: str | None, real: str | None) -> str | None:
    """A host may be called with its domain or without; an address is compared whole."""
    plain = planned is not None and real is not None and not planned[:1].isdigit()
    return real if plain and str(planned).split(".")[0] == str(real).split(".")[0] else planned


def _devices(process: Process, seen: Sequence[str]) -> str | None:
    """Return the planned devices. Their numbers are the scheduler's own, or names: as many of them are the same."""
    if process.gpus is None:
        return None
    planned = [gpu.decode("utf-8", "replace") for gpu in process.gpus]
    return ",".join(seen if len(planned) == len(seen) else planned)
