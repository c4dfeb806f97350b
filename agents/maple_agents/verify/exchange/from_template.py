"""A launch template as a batch script for a site, so that it can be verified like any other.

A paradigm of the repository as a batch script for a site: the parts put together as `maple new` does.
"""

from __future__ import annotations

from typing import NamedTuple

from maple_submit_filter.launchers.registry import AGENTS
from maple_submit_filter.site.facts import Site

from ...ask.sites.launch_templates import LaunchFile, filled, load
from ...ask.verified_runs import CannotVerify
from ...base.near_names import meant
from ...base.slots import Lacking, Origin, Refused, Slot, Slots
from ...templates import environments, paradigms
from ...templates.catalogue import launch_words
from ...templates.proofs import composition_revision
from ...write.clusters import cluster
from ...write.compose.launch_line import handed_on
from ...write.composition import Made, Mistaken, make

_PROGRAM = "train.py"
_STANDS_IN = Slot("program", _PROGRAM, Origin("template", "a mini-app takes its place"))
_SLURM = """\
#!/bin/bash
#SBATCH --nodes={nodes}
#SBATCH --ntasks-per-node={tasks}
{asked}{before}{launch}
"""
_PBS = """\
#!/bin/bash
#PBS -l select={nodes}{asked}
#PBS -l place=scatter
cd "$PBS_O_WORKDIR"
{before}{launch}
"""
# A hostfile goes with the job, also with one that is cancelled.
_SWEPT = ("trap 'rm -f \"$HOSTFILE\"' EXIT", "trap 'exit 143' TERM")


def template(name: str, site: Site) -> LaunchFile:
    """Return the launch template of that name. Raises `CannotVerify` where there is none, or not for this site."""
    templates = {launch_file.name: launch_file for launch_file in load()}
    if name not in templates:
        every = "there are: " + ", ".join(sorted(templates))
        raise CannotVerify(f"there is no launch template {name}", f"{meant(name, templates)} {every}".strip())
    if name not in {launch_template.name for launch_template in site.launch_templates}:
        raise CannotVerify(
            f"{name} is not for {site.id}: it has no {templates[name].when.over}, or another scheduler",
            "for it there are: "
            + (", ".join(launch_template.name for launch_template in site.launch_templates) or "none"),
        )
    return templates[name]


def script(launch_file: LaunchFile, site: Site, nodes: int, partition: str = "", gpus: int | None = None) -> bytes:
    """Return a batch script that starts `train.py` by the template on *nodes* nodes, a rank on each GPU.

    *gpus*: on a node; None: as many as the nodes of *partition* have, or of the site's default. Raises `CannotVerify`
    where nobody knows.
    """
    count = gpus if gpus is not None else _gpus(site, partition)
    if not count:
        raise CannotVerify(f"{site.id} does not say how many GPUs a node has", "say it: --gpus-per-node 4")
    tasks = 1 if launch_file.when.launcher in AGENTS else count
    slots = {
        "job.nodes": nodes,
        "job.tasks": nodes * tasks,
        "job.tasks_per_node": tasks,
        "job.ranks": nodes * count,
        "site.gpus_per_node": count,
    }
    words = launch_words(launch_file, environments.load(site.id), count)
    launch = " ".join([*(filled(line, slots) for line in words), _PROGRAM])
    before = [filled(line, slots) for line in launch_file.before]
    if any("HOSTFILE=" in line for line in before):
        before += _SWEPT
    asked = _chunk(launch_file, site, count, tasks) if site.scheduler == "pbs" else _request(site, nodes, count)
    form = _PBS if site.scheduler == "pbs" else _SLURM
    lines = "".join(line + "\n" for line in before)
    return handed_on(form.format(nodes=nodes, tasks=tasks, asked=asked, before=lines, launch=launch).encode())


def _gpus(site: Site, partition: str) -> int | None:
    """Return the GPUs of a node; where the nodes differ, of the smallest that has any."""
    counts = [kind.gpus for kind in site.node_kinds(partition) if kind.gpus]
    return min(counts) if counts else None


def _chunk(launch_file: LaunchFile, site: Site, gpus: int, tasks: int) -> str:
    """Return what a chunk of PBS has; where whole nodes are given, they have what they have, and Open MPI its slots."""
    whole = site.gpu_request.style == "whole-node"
    slots = f":mpiprocs={tasks}" if not whole or launch_file.when.maker == "openmpi" else ""
    return slots if whole else f":ngpus={gpus}{slots}"


def _request(site: Site, nodes: int, gpus: int) -> str:
    """Return the directive that asks for the GPUs in the site's own form, "" where it wants none."""
    form = site.gpu_request.form
    kind = next((kind for kind in site.kinds if kind.gpus and kind.gpu_type), None)
    if not form or "{type}" in form and kind is None:
        return ""
    filled = form.format(n=gpus, total=nodes * gpus, nodes=nodes, type=kind.gpu_type if kind else "")
    return f"#SBATCH {filled}\n"


class Composed(NamedTuple):
    """A script of a paradigm. *revision*: of the paradigm. *composition*: the hash of all its parts and facts.

    *mini_app*: what proves a launch of it.
    """

    script: bytes
    revision: int
    composition: str
    mini_app: str


def composed(name: str, site_id: str, slots: Slots) -> Composed:
    """Return the script that starts the paradigm of that name on a site, with what was said of the job (*slots*).

    Raises `CannotVerify` where there is no such paradigm, where the site has no way to start it, or where it demands
    what nobody said.
    """
    try:
        made = make(slots.with_more([_STANDS_IN]), cluster(site_id))
        paradigm = paradigms.load(name)
    except Mistaken:
        raise
    except (Refused, ValueError) as error:
        raise CannotVerify("%s on %s: %s" % (name, site_id, error)) from error
    if isinstance(made, Lacking):
        missing = ["%s (%s)" % (slot.slot, slot.says) for slot in made.missing]
        raise CannotVerify("%s on %s lacks %s" % (name, site_id, "; ".join(missing)), "say it behind --")
    launch = _launch(made)
    site = made.plan.cluster.site
    revision = composition_revision(site, paradigm, launch, environments.load(site_id))
    return Composed(made.script, paradigm.revision, revision, paradigm.mini_app)


def _launch(made: Made) -> LaunchFile:
    """Return the launch template of the plan, read from its file: what is kept of it says less."""
    return next(launch_file for launch_file in load() if launch_file.name == made.plan.launch.name)
