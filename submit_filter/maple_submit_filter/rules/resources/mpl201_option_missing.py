"""What the site wants to be told."""

from __future__ import annotations

from typing import Iterator, Optional

from ...cures.option_edits import say
from ...launchers.registry import AGENTS
from ...request.scheduler_words import is_pbs, option
from ...request.unread_directives import other_scheduler
from ...site.facts import Demand, Site
from ...types.edits import Fix, Safety
from ...types.findings import Finding
from ...types.job import Job
from ...types.launch_plan import LaunchPlan
from .. import rule
from ..limits import GPU_OPTIONS, asked, asks_for_gpus, judged, rows_in_force, text


@rule("MPL201", "an option that the site demands is missing")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """Some sites refuse a job without certain options, or give it a default that does not fit.

    Wrong: #SBATCH --partition=gpu-a100, and no --time, on Lonestar6; no -A, or no -l filesystems, on Aurora
    Wrong: no --account, on Expanse, whose pages demand one; what happens without they do not say
    Right: #SBATCH --time=02:00:00; #PBS -A project -l filesystems=home:flare
    Why:   the submit filter refuses it; qsub says: Account_Name is required to be set, or: Resource: filesystems is
           required to be set. Maple invents no value; it offers one only where the site itself names it for jobs of
           this kind, or where the script says it on a line that is not read. It adds one unasked that only says which
           file systems the job waits for, or that names the only nodes with the GPUs that the job asks for.
    """
    if not judged(job, site):
        return
    for demand in site.demands:
        if not _breached(demand, job) or demand.effect == "may-run-wrongly" or _told_by_another(demand, job, site):
            continue
        if demand.effect == "bad-default" and "mem" in demand.options:
            continue  # MPL209 speaks of memory
        yield _finding(demand, plan, job, site)


def _told_by_another(demand: Demand, job: Job, site: Site) -> bool:
    """Return whether another rule speaks of what happens without it: MPL104, MPL205, MPL208, MPL209, MPL222."""
    if demand.effect != "unknown":
        return False
    if other_scheduler(job):
        return True  # what its directives say for the other one has to be carried first
    timed = any(name in ("time", "walltime") for name in demand.options)
    ends_early = timed and any(row.default_walltime for row in rows_in_force(job, site))
    of_gpus = any(name in GPU_OPTIONS for name in demand.options)
    return of_gpus or "mem" in demand.options or ends_early


def _breached(demand: Demand, job: Job) -> bool:
    if demand.applies == "gpu":
        return not any(asked(job, name) for name in demand.options) and asks_for_gpus(job.settings)
    if demand.applies != "always" and demand.applies != text(job.settings, "queue" if is_pbs(job) else "partition"):
        return False
    return not any(asked(job, name) for name in demand.options)


def _a_task_a_node(demand: Demand, plan: LaunchPlan, job: Job) -> Optional[Fix]:
    """Say the one task a node that Slurm gives where nobody names a number: unasked where every launch wants it."""
    if "ntasks-per-node" not in demand.options or "nodes" not in job.settings or not plan.steps:
        return None
    agents = all(step.links and step.links[-1].name in AGENTS and not step.breaches for step in plan.steps)
    whole = (
        agents
        and not plan.unread
        and all(
            group.world_size is not None and group.world_size == group.declared
            for step in plan.steps
            for group in step.groups
        )
    )
    made = say(job, b"--ntasks-per-node=1", "MPL201")
    return made.fix(Safety.SAFE if whole else Safety.ASK, "add --ntasks-per-node=1")


def _finding(demand: Demand, plan: LaunchPlan, job: Job, site: Site) -> Finding:
    names = " or ".join(option(job, name) for name in demand.options)
    proven = demand.effect == "refused"
    says = "%s is missing; the site refuses the job without it" if proven else "%s is missing"
    says += ", which the site's pages demand" if demand.effect == "unknown" else ""
    if proven and is_pbs(job) and demand.text:
        says += ": " + demand.text.removeprefix("qsub: ").replace("%", "%%")
    fix = _said_unread(demand, job) or (_named_by_site(demand, job, site) if proven else None)
    fix = fix or (_a_task_a_node(demand, plan, job) if proven else None)
    return Finding(
        "MPL201",
        says % names,
        proven=proven,
        asks_for=demand.slot,
        fixes=(fix,) if fix is not None else (),
        help=demand.says,
        site_fact=demand.key,
    )


def _said_unread(demand: Demand, job: Job) -> Optional[Fix]:
    """Return the fix that has sbatch read what stands on a line that it takes for a comment."""
    from ...request.unread_directives import said_on

    for oddity in job.script.oddities:
        if oddity.kind not in ("late", "near-miss"):
            continue
        for name, value, words in said_on(job, job.source[oddity.span.start : oddity.span.end]):
            if name in demand.options and (value or not is_pbs(job)):
                says = "add %s, which line %d sets but is not read" % (words.decode("utf-8", "replace"), oddity.line)
                return say(job, words, "MPL201").fix(Safety.ASK, says)
    return None


def _named_by_site(demand: Demand, job: Job, site: Site) -> Optional[Fix]:
    """Return the fix that says what the site's own samples say, or its own form of a GPU request."""
    if demand.usual and len(demand.options) == 1:
        name = demand.options[0]
        words = "-l %s=%s" % (name, demand.usual) if is_pbs(job) else "--%s=%s" % (name, demand.usual)
        return say(job, words.encode(), "MPL201").fix(Safety.ASK, "add %s" % words)
    if not asks_for_gpus(job.settings):
        return None
    for word in site.gpu_request.form.split():
        name, equals, value = word[2:].partition("=")
        if name in demand.options and equals and "{" not in value:
            return say(job, word.encode(), "MPL201").fix(Safety.ASK, "add %s" % word)
    return None
