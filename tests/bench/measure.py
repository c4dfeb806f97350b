"""Programs timed in interleaved rounds, so that whatever else the machine does strikes all of them alike.

Beside the wall clock stands the time on the processor, user and system, which a busy machine changes less. Ratios are
between medians of the same rounds; the smallest value is shown beside them.
"""

from __future__ import annotations

import os
import statistics
import time
from typing import Callable, Mapping, NamedTuple, Optional, Sequence


class Call(NamedTuple):
    """A program to time. *before* runs untimed ahead of each start; *warm* False: no start goes ahead uncounted."""

    name: str
    argv: Sequence[str]
    env: Mapping[str, str]
    before: Optional[Callable[[], object]] = None


class Times(NamedTuple):
    """What the starts of one program took, in milliseconds, round by round."""

    wall: tuple[float, ...]
    cpu: tuple[float, ...]


def interleaved(calls: Sequence[Call], rounds: int) -> dict[str, Times]:
    """Start every program once in each round; return the times by name. Raises where a program fails."""
    found: dict[str, list[tuple[float, float]]] = {call.name: [] for call in calls}
    for number in range(rounds + 1):
        for call in calls:
            if call.before:
                call.before()
            took = once(call)
            if number:  # the first round warms the caches
                found[call.name].append(took)
    return {name: Times(*map(tuple, zip(*took))) for name, took in found.items()}


def once(call: Call) -> tuple[float, float]:
    """Return the wall and processor time of one start, children that were waited for included."""
    null = [(os.POSIX_SPAWN_OPEN, fd, "/dev/null", os.O_RDWR, 0) for fd in (0, 1, 2)]
    begun = time.perf_counter()
    pid = os.posix_spawn(call.argv[0], call.argv, dict(call.env), file_actions=null)
    _, status, used = os.wait4(pid, 0)
    wall = time.perf_counter() - begun
    if status:
        raise AssertionError(f"{call.name}: {' '.join(call.argv)} ended with {os.waitstatus_to_exitcode(status)}")
    return wall * 1e3, (used.ru_utime + used.ru_stime) * 1e3


class Row(NamedTuple):
    """A line of the table: *name* costs so much on top of *bare*; *most* units are what it may cost, None: no bound."""

    name: str
    bare: str = ""
    most: Optional[float] = None


def table(title: str, times: Mapping[str, Times], unit: str, rows: Sequence[Row]) -> str:
    """Return the table; the last columns say what came on top of the bare command, in starts of *unit*."""
    units = times[unit]
    lines = ["", title, f"  {'':42}{'wall ms':>15}{'cpu ms':>15}   on top, in starts of {unit}"]
    lines.append(f"  {'':42}{'median':>8}{'min':>7}{'median':>8}{'min':>7}   {'wall':>6}{'cpu':>7}{'at most':>10}")
    for row in rows:
        one = times[row.name]
        text = f"  {row.name:42}" + "".join(
            f"{statistics.median(kind):8.1f}{min(kind):7.1f}" for kind in (one.wall, one.cpu)
        )
        if row.bare:
            bare = times[row.bare]
            ratios = [_on_top(getattr(one, kind), getattr(bare, kind), getattr(units, kind)) for kind in Times._fields]
            text += f"   {ratios[0]:6.1f}{ratios[1]:7.1f}" + (f"{row.most:10.1f}" if row.most is not None else "")
        lines.append(text)
    return "\n".join(lines)


def _on_top(one: Sequence[float], bare: Sequence[float], unit: Sequence[float]) -> float:
    extra = statistics.median(a - b for a, b in zip(one, bare))
    return extra / max(statistics.median(unit), 0.001)
