"""Bindings and links that work and are slow: told with numbers, before a week of slow training."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from statistics import median, median_high
from typing import NamedTuple

from ..exchange.exchange import needs
from ..run.facts import Fact
from ..run.runs import Run
from .verdicts import Warning, listed, numbers, ranks_in_words

SLOW = 0.5  # of the median rate
FEW = 2  # CPUs a rank wants at least: one to compute, one to load data


def warnings_of(run: Run) -> list[Warning]:
    """Return what is unwise about the ranks of a run, node by node."""
    nodes: dict[str, list[Fact]] = defaultdict(list)
    for fact in run.facts:
        nodes[fact.host].append(fact)
    facts = run.facts
    words = [*_left_out(run), *_worlds(facts), *_ranks_from(facts), *_pythons(facts)]
    words += [*_slow_nodes(nodes), *slow_links(facts)]
    for host, own in sorted(nodes.items()):
        words += [*_cpus(host, own), *_gpus(host, own)]
    return [Warning(words, run.step.line) for words in dict.fromkeys(words)]


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
            nodes = listed([str(index) for index in mine])
            yield f"{host}: rank {fact.rank} runs on NUMA node {nodes}, and its GPU is at NUMA node {near}"


def _slow_nodes(nodes: dict[str, list[Fact]]) -> Iterator[str]:
    """A node whose links give less than half of what the median node's do, for each collective."""
    names = sorted({name for facts in nodes.values() for fact in facts for name in fact.rates()})
    for name in names:
        rates: dict[str, float] = {
            host: median(measured)
            for host, facts in nodes.items()
            if (measured := [rate for fact in facts if (rate := fact.rates().get(name))])
        }
        usual = median(rates.values()) if len(rates) > 2 else 0.0
        for host, slow in sorted(rates.items()):
            if slow < SLOW * usual:
                yield f"{host}: {name} moves {in_words(slow)} there, {in_words(usual)} on the median node"


def _worlds(facts: Sequence[Fact]) -> Iterator[str]:
    """Several whole worlds of one start train beside each other, and know nothing of one another."""
    sizes = {fact.world_size for fact in facts}
    size = sizes.pop() if len(sizes) == 1 else None
    counts = Counter(fact.rank for fact in facts)
    times = set(counts.values())
    if size and size > 1 and set(counts) == set(range(size)) and len(times) == 1 and times != {1}:
        yield f"{times.pop()} worlds of {size} ranks each ran beside each other, not one of {len(facts)}"


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
            f"the ranks' numbers are from {listed(sorted(str(other) for other in others))}: a program that reads RANK, "
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


# Links between two ranks that are far slower than others of their kind, and the host or rank that they share.
#
# Each rank measures its link to the next one alone (`links` in miniapps' facts.schema.json). What is usual is the
# median over the ends of links and not over links: one bad network card makes two links slow, which may be most of
# them.

# Where four ranks shared two CPUs with four other busy processes, the best round of a link took up to 18 ms longer than
# on the median link, at a fifth of its rate. 4 MiB over 1 Gbit/s Ethernet take 35 ms, 64 MiB over 10 Gbit/s 54 ms.
FAR = 0.25  # of the usual rate
NOISE = 0.025  # seconds that a slow link takes longer at least
SMALLEST = 1 << 20  # bytes; a rank stops below that only where its host stood still in between
MOST = 4  # links named in one sentence


class Link(NamedTuple):
    """A link from *rank* on *host* to rank *to* on *to_host*, in bytes a second, with *nbytes*."""

    rank: int
    host: str
    to: int
    to_host: str
    rate: int
    nbytes: int


class _Judged(NamedTuple):
    usual: float
    ends: dict[Hashable, list[Link]]  # whose links are all slow
    alone: list[Link]  # slow, and at none of these ends


def slow_links(facts: Sequence[Fact]) -> Iterator[str]:
    """Yield a sentence for each host or rank that slow links share, and for each slow link between two healthy hosts.

    Nothing is said of two links within a host of which one is slower: GPUs are often joined in pairs.
    """
    links = [link for fact in facts for link in links_of(fact)]
    yield from _between_hosts([link for link in links if link.host != link.to_host])
    yield from _within_hosts([link for link in links if link.host == link.to_host])


def links_of(fact: Fact) -> Iterator[Link]:
    """Yield the links that a rank told of. It is another's word: what is of the wrong type is passed over."""
    rows = fact.told.get("links")
    for row in rows if isinstance(rows, list) else []:
        if not isinstance(row, dict) or fact.rank is None:
            continue
        to, host, nbytes, rate = (row.get(name) for name in ("to", "to_host", "bytes", "bytes_per_second"))
        if not (isinstance(to, int) and isinstance(host, str) and isinstance(nbytes, int) and isinstance(rate, int)):
            continue
        if nbytes >= SMALLEST and 0 < rate < 1 << 60:
            yield Link(fact.rank, fact.host, to, host, rate, nbytes)


def in_words(rate: float) -> str:
    """Return bytes a second as people write them."""
    return f"{rate / 1e9:.2f} GB/s" if rate >= 1e8 else f"{rate / 1e6:.1f} MB/s"


def _between_hosts(links: Sequence[Link]) -> Iterator[str]:
    """Two hosts have a link each way, which are held against each other."""
    judged = _judged(links, lambda link: (link.host, link.to_host), least=2)
    usual = f"where links between hosts usually have {in_words(judged.usual)}"
    for host, own in judged.ends.items():
        away = [f"{in_words(link.rate)} to {link.to_host}" for link in _worst(own) if link.host == host]
        home = [f"{in_words(link.rate)} from {link.host}" for link in _worst(own) if link.to_host == host]
        yield f"{host}: {' and '.join((away + home)[:MOST])}, {usual}"
    for link in judged.alone:
        yield f"{link.host}: {in_words(link.rate)} to {link.to_host} (rank {link.rank} to rank {link.to}), {usual}"


def _within_hosts(links: Sequence[Link]) -> Iterator[str]:
    """Hosts against each other where there are three; then the ranks of all other hosts."""
    hosts = _judged(links, lambda link: (link.host,), least=1)
    slow = hosts.ends if len({link.host for link in links}) > 2 else {}
    for host, own in slow.items():
        slowest = in_words(_worst(own)[0].rate)
        yield f"{host}: {slowest} between its ranks, where other hosts have {in_words(hosts.usual)}"
    others = [link for link in links if link.host not in slow]
    ranks = _judged(others, lambda link: ((link.host, link.rank), (link.host, link.to)), least=2)
    for own in ranks.ends.values() if len(others) > 2 else ():
        ways = " and ".join(
            f"{in_words(link.rate)} from rank {link.rank} to rank {link.to}" for link in _worst(own)[:MOST]
        )
        yield f"{own[0].host}: {ways}, where links within a host usually have {in_words(ranks.usual)}"


def _judged(links: Sequence[Link], ends_of: Callable[[Link], tuple[Hashable, ...]], least: int) -> _Judged:
    """Return which ends have *least* links or more, all of them slow.

    The upper median: in a ring the healthy neighbour of a slow host has one slow link of two, and three hosts of which
    one is slow have two slow links of three.
    """
    at: dict[Hashable, list[Link]] = defaultdict(list)
    for link in links:
        for end in ends_of(link):
            at[end].append(link)
    usual = median_high(median_high(link.rate for link in own) for own in at.values()) if at else 0
    slow = {link for link in links if _is_slow(link, usual)}
    ends = {end: own for end, own in at.items() if len(own) >= least and slow.issuperset(own)}
    alone = [link for link in links if link in slow and not any(end in ends for end in ends_of(link))]
    return _Judged(usual, ends, alone)


def _is_slow(link: Link, usual: int) -> bool:
    return link.rate < FAR * usual and link.nbytes / link.rate - link.nbytes / usual > NOISE


def _worst(links: Sequence[Link]) -> list[Link]:
    return sorted(links, key=lambda link: link.rate)
