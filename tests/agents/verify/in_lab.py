"""Verify scripts on a real Slurm, several at once, and see that nothing is left of them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from maple_agents.ask.schedulers.slurm.commands import SlurmCommands
from maple_agents.verify.verification import Verified, Wanted, verify
from maple_submit_filter.site.facts import GENERIC_SLURM, Site
from maple_submit_filter.types.submission import Submission

from tests.lab import Lab

AT_ONCE = 4
OWN = "RANK=$SLURM_PROCID LOCAL_RANK=$SLURM_LOCALID WORLD_SIZE=$SLURM_NTASKS"
C10D = "--rdzv_backend=c10d --rdzv_id=7 --rdzv_endpoint=$MASTER_ADDR:$MASTER_PORT"
_HEAD = """\
#!/bin/bash
#SBATCH --nodes={nodes} --ntasks-per-node={tasks} --gpus-per-node=2
export MASTER_ADDR=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n1)
export MASTER_PORT={port}
"""


class Case(NamedTuple):
    """A script's launch part, its job's layout, and how long its mini-app may take."""

    text: str
    nodes: int = 2
    tasks: int = 2
    app: str = "dry"
    seconds: float = 24


class Ran(NamedTuple):
    """What came of a case, and what it left in its folder and its state folder."""

    made: Verified
    left: tuple[str, ...]

    @property
    def kinds(self) -> list[str]:
        """Return the kinds of the reasons, the first cause first."""
        return [reason.kind.name for reason in self.made.verdict.reasons]


def script(case: Case, port: int) -> bytes:
    """Return the whole script; every case has a port of its own."""
    return (_HEAD.format(nodes=case.nodes, tasks=case.tasks, port=port) + case.text).encode()


def submission(source: bytes, cwd: Path, name: str = "job.sh") -> Submission:
    """Return `sbatch job.sh` in *cwd*."""
    path = name.encode()
    return Submission("slurm", (b"sbatch", path), source, "file", path, os.fsencode(cwd), os.getuid(), {})


def ran(
    lab: Lab, case: Case, folder: Path, port: int, env: Mapping[str, str] | None = None, site: Site = GENERIC_SLURM
) -> Ran:
    """Verify a case in *folder*, where nothing else is."""
    source = script(case, port)
    (folder / "job.sh").write_bytes(source)
    environ = {**lab.environment(MAPLE_ROLE="plain", XDG_STATE_HOME=str(folder / "state")), **(env or {})}
    wanted = Wanted(submission(source, folder), site, (), case.app, case.seconds, 120, False, environ)
    made = verify(wanted, SlurmCommands(environ=environ))
    assert (folder / "job.sh").read_bytes() == source
    return Ran(made, left(folder))


def left(folder: Path) -> tuple[str, ...]:
    """Return every path that a verification left in the folder of its script."""
    return tuple(sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()))


def all_ran(lab: Lab, cases: Mapping[str, Case], folder: Path, env: Mapping[str, str] | None = None) -> dict[str, Ran]:
    """Verify every case, a few at a time."""

    def one(numbered: tuple[int, str]) -> Ran:
        number, name = numbered
        place = folder / str(number)
        place.mkdir()
        return ran(lab, cases[name], place, 28000 + 10 * number, env)

    with ThreadPoolExecutor(AT_ONCE) as pool:
        return dict(zip(cases, pool.map(one, enumerate(cases))))


def jobs(lab: Lab) -> Sequence[str]:
    """Return the jobs that the lab's scheduler still has in its queue."""
    return lab.run(["squeue", "-h", "-o", "%i %j %T"]).stdout.split("\n")[:-1]
