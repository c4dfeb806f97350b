"""A launch template as a batch script for a site, so that it can be verified like any other."""

from __future__ import annotations

from maple_submit_filter.site import Site

from ..templates import LaunchFile, load
from .errors import CannotVerify

AGENTS = ("torchrun", "accelerate", "deepspeed")
PORT = 29500
_SLURM = """\
#!/bin/bash
#SBATCH --nodes={nodes}
#SBATCH --ntasks-per-node={tasks}
{asked}export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
export MASTER_PORT={port}
{hosts}{launch}
"""
_PBS = """\
#!/bin/bash
#PBS -l select={nodes}{asked}
#PBS -l place=scatter
cd "$PBS_O_WORKDIR"
export MASTER_ADDR=$(head -n 1 "$PBS_NODEFILE")
export MASTER_PORT={port}
{hosts}{launch}
"""
# deepspeed wants a file of the hosts, under the name that its template gives it.
_HOSTS = """\
FOLDER=$(mktemp -d -p "$PWD" .maple-hosts.XXXXXX)
trap 'rm -rf "$FOLDER"' EXIT
trap 'exit 143' TERM
cd "$FOLDER"
export HOSTFILE=$FOLDER/hostfile
{listed} | sed 's/$/ slots={n}/' > hostfile
"""
_LISTED = {"slurm": 'scontrol show hostnames "$SLURM_JOB_NODELIST"', "pbs": '''awk '!seen[$0]++' "$PBS_NODEFILE"'''}


def template(name: str, site: Site) -> LaunchFile:
    """Return the launch template of that name. Raises `CannotVerify` where there is none, or not for this site."""
    found = {one.name: one for one in load()}
    if name not in found:
        raise CannotVerify(f"there is no launch template {name}", "there are: " + ", ".join(sorted(found)))
    if name not in {one.name for one in site.launch_templates}:
        raise CannotVerify(
            f"{name} is not for {site.id}: it has no {found[name].when.over}, or another scheduler",
            "for it there are: " + (", ".join(one.name for one in site.launch_templates) or "none"),
        )
    return found[name]


def script(one: LaunchFile, site: Site, nodes: int, partition: str = "", gpus: int | None = None) -> bytes:
    """Return a batch script that starts `train.py` by the template on *nodes* nodes, a rank on each GPU.

    *gpus*: on a node; None: as many as the nodes of *partition* have, or of the site's default. Raises `CannotVerify`
    where nobody knows.
    """
    count = gpus if gpus is not None else _gpus(site, partition)
    if not count:
        raise CannotVerify(f"{site.id} does not say how many GPUs a node has", "say it: --gpus-per-node 4")
    tasks = 1 if one.when.launcher in AGENTS else count
    slots = {
        "job.nodes": nodes,
        "job.tasks": nodes * tasks,
        "job.tasks_per_node": tasks,
        "job.ranks": nodes * count,
        "site.gpus_per_node": count,
    }
    launch = _with_program(" ".join(_filled(words, slots) for words in one.launch))
    asked = _chunk(site, count, tasks) if site.scheduler == "pbs" else _request(site, nodes, count)
    hosts = _HOSTS.format(listed=_LISTED[site.scheduler], n=count) if "hostfile" in launch.lower() else ""
    form = _PBS if site.scheduler == "pbs" else _SLURM
    return form.format(nodes=nodes, tasks=tasks, asked=asked, port=PORT, hosts=hosts, launch=launch).encode()


def _filled(words: str, slots: dict[str, int]) -> str:
    for name, value in slots.items():
        words = words.replace("{%s}" % name, str(value))
    return words


def _with_program(launch: str) -> str:
    """Return the launch line with a program behind it, inside the quotes of `bash -c` where it has any."""
    return launch[:-1] + " train.py'" if launch.endswith("'") else launch + " train.py"


def _gpus(site: Site, partition: str) -> int | None:
    """Return the GPUs of a node; where the nodes differ, of the smallest that has any."""
    counts = [kind.gpus for kind in site.node_kinds(partition) if kind.gpus]
    return min(counts) if counts else None


def _chunk(site: Site, gpus: int, tasks: int) -> str:
    """Return what a chunk of PBS has; where whole nodes are given, they have what they have."""
    return "" if site.gpu_request.style == "whole-node" else f":ngpus={gpus}:mpiprocs={tasks}"


def _request(site: Site, nodes: int, gpus: int) -> str:
    """Return the directive that asks for the GPUs in the site's own form, "" where it wants none."""
    form = site.gpu_request.form
    kind = next((kind for kind in site.kinds if kind.gpus and kind.gpu_type), None)
    if not form or "{type}" in form and kind is None:
        return ""
    filled = form.format(n=gpus, total=nodes * gpus, nodes=nodes, type=kind.gpu_type if kind else "")
    return f"#SBATCH {filled}\n"
