"""Memory that nobody asked for."""

from __future__ import annotations

from typing import Iterator

from ...site.facts import Site
from ...types.findings import Finding
from ...types.job import Job
from ...types.launch_plan import LaunchPlan
from .. import rule
from ..limits import asked, asks_for_gpus, judged

_SAID = ("mem", "mem-per-cpu", "mem-per-gpu", "exclusive")


@rule("MPL209", "memory is left at a default that is too small")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """Where nodes are shared, a job gets the memory that it asks for, and by default little.

    Wrong: #SBATCH --gpus-per-node=4 --cpus-per-task=1, and no --mem, on Delta: 1000 MB for each core
    Right: #SBATCH --mem=208g
    Why:   the data loaders of four ranks are killed for memory in the first epoch. Maple only reports it.
    """
    if not judged(job, site) or not asks_for_gpus(job.settings) or any(asked(job, name) for name in _SAID):
        return
    for demand in site.demands:
        if demand.effect == "bad-default" and "mem" in demand.options:
            yield Finding(
                "MPL209",
                "no memory is requested, and the default is small",
                asks_for="mem",
                help=demand.says,
                site_fact=demand.key,
            )
