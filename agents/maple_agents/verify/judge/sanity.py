"""Bindings and links that work and are slow: told with numbers, before a week of slow training."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from statistics import median

from ..exchange.apps import needs
from ..run.facts import Fact
from ..run.runs import Run
from .slow_links import in_words, slow_links
from .verdicts import Warning, listed, numbers, ranks_in_words

SLOW = 0.5  # of the median rate
FEW = 2  # CPUs a rank wants at least: one to compute, one to load data


def warnings_of(run: Run) -> list[Warning]:
    """Return what is unwise about the ranks of a run, node by node."""
    nodes: dict[str, list[Fact]] = defaultdict(list)
    for fact in run.facts:
        nodes[fact.host].append(fact)
    said = [*_left_out(run), *_ranks_from(run.facts), *_pythons(run.facts), *_slow_nodes(nodes), *slow_links(run.facts)]
    for host, facts in sorted(nodes.items()):
        said += [*_cpus(host, facts), *_gpus(host, facts)]
    return [Warning(words, run.step.line) for words in dict.fromkeys(said)]


def idle(runs: Sequence[Run], hosts: Sequence[str]) -> list[Warning]:
    """Return a warning where some of the job's nodes have nothing to do, though others do."""
    busy = {fact.host.split(".")[0] for run in runs for fact in run.facts}
    left = [host for host in hosts if host.split(".")[0] not in busy]
    return (
        [Warning(f"nothing ran on {listed(left)}, {len(left)} of the job's {len(hosts)} nodes")]
        if busy and left
        else []
    )


def _cpus(host: str, facts: Sequence[Fact]) -> Iterator[str]:
    """One core for all ranks; single cores that two ranks are bound to; fewer CPUs than ranks."""
    sets = [fact.cpus() for fact in facts if fact.cpus()]
    together = frozenset().union(*sets)
    count = len(facts)
    if count > 1 and sets and len(together) == 1:
        yield f"{host}: all {count} ranks are bound to the one CPU {min(together)}"
    elif sets and len(together) < count:
        yield f"{host}: {count} ranks share {len(together)} CPUs ({numbers(sorted(together))})"
    else:
        yield from _shared_cores(host, facts)
    few = [fact for fact in facts if 0 < len(fact.cpus()) < FEW]
    if few and count > 1 and len(together) >= count:
        yield f"{host}: {ranks_in_words(_ranks(few))} may use one CPU each, for computing and loading data"


def _shared_cores(host: str, facts: Sequence[Fact]) -> Iterator[str]:
    bound: dict[int, list[Fact]] = defaultdict(list)
    for fact in facts:
        if len(fact.cpus()) == 1:
            bound[min(fact.cpus())].append(fact)
    for cpu, sharing in sorted(bound.items()):
        if len(sharing) > 1:
            yield f"{host}: {ranks_in_words(_ranks(sharing))} are all bound to CPU {cpu}"


def _gpus(host: str, facts: Sequence[Fact]) -> Iterator[str]:
    """GPUs that two ranks share, and ranks bound to the CPUs of another socket than their GPU's."""
    owners: dict[str, list[Fact]] = defaultdict(list)
    for fact in facts:
        uuid = fact.table("device").get("uuid")
        if isinstance(uuid, str) and uuid:
            owners[uuid].append(fact)
    for uuid, sharing in sorted(owners.items()):
        if len(sharing) > 1:
            yield f"{host}: {ranks_in_words(_ranks(sharing))} share the GPU {uuid}"
    for fact in facts:
        near, mine = fact.table("device").get("numa_node"), fact.table("machine").get("numa_nodes")
        if isinstance(near, int) and isinstance(mine, list) and mine and near not in mine:
            nodes = listed([str(one) for one in mine])
            yield f"{host}: rank {fact.rank} runs on NUMA node {nodes}, and its GPU is at NUMA node {near}"


def _slow_nodes(nodes: dict[str, list[Fact]]) -> Iterator[str]:
    """A node whose links give less than half of what the median node's do, for each collective."""
    names = sorted({name for facts in nodes.values() for fact in facts for name in fact.rates()})
    for name in names:
        rates: dict[str, float] = {
            host: median(found)
            for host, facts in nodes.items()
            if (found := [rate for fact in facts if (rate := fact.rates().get(name))])
        }
        usual = median(rates.values()) if len(rates) > 2 else 0.0
        for host, slow in sorted(rates.items()):
            if slow < SLOW * usual:
                yield f"{host}: {name} moves {in_words(slow)} there, {in_words(usual)} on the median node"


def _left_out(run: Run) -> Iterator[str]:
    """What was not tried is not proven."""
    if run.left_out:
        missing = listed([name for name in needs(run.left_out) if not run.facts[0].table("versions").get(name)])
        yield f"{run.left_out} was not run, for {run.facts[0].told.get('executable')} has no {missing}"


def _ranks_from(facts: Sequence[Fact]) -> Iterator[str]:
    """torch itself reads RANK and nothing else."""
    others = {fact.from_variable for fact in facts} - {"RANK", None}
    if others and len(facts) > 1:
        yield (
            f"the ranks' numbers are from {listed(sorted(str(one) for one in others))}: a program that reads RANK, "
            "as torch itself does, would not find it"
        )


def _pythons(facts: Sequence[Fact]) -> Iterator[str]:
    """Two nodes with two Pythons, or two versions of torch, may train, and may not."""
    for name in ("python", "torch", "cuda", "nccl"):
        versions: dict[str, list[str]] = defaultdict(list)
        for fact in facts:
            if fact.table("versions").get(name):
                versions[str(fact.table("versions")[name])].append(fact.host)
        if len(versions) > 1:
            where = "; ".join(f"{version} on {listed(sorted(hosts))}" for version, hosts in sorted(versions.items()))
            yield f"not every node has one version of {name}: {where}"


def _ranks(facts: Sequence[Fact]) -> list[int]:
    return [fact.rank for fact in facts if fact.rank is not None]
