"""Options that the site advises against, or for."""

from __future__ import annotations

from typing import Iterator, Tuple

from ...cures.option_edits import at, restate, say, unsay
from ...request.scheduler_words import option
from ...request.slurm import values
from ...site.facts import Site
from ...types.edits import Fix, Safety
from ...types.findings import Finding
from ...types.job import Job
from ...types.launch_plan import LaunchPlan
from .. import rule
from ..limits import asked, asks_for_gpus, gpu_count, judged
from .mpl202_option_refused import refuses, spelled_otherwise

_SAYS = {  # by what the site file says of the effect
    "may-run-wrongly": "the site advises against %s",
    "unknown": "the site wants no %s; what the scheduler does with it is not known",
}


@rule("MPL205", "an option that the site advises against")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """A scheduler takes some requests that a site's own pages say may run wrongly there.

    Wrong: #SBATCH --gres=gpu:4, on Anvil
    Right: #SBATCH --gpus-per-node=4
    Wrong: #SBATCH --job-name=vit:b16, on Vista
    Right: #SBATCH --job-name=vit-b16
    Why:   Anvil's pages say that a job may not run properly otherwise. `maple check` shows the script without it; at
           submission Maple only reports it. Where nobody knows what comes of a request, that is said.
    """
    if not judged(job, site):
        return
    for refusal in site.refusals:
        for name in refusal.options if refusal.effect in _SAYS else ():
            setting = job.settings.get(name)
            if setting is not None and refuses(refusal, setting, job):
                says = _SAYS[refusal.effect] % option(job, name)
                made, spelled = unsay(job, name, "MPL205"), spelled_otherwise(refusal, setting, job, "MPL205")
                gone = made.fix(Safety.ASK, "remove " + option(job, name)) if made is not None else None
                fixes = tuple(filter(None, (spelled or gone,)))
                yield Finding("MPL205", says, at(setting), False, "", fixes, refusal.says, refusal.key)
    yield from _untyped(plan, job, site)
    for demand in site.demands:
        gpu = demand.effect == "may-run-wrongly" and demand.applies == "gpu" and asks_for_gpus(job.settings)
        if gpu and not any(asked(job, name) for name in demand.options):
            other = next((name for name in ("gres", "gpus", "gpus-per-task") if name in job.settings), "")
            says = "GPUs are requested without " + " or ".join(option(job, name) for name in demand.options)
            yield Finding("MPL205", says, at(job.settings.get(other)), fixes=_in_its_form(other, job, site),
                          help=demand.says, site_fact=demand.key)  # fmt: skip


def _in_its_form(name: str, job: Job, site: Site) -> Tuple[Fix, ...]:
    """Ask for as many GPUs of a node in the form that the site's pages have."""
    total, nodes = gpu_count(job.settings, name), values.nodes(job.settings.value("nodes") or b"1")
    spread = name == "gpus" and nodes is not None and nodes[0] == nodes[1] and nodes[0] > 0
    count = total if name == "gres" else (total or 0) // nodes[0] if spread and nodes is not None else None
    words = site.gpu_request.form.replace("{n}", str(count))
    gone = unsay(job, name, "MPL205") if count and "{" not in words and words else None
    if gone is None or (spread and nodes is not None and (total or 0) % nodes[0]):
        return ()
    return ((gone + say(job, words.encode(), "MPL205")).fix(Safety.ASK, words),)


def _untyped(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """Yield a number of GPUs without their type, where the site's form has one and the nodes differ in it."""
    setting = job.settings.get("gpus")
    types = list(dict.fromkeys(kind.gpu_type for kind in plan.allocation.node_kinds if kind.gpu_type))
    if site.gpu_request.style != "gpus-typed-total" or setting is None or not setting.value.isdigit() or not types:
        return
    fixes = []
    for name in types[:4]:
        value = name.encode() + b":" + setting.value
        made = restate(job, setting, value, "MPL205")
        fixes += [made.fix(Safety.ASK, "--gpus=%s" % value.decode())] if made is not None else []
    yield Finding("MPL205", "GPUs are requested without their type", at(setting), False, "", tuple(fixes),
                  "the site's form is %s" % site.gpu_request.form, "gpu_request")  # fmt: skip
