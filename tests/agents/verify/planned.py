"""Plans of small scripts, and facts as ranks would report them."""

from __future__ import annotations

from maple_agents.verify.exchange.launch_lines import Line
from maple_agents.verify.run.facts import Fact, fact_of
from maple_agents.verify.run.runs import Run, Stage, runs_of
from maple_submit_filter.answer.decision import examined, understood
from maple_submit_filter.repair.search import State
from maple_submit_filter.site.facts import GENERIC_PBS, GENERIC_SLURM
from maple_submit_filter.types.submission import Submission

HEAD = b"#!/bin/bash\n#SBATCH --nodes=2 --ntasks-per-node=2 --gpus-per-node=2\n"
DRY = Stage("dry", 5.0)


def state(text: bytes, head: bytes = HEAD, scheduler: str = "slurm") -> State:
    """Return a script, read and planned."""
    command = b"qsub" if scheduler == "pbs" else b"sbatch"
    asked = Submission(scheduler, (command, b"job.sh"), head + text, "file", b"job.sh", b"/tmp", 0, {})
    job = understood(asked, None)
    assert job is not None
    return examined(job, GENERIC_PBS if scheduler == "pbs" else GENERIC_SLURM)


def again(before: State, scheduler: str = "slurm"):  # type: ignore[no-untyped-def]
    """Return the function that plans a changed script."""

    def plan(source: bytes) -> State | None:
        job = understood(before.job.submission._replace(script=source), None)
        return examined(job, GENERIC_PBS if scheduler == "pbs" else GENERIC_SLURM) if job is not None else None

    return plan


def fact(rank: int | None, **more: object) -> Fact:
    """Return the fact of a rank of a world of four on two nodes that did well, but for *more*."""
    number = rank or 0
    told: dict[str, object] = {
        "schema": 1, "miniapp": "dry", "host": f"node-{number // 2 + 1}", "pid": 100 + number, "started_at": 10.0,
        "executable": "/usr/bin/python3", "rank": rank, "world_size": 4, "local_rank": number % 2,
        "master_addr": "node-1", "master_port": 29500, "phase": "done", "ok": True, "error": None,
        "from": {"rank": "RANK", "master_addr": "MASTER_ADDR", "master_port": "MASTER_PORT"},
        "group": {"rank": rank, "world_size": 4}, "seconds": {"total": 1.0}, "given": {},
        "machine": {"cpus": f"{8 * (number % 2)}-{8 * (number % 2) + 7}", "numa_nodes": [number % 2]},
        "versions": {"python": "3.11.7", "torch": None},
    }  # fmt: skip
    made = fact_of({**told, **more})
    assert made is not None
    return made


def failed(rank: int | None, phase: str, error: str, says: str, **more: object) -> Fact:
    """Return the fact of a rank that failed."""
    return fact(rank, phase=phase, ok=False, group=None, error={"class": error, "says": says}, **more)


def run_of(facts: list[Fact], text: bytes = b"srun python train.py\n", stages: tuple[Stage, ...] = (DRY,)) -> Run:
    """Return the run of the script's launch line with these facts."""
    step = state(text).plan.steps[0]
    (made,) = runs_of(Line(step.line, "line", True, (step,)), stages, facts)
    return made
