"""A PBS lab in the shape of a real site, from its site config."""

from __future__ import annotations

import re

from maple_agents.ask.sites import load
from maple_submit_filter.site.facts import Demand, NodeKind, Partition, Site

from tests.pbs_lab.shape import GENERIC, Host, PbsShape, Queue, Rule

NAMES = {"alcf-aurora": "x4109c0s{n}b0n0", "alcf-polaris": "x3006c0s{n}b0n0"}
ABSENT = ("srun", "sbatch", "salloc", "squeue", "scontrol", "ibrun", "mpirun.openmpi")


def shape_of_site(site_id: str, hosts: int = 4) -> PbsShape:
    """Return the shape of that site. Raises `ValueError` when there is none of that id, or it does not run PBS."""
    site = load(site_id)
    if site.scheduler != "pbs":
        raise ValueError(f"{site_id} runs {site.scheduler}: the lab is a PBS")
    return shape_of(site, hosts)


def shape_of(site: Site, hosts: int = 4) -> PbsShape:
    """Return a small cluster that answers as *site* does; what the site file leaves unknown is permissive."""
    if not site.kinds:
        return GENERIC._replace(site=site.id, absent=ABSENT)
    kind = next((one for one in site.kinds if one.gpus), site.kinds[0])
    return PbsShape(
        site.id,
        tuple(_host(site.id, kind, number) for number in range(1, hosts + 1)),
        _launcher(site),
        site.gpu_request.style == "whole-node",
        site.node_name_suffix,
        tuple(_queue(one) for one in site.partitions if one.selector == "queue"),
        (*_rules(site.demands, "missing"), *_rules(site.refusals, "present")),
        tuple(dict.fromkeys([*_absent(site), *ABSENT])),
        site.id == "alcf-aurora",  # its pages read PMIX_RANK first
        tm=False,  # where nobody says that it is there: what holds without it holds with it
    )


def _launcher(site: Site) -> str:
    made = {site.maker(name) for name in ("mpiexec", "mpirun")}
    return next((maker for maker in ("pals", "openmpi") if maker in made), "hydra")


def _host(site: str, kind: NodeKind, number: int) -> Host:
    return Host(
        NAMES.get(site, "node{n}").format(n=number),
        kind.gpus or 0,
        kind.gpu_vendor or "nvidia",
        kind.gpu_type,
        (kind.cores or 64) * (kind.threads_per_core or 1),
        kind.memory_gib or 512,
    )


def _queue(one: Partition) -> Queue:
    return Queue(one.name, one.min_nodes, one.max_nodes, one.max_walltime, one.routed)


def _rules(demands: tuple[Demand, ...], when: str) -> list[Rule]:
    return [
        Rule(one.options, when, _words(one), one.values, one.except_values)
        for one in demands
        if one.effect == "refused" and one.applies == "always" and "queue" not in one.options
    ]


def _words(one: Demand) -> str:
    return re.sub(r"^qsub: ", "", one.text or one.says)


def _absent(site: Site) -> list[str]:
    return [one.name for one in site.launchers if one.state == "absent"]
