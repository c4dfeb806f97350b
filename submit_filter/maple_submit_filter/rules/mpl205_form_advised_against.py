"""Options that the site advises against, or for."""

from __future__ import annotations

from typing import Iterator

from ..findings import Finding
from ..job import Job
from ..launch import LaunchPlan
from ..limits import asks_for_gpus, judged
from ..saying import at
from ..site import Site
from . import rule
from .mpl202_option_refused import refuses


@rule("MPL205", "an option that the site advises against")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """Slurm takes some requests that a site's own pages say may run wrongly there.

    Wrong: #SBATCH --gres=gpu:4, on Anvil
    Right: #SBATCH --gpus-per-node=4
    Why:   Anvil's pages say that a job may not run properly otherwise. It is only said, never changed.
    """
    if not judged(job):
        return
    for refusal in site.refusals:
        for name in refusal.options if refusal.effect == "may-run-wrongly" else ():
            setting = job.settings.get(name)
            if setting is not None and refuses(refusal, setting, job):
                yield Finding("MPL205", "the site advises against --%s here" % name, at(setting), help=refusal.says,
                              site_fact=refusal.key)  # fmt: skip
    for demand in site.demands:
        gpu = demand.effect == "may-run-wrongly" and demand.applies == "gpu" and asks_for_gpus(job.settings)
        if gpu and not any(name in job.settings for name in demand.options):
            other = next((one for one in ("gres", "gpus", "gpus-per-task") if one in job.settings), "")
            yield Finding("MPL205", "GPUs are asked for without --%s" % " or --".join(demand.options),
                          at(job.settings.get(other)), help=demand.says, site_fact=demand.key)  # fmt: skip
