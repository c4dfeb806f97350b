"""What waits in the scheduler's queue, and how far it is put forward or back: the less work is foretold the sooner.

Slurm adds SiteFactor to the sum of priority/multifactor (scontrol(1), sprio(1); 22.05 to 25.11): it shows in `sprio`,
ageing and fair share go on, and 0 takes it back. `Priority` itself is never set, since that would end both; and never
a nice value. Whoever sets it has to be an operator of Slurm.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from maple_agents.ask.schedulers import commands
from maple_agents.ask.schedulers.commands import Output, quiet_environment
from maple_agents.ask.schedulers.slurm import tables
from maple_agents.base import quantities

DOUBLINGS = 8.0  # of the reference work, up or down, at which the bound is reached
STEPS = 32  # from one bound to the other: a job's factor changes seldom, and many jobs have the same


class Bounds(NamedTuple):
    """*most*: how far, either way, in points of the scheduler's priority. *patience*: seconds of waiting after which a
    job stands at *most*, whatever was foretold of it. *reference*: work, in seconds on one GPU or node, that is put
    neither forward nor back.
    """

    most: int = 1000
    patience: float = 86_400.0
    reference: float = 3_600.0


class Waiting(NamedTuple):
    """A job that waits. *size*: its GPUs, or its nodes where those are more. *limit*: seconds, None for none.

    *submitted*: seconds since 1970.
    """

    job: str
    uid: int
    name: str
    folder: str
    submitted: float
    limit: float | None
    size: int


def factor(seconds: float | None, size: int, waited: float, bounds: Bounds) -> int:
    """Return the points of a job that is foretold to run *seconds* (None: nothing is) and has *waited* so long.

    Between -most and most. A job of which nothing is known begins at 0; each begins to rise at once, and after the
    patience all that waited so long are equal again: a wrong forecast costs a bounded time.
    """
    begins = 0.0
    if seconds is not None:
        doublings = math.log2(max(1.0, seconds) * max(1, size) / bounds.reference)
        begins = -max(-1.0, min(1.0, doublings / DOUBLINGS))
    rises = 2.0 * max(0.0, waited) / bounds.patience
    return round(min(1.0, begins + rises) * STEPS / 2) * 2 * bounds.most // STEPS


SECONDS = 30.0  # that a command may take
AT_ONCE = 200  # jobs in one update
_FIELDS = {"%F": "job", "%i": "id", "%U": "uid", "%V": "submitted", "%l": "limit", "%D": "nodes", "%b": "gres",
           "%Z": "folder", "%j": "name"}  # fmt: skip


class Queue(Protocol):
    """A scheduler's queue. Everything raises `SchedulerError`."""

    def waiting(self) -> list[Waiting]:
        """Return the jobs that wait, each once: of an array, the array."""

    def put(self, points: Mapping[str, int]) -> list[str]:
        """Give each job its points; return those that are there no more."""

    def shown(self, job: str) -> str:
        """Return what the scheduler itself says of a job's priority, "" where it says nothing."""

    def hindered(self) -> str:
        """Return why points would change nothing, "" where they would."""


class SlurmQueue:
    """Slurm's, through its commands. *environ*: what they run in; SLURM_CONF is in it."""

    def __init__(self, environ: Mapping[str, str] = os.environ) -> None:
        self._environ = quiet_environment(environ, SLURM_TIME_FORMAT="%s")

    def waiting(self) -> list[Waiting]:
        """Return what waits; jobs of several components are left alone."""
        mark = tables.mark()
        printed = self._asked(["squeue", "-h", "-a", "-t", "PENDING", "-o", tables.form(list(_FIELDS), mark)])
        rows = tables.rows(printed.out, list(_FIELDS.values()), mark)
        return list(
            {row["job"]: _waiting(row) for row in rows if row["job"].isdigit() and "+" not in row["id"]}.values()
        )

    def put(self, points: Mapping[str, int]) -> list[str]:
        """Set SiteFactor, all jobs of the same points at once; one that has begun meanwhile is passed over."""
        gone: list[str] = []
        for value in sorted(set(points.values())):
            jobs = [job for job, its in points.items() if its == value]
            for at in range(0, len(jobs), AT_ONCE):
                gone += self._set(jobs[at : at + AT_ONCE], value)
        return gone

    def _set(self, jobs: Sequence[str], value: int) -> list[str]:
        printed = self._run(["scontrol", "update", "JobId=" + ",".join(jobs), "SiteFactor=%d" % value])
        if not printed.code:
            return []
        if len(jobs) > 1 and not _is_refusal(printed):
            return [job for each in jobs for job in self._set([each], value)]
        if _is_refusal(printed):
            raise tables.slurm_refusal("setting SiteFactor", printed)
        return list(jobs)

    def shown(self, job: str) -> str:
        """Return the parts of its priority, as sprio has them."""
        printed = self._run(
            ["sprio", "-h", "-j", job, "-o", "%Y points: site %S, age %A, fair share %F, size %J, QOS %Q"]
        )
        return re.sub(r"\s+", " ", printed.out).strip() if not printed.code else ""

    def hindered(self) -> str:
        """Say where the priorities of Slurm are not those that have a site factor."""
        fields = tables.server_of(self._asked(["scontrol", "show", "config"]).out).attributes
        kind = fields.get("PriorityType", "")
        return (
            "" if kind.endswith("multifactor") else "PriorityType is %s, which has no site factor" % (kind or "unset")
        )

    def _run(self, argv: Sequence[str]) -> Output:
        return commands.run(argv, timeout=SECONDS, env=self._environ)

    def _asked(self, argv: Sequence[str]) -> Output:
        printed = self._run(argv)
        if printed.code:
            raise tables.slurm_refusal("asking " + argv[0], printed)
        return printed


def _is_refusal(printed: Output) -> bool:
    """Return whether it would be refused of any job: no right to, or nobody there."""
    return not tables.is_gone(printed.err) and bool(re.search("denied|Unable|timed out|refused", printed.err))


def _waiting(row: Mapping[str, str]) -> Waiting:
    nodes = int(row["nodes"]) if row["nodes"].isdigit() else 1
    gpus = tables.gpus(row["gres"].replace("gres:", "").replace("gres/", "")) or 0
    submitted = float(quantities.epoch(row["submitted"]) or 0)
    limit = quantities.printed(row["limit"])
    return Waiting(row["job"], int(row["uid"]), row["name"], row["folder"], submitted, limit, max(nodes, nodes * gpus))
