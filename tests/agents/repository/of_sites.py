"""Whole jobs of sites, to be held against the sites' own rules."""

from __future__ import annotations

from typing import NamedTuple

from maple_agents.ask.sites.launch_templates import LaunchFile
from maple_agents.templates.environments import Described
from maple_agents.verify.exchange import from_template
from maple_submit_filter.answer.decision import Decision, decide
from maple_submit_filter.types.submission import Submission


class Asked(NamedTuple):
    """What a job of whole nodes asks for. *more*: directives that no part of the repository
    makes, with {total} GPUs.
    """

    partition: str
    gpus: int  # devices of a node
    more: tuple[str, ...]
    cpus: int = 0  # of a node; 0: nodes are given whole, with their cores


NAMED = ("--account=abc", "--time=01:00:00")
PBS = ("-A abc", "-q debug", "-l walltime=01:00:00")
SITES = {
    "alcf-aurora": Asked("debug", 12, (*PBS, "-l filesystems=home:flare")),
    "alcf-polaris": Asked("debug", 4, (*PBS, "-l filesystems=home:eagle")),
    "ncsa-delta": Asked("gpuA100x4", 4, (*NAMED, "--partition=gpuA100x4"), 64),
    "ncsa-deltaai": Asked("ghx4", 4, (*NAMED, "--partition=ghx4"), 288),
    "nersc-perlmutter": Asked("", 4, (*NAMED, "--qos=regular")),
    "olcf-frontier": Asked("batch", 8, (*NAMED, "--partition=batch")),
    "psc-bridges2": Asked("GPU", 8, ("--time=01:00:00", "--partition=GPU", "--gpus=h100-80:{total}")),
    "purdue-anvil": Asked("gpu", 4, ("--account=abc-gpu", "--time=01:00:00", "--partition=gpu"), 128),
    "sdsc-expanse": Asked("gpu", 4, (*NAMED, "--partition=gpu")),
    "tacc-lonestar6": Asked("gpu-a100", 3, ("--partition=gpu-a100", "--time=01:00:00")),
    "tacc-stampede3": Asked("pvc", 8, ("--partition=pvc", "--time=01:00:00")),
    "tacc-vista": Asked("gh", 1, ("--partition=gh", "--time=01:00:00")),
    "csc-lumi": Asked(
        "standard-g", 8, ("--account=project_465000001", "--time=01:00:00", "--partition=standard-g"), 56
    ),
    "cscs-daint": Asked("normal", 4, (*NAMED, "--partition=normal"), 288),
    "cscs-clariden": Asked("normal", 4, (*NAMED, "--partition=normal"), 288),
    "brics-isambard-ai": Asked("workq", 4, (*NAMED, "--partition=workq"), 288),
    "sigma2-olivia": Asked("accel", 4, (*NAMED, "--partition=accel"), 288),
    "sigma2-betzy": Asked("accel", 4, (*NAMED, "--partition=accel"), 64),
    "nrel-kestrel": Asked("gpu-h100", 4, (*NAMED, "--partition=gpu-h100"), 128),
    "google-a3mega": Asked("a3mega", 8, ("--time=01:00:00", "--partition=a3mega"), 208),
    "surf-snellius": Asked("gpu_a100", 4, ("--time=01:00:00", "--partition=gpu_a100"), 72),
    "cineca-leonardo": Asked("boost_usr_prod", 4, (*NAMED, "--partition=boost_usr_prod"), 32),
    "jsc-jupiter": Asked("booster", 4, (*NAMED, "--partition=booster"), 288),
    "aist-abci3": Asked("rt_HF", 8, ("-P gaa50000", "-q rt_HF", "-l walltime=01:00:00")),
    "generic-slurm": Asked("", 4, ("--gpus-per-node=4",)),
    "generic-pbs": Asked("", 4, ()),
}


def job(launch: LaunchFile, one: Described, asked: Asked, nodes: int = 2) -> str:
    """Return the script of a job of whole nodes that the template starts, with the site's environment directives."""
    text = from_template.script(launch, one.site, nodes, asked.partition, asked.gpus).decode()
    head, rest = text.split("\n", 1)
    if any(line.startswith("--gpus=") for line in asked.more):
        rest = "".join(line for line in rest.splitlines(True) if not line.startswith("#SBATCH --gpus="))
    sign = "#PBS" if one.site.scheduler == "pbs" else "#SBATCH"
    more = [*asked.more, *(_directives(one) if sign == "#SBATCH" else ())]
    if asked.cpus:
        tasks = 1 if launch.when.launcher in from_template.AGENTS else asked.gpus
        more.append("--cpus-per-task=%d" % (asked.cpus // tasks))
    return "".join((head + "\n", *("%s %s\n" % (sign, line.format(total=nodes * asked.gpus)) for line in more), rest))


def decided(text: str, one: Described) -> Decision:
    """Return what Maple says of the script on its site."""
    scheduler = one.site.scheduler
    command = b"qsub" if scheduler == "pbs" else b"sbatch"
    asked = Submission(scheduler, (command, b"job.sh"), text.encode(), "file", b"job.sh", b"/work", 1000, {})
    return decide(asked, one.site, None)


def _directives(one: Described) -> list[str]:
    part = one.environment
    return ["--%s%s" % (row.option, row.value and "=" + row.value) for row in (part.directives if part else ())]
