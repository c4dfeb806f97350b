"""Links between two ranks that are far slower than others of their kind, and the host or rank that they share.

Each rank measures its link to the next one alone (`links` in miniapps' facts.schema.json). What is usual is the median
over the ends of links and not over links: one bad network card makes two links slow, which may be most of them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from statistics import median_high
from typing import NamedTuple

from ..run.facts import Fact

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
    found = [link for fact in facts for link in links_of(fact)]
    yield from _between_hosts([link for link in found if link.host != link.to_host])
    yield from _within_hosts([link for link in found if link.host == link.to_host])


def links_of(fact: Fact) -> Iterator[Link]:
    """Yield the links that a rank told of. It is another's word: what is of the wrong type is passed over."""
    told = fact.told.get("links")
    for one in told if isinstance(told, list) else []:
        if not isinstance(one, dict) or fact.rank is None:
            continue
        to, host, nbytes, rate = (one.get(name) for name in ("to", "to_host", "bytes", "bytes_per_second"))
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
        away = [f"{in_words(one.rate)} to {one.to_host}" for one in _worst(own) if one.host == host]
        home = [f"{in_words(one.rate)} from {one.host}" for one in _worst(own) if one.to_host == host]
        yield f"{host}: {' and '.join((away + home)[:MOST])}, {usual}"
    for one in judged.alone:
        yield f"{one.host}: {in_words(one.rate)} to {one.to_host} (rank {one.rank} to rank {one.to}), {usual}"


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
        ways = " and ".join(f"{in_words(one.rate)} from rank {one.rank} to rank {one.to}" for one in _worst(own)[:MOST])
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
