"""What the site does not take."""

from __future__ import annotations

from typing import Iterator, Optional

from ...cures.option_edits import at, restate, unsay
from ...cures.places import through_route
from ...launchers.registry import AGENTS
from ...request.scheduler_words import is_pbs, option
from ...request.slurm import values
from ...site.facts import Demand, Site
from ...types.edits import Fix, Safety
from ...types.findings import Finding
from ...types.job import Job, Setting
from ...types.launch_plan import LaunchPlan, Link
from .. import rule
from ..limits import asks_for_gpus, gpu_items, judged, text

_COUNTED = (b"SLURM_GPUS", b"SLURM_JOB_GPUS", b"nvidia-smi", b"device_count", b"GPU_DEVICE_ORDINAL")


@rule("MPL202", "an option that the site refuses")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """Some sites refuse a job for an option that is right elsewhere.

    Wrong: #SBATCH --gres=gpu:3, on Lonestar6; #PBS -q small, or #PBS -k oe, on Polaris
    Right: ##SBATCH --gres=gpu:3, or no such line: the queue decides about the GPUs; #PBS -q prod, which leads there
    Why:   there is no GRES there: "Invalid generic resource (gres) specification"; and such a queue takes only what
           is routed to it: "Access to queue is denied". Maple takes the option out where the job gets no less
           without it and the script cannot tell the difference, or where only the place of output is meant, and names
           the queue that leads to the one that was named, and to no other for such a job; otherwise it asks first.
    """
    if not judged(job, site):
        return
    for refusal in site.refusals:
        if refusal.effect != "refused":
            continue
        for name in refusal.options:
            setting = job.settings.get(name)
            if setting is not None and refuses(refusal, setting, job):
                yield _finding(refusal, setting, plan, job, site)


def refuses(refusal: Demand, setting: Setting, job: Job) -> bool:
    """Return whether the site's word is against this value in this job."""
    if refusal.applies == "gpu" and not asks_for_gpus(job.settings):
        return False
    if refusal.applies not in ("always", "gpu", text(job.settings, "queue" if is_pbs(job) else "partition")):
        return False
    value = setting.value.decode("utf-8", "replace")
    if is_pbs(job) and setting.name == "keep":  # its letters may stand in any order
        value = "".join(sorted(value))
        return value not in ["".join(sorted(letters)) for letters in refusal.except_values]
    if refusal.values and not any(_is(value, listed) for listed in refusal.values):
        return False
    return not any(_is(value, listed) for listed in refusal.except_values)


def _is(value: str, pattern: str) -> bool:
    if pattern.startswith("*") and pattern.endswith("*"):
        return pattern[1:-1] in value
    return value.startswith(pattern[:-1]) if pattern.endswith("*") else value == pattern


def _finding(refusal: Demand, setting: Setting, plan: LaunchPlan, job: Job, site: Site) -> Finding:
    routed = is_pbs(job) and setting.name == "queue"
    fix = through_route(setting, job, site, "MPL202") if routed else spelled_otherwise(refusal, setting, job, "MPL202")
    fix = fix or (None if routed else _without(setting, plan, job, site))
    named = option(job, setting.name, setting.value.decode("utf-8", "replace") if is_pbs(job) else "")
    return Finding(
        "MPL202",
        "the site refuses " + named,
        at(setting),
        True,
        fixes=(fix,) if fix is not None else (),
        help=refusal.says,
        site_fact=refusal.key,
    )


def spelled_otherwise(refusal: Demand, setting: Setting, job: Job, why: str) -> Optional[Fix]:
    """Write a dash for the letters that the site does not take in a value, where it takes the option itself."""
    value = setting.value
    for pattern in refusal.values:
        if len(pattern) > 2 and pattern[0] == pattern[-1] == "*":
            value = value.replace(pattern[1:-1].encode(), b"-")
    made = restate(job, setting, value, why) if value != setting.value else None
    return (
        made.fix(Safety.ASK, option(job, setting.name, value.decode("utf-8", "replace"))) if made is not None else None
    )


def _without(setting: Setting, plan: LaunchPlan, job: Job, site: Site) -> Optional[Fix]:
    made = unsay(job, setting.name, "MPL202")
    if made is None:
        return None
    safety = Safety.SAFE if _equal_without(setting, plan, job, site) else Safety.ASK
    words = option(job, setting.name, setting.value.decode("utf-8", "backslashreplace"))
    return made.fix(safety, "remove " + words)


def _equal_without(setting: Setting, plan: LaunchPlan, job: Job, site: Site) -> bool:
    """Return whether the job gets no less without the option, and starts the same processes on the same GPUs."""
    if is_pbs(job):
        return False  # where the output goes, say, is for the user to choose
    if site.gpu_request.style != "whole-node" or plan.allocation.shared is not False:
        return False
    if setting.name == "mem":
        wanted = values.mebibytes(setting.value)
        memory = min((kind.memory_gib or 0 for kind in plan.allocation.node_kinds), default=0)
        return wanted is not None and wanted <= memory * 1024
    if setting.name not in ("gres", "gpus-per-node") or any(word in job.source for word in _COUNTED):
        return False
    return _gpus_equal(setting, plan, job)


def _gpus_equal(setting: Setting, plan: LaunchPlan, job: Job) -> bool:
    items = gpu_items(job.settings, setting.name)
    counts = {kind.gpus for kind in plan.allocation.node_kinds}
    if len(items) != 1 or len(counts) != 1 or (setting.name == "gres" and b"," in setting.value):
        return False
    there = counts.pop()
    if there is None or items[0].amount > there or there == 0:
        return False
    return items[0].amount == there or _counts_said(plan)


def _counts_said(plan: LaunchPlan) -> bool:
    """Return whether every step says how many processes it starts, whatever GPUs it sees."""
    if plan.unread or not plan.steps:
        return False
    return all(step.links and step.links[-1].name in AGENTS and _says_workers(step.links[-1]) for step in plan.steps)


def _says_workers(link: Link) -> bool:
    option = link.option("nproc-per-node", "num-processes", "num-gpus")
    return option is not None and option.value is not None and option.value.raw.isdigit()
