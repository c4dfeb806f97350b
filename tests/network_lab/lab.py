"""The lab: namespaces joined by a bridge, rates by tc, a process for each seat.

Every name begins with this process's number, and what is made is taken away by its exact name.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, TypeVar

from maple_agents.mapping.costs import Capacity, Exchange, Link

SEAT = Path(__file__).with_name("seat.py")
OUTER, INNER = 48.0, 480.0  # Mbit/s between nodes and within one: far below what the processors of a laptop can do
KIB = 1 << 10


class Rates(NamedTuple):
    """Bytes a second and seconds before the first one, within a node and between two."""

    inner: float
    inner_late: float
    outer: float
    outer_late: float


class Lab:
    """*nodes* namespaces with *each* seats; use it in a `with`. *seat*: what each seat runs; *slow*: nodes of half the
    rate."""

    def __init__(self, nodes: int = 4, each: int = 2, seat: Path = SEAT, slow: Sequence[int] = ()) -> None:
        self.nodes, self.each, self.seat, self.slow = nodes, each, seat, slow
        self.bridge = f"mb{os.getpid()}"
        self.spaces = [f"maple{os.getpid()}n{node}" for node in range(nodes)]
        self.seats: list[subprocess.Popen[str]] = []

    def __enter__(self) -> Lab:
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # what is made is taken away then too
        try:
            self._wire()
            addresses = [f"10.97.0.{1 + seat // self.each}" for seat in range(self.nodes * self.each)]
            for seat in range(len(addresses)):
                node = seat // self.each
                heard = ["127.0.0.1" if other // self.each == node else one for other, one in enumerate(addresses)]
                self.seats.append(subprocess.Popen(
                    ["ip", "netns", "exec", self.spaces[node], sys.executable, str(self.seat), str(seat), *heard],
                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))  # fmt: skip
            for one in self.seats:
                assert one.stdout is not None and one.stdout.readline() == "ready\n"
        except BaseException:
            self._away()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._away()

    def _wire(self) -> None:
        run("ip", "link", "add", self.bridge, "type", "bridge")
        run("ip", "link", "set", self.bridge, "up")
        for node, space in enumerate(self.spaces):
            here, there = f"mh{os.getpid()}n{node}", "eth0"
            run("ip", "netns", "add", space)
            run("ip", "link", "add", here, "type", "veth", "peer", "name", there, "netns", space)
            run("ip", "link", "set", here, "master", self.bridge, "up")
            inside = ("ip", "netns", "exec", space)
            run(*inside, "ip", "addr", "add", f"10.97.0.{1 + node}/24", "dev", there)
            run(*inside, "ip", "link", "set", there, "up")
            run(*inside, "ip", "link", "set", "lo", "up", "mtu", "9000")
            for way, rate in (((), here), (inside, there)):
                run(*way, "tc", "qdisc", "add", "dev", rate, "root", *_shape(OUTER / (1 + (node in self.slow))))
            run(*inside, "sysctl", "-qw", *_STEADY)
            run(*inside, "ip", "route", "change", "10.97.0.0/24", "dev", there, "initcwnd", "200", "initrwnd", "200")
            run(*inside, "tc", "qdisc", "add", "dev", "lo", "root", *_shape(INNER))

    def _away(self) -> None:
        for one in self.seats:
            one.kill()
            one.wait()
        for space in self.spaces:
            subprocess.run(["ip", "netns", "del", space], stderr=subprocess.DEVNULL)
        subprocess.run(["ip", "link", "del", self.bridge], stderr=subprocess.DEVNULL)

    def seconds(self, programs: Sequence[Sequence[Exchange]], seat_of: Sequence[int]) -> float:
        """Return how long all ranks took, each on the seat that is said for it."""
        rank_on = {seat: rank for rank, seat in enumerate(seat_of)}
        begun = time.monotonic()
        self.answers([
            [{"members": [seat_of[rank] for rank in one.members], "size": int(one.size), "kind": one.kind,
              "rounds": one.rounds} for one in (programs[rank_on[seat]] if seat in rank_on else ())]
            for seat in range(len(self.seats))
        ])  # fmt: skip
        return time.monotonic() - begun

    def answers(self, asked: Sequence[object]) -> list[str]:
        """Return the line that each seat answers to what it is asked, all at once."""
        for question, process in zip(asked, self.seats, strict=True):
            assert process.stdin is not None
            process.stdin.write(json.dumps(question) + "\n")
            process.stdin.flush()
        return [process.stdout.readline() for process in self.seats if process.stdout is not None]

    def calibrated(self) -> Rates:
        """Return the rates of two pairs, one within a node and one between two, by a small and a large exchange."""
        inner, outer = (self._pair(0, 1), self._pair(0, self.each))
        return Rates(inner[0], inner[1], outer[0], outer[1])

    def _pair(self, one: int, other: int) -> tuple[float, float]:
        """Return bytes a second, and the seconds of a step, of a ring of two: medians of five."""
        seats = list(range(self.nodes * self.each))
        times = []
        for size, rounds in ((2 * KIB, 20), (512 * KIB, 4)):
            exchange = Exchange((one, other), size, "allreduce", rounds)
            programs = [[exchange] if seat in (one, other) else [] for seat in seats]
            taken = sorted(self.seconds(programs, seats) for _ in range(5))
            times.append((size, taken[2] / rounds))
        (small, first), (large, second) = times
        rate = (large - small) / max(second - first, 1e-9)
        return rate, max(first / 2 - small / 2 / rate, 0.0)


def capacity(rates: Rates, node_of: Sequence[int], slow: Sequence[int] = ()) -> Capacity:
    """Return the lab's links between ranks: the loopback of a node, or the two adapters between nodes.

    *slow*: nodes whose adapter has half the rate.
    """

    def links(one: int, other: int) -> tuple[tuple[Link, ...], float]:
        here, there = node_of[one], node_of[other]
        if here == there:
            return (("lo", here),), rates.inner_late
        return (("out", here), ("in", there)), rates.outer_late

    return Capacity(lambda link: rates.inner if link[0] == "lo" else rates.outer / (1 + (link[1] in slow)), links)


# A connection sends as fast as its port lets it, at once, as adapters of clusters do: it does not feel its way up again
# after each pause (which costs unlike placements unlike times), nor does it keep a rate of its own in mind (BBR).
_STEADY = ("net.ipv4.tcp_congestion_control=reno", "net.ipv4.tcp_slow_start_after_idle=0")


def _shape(megabits: float) -> tuple[str, ...]:
    return ("tbf", "rate", f"{megabits:g}mbit", "burst", "32kb", "limit", "8mb")


Item = TypeVar("Item")


def tracked(items: Sequence[Item], words: str) -> Iterable[Item]:
    """Return the items; on a terminal it is shown how many of them are done, and how long the others may take."""
    from rich.console import Console  # which the environment of other searchers does not have
    from rich.progress import track

    return track(items, words, console=Console(stderr=True), disable=not sys.stderr.isatty(), transient=True)


def run(*words: str) -> None:
    """Run a command; say its own words where it fails."""
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(words)}: {done.stderr.strip()}")
