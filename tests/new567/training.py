#!/usr/bin/env python3
"""Stands in a job's folder as train.py: the mini-app `dry`, which also writes down the words that it was started with.

It meets the other ranks and adds up a vector with them as `dry` does, but measures no links: only whether the launch
is right counts here. Its facts go to the folder MAPLE_FACTS.
"""

import os
import subprocess
import sys

ROOT = "@ROOT@"  # the checkout; put in where the file is laid out
LANES = 1 << 12  # bytes of the vector
os.environ["MAPLE_MINIAPP_OUT"] = os.environ.get("MAPLE_FACTS", "")
sys.path.insert(0, os.path.join(ROOT, "miniapps"))
from maple_miniapps import dry, phases  # noqa: E402


def body(run: phases.Run) -> None:
    """Say what there is to see, then meet and add."""
    run.facts.update(
        program=sys.argv[0],
        arguments=sys.argv[1:],
        cwd=os.getcwd(),
        chain=os.environ.get("MAPLE_CHAIN", "").split(),
        visible=visible(),
        told={
            name: value
            for name, value in os.environ.items()
            if name.startswith(("HF_", "RUN_", "WANDB_", "HOME", "USER", "LOGNAME", "SLURM_JOB_", "PBS_"))
        },
    )
    run.save()
    with run.phase("rendezvous"):
        circle, rank, size = dry.join(run)
    with run.phase("collectives"):
        dry.check_all_reduce(circle, rank, size, LANES)
    if rank == 0:
        run.facts["job"] = asked_for()
    circle.all_gather(b"\0" * dry.ring.LANE)  # nobody leaves before all are done


def visible() -> "list[int]":
    """Return the GPUs that a program would see here, by the lab's own file of the node."""
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        launchers = os.path.join(os.path.dirname(folder), "launchers")
        if os.path.exists(os.path.join(launchers, "world.py")):
            sys.path.insert(0, launchers)
            import world  # type: ignore[import-not-found]

            found = world.visible_gpus()
            return [int(one) for one in found]
    return []


def asked_for() -> "dict[str, str]":
    """Return the job as the lab's controller knows it, {} under PBS."""
    job = os.environ.get("SLURM_JOB_ID", "")
    if not job:
        return {}
    done = subprocess.run(["scontrol", "-o", "show", "job", job], stdout=subprocess.PIPE, timeout=30, check=False)
    return dict(word.split("=", 1) for word in done.stdout.decode(errors="replace").split() if "=" in word)


if __name__ == "__main__":
    phases.run("dry", body)
