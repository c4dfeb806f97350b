"""Drafts a site file from the running system. What nobody said is left out, and listed for the administrator."""

from __future__ import annotations

import datetime
import re

from maple_agents.ask.schedulers.pbs.library import configuration

from . import drafting_pbs, drafting_slurm
from .drafting_asking import Asking
from .drafting_machine import machine
from .drafting_tables import text_of


class NothingHere(Exception):
    """There is no scheduler to be asked, or it says nothing. One line."""


def scheduler_here(asking: Asking) -> str:
    """Return `slurm` or `pbs`. Slurm's own qstat, a wrapper, does not make it PBS. Raises `NothingHere`."""
    if configuration(asking.environ.get("PBS_CONF_FILE") or "/etc/pbs.conf") and asking.found("pbsnodes"):
        return "pbs"
    if asking.found("sinfo") and asking.found("scontrol"):
        return "slurm"
    if asking.found("pbsnodes") and asking.found("qstat"):
        return "pbs"
    raise NothingHere("neither sinfo and scontrol nor pbsnodes and qstat are in PATH")


def draft(asking: Asking, site_id: str, today: datetime.date, root: str = "/") -> str:
    """Return the text of a site file that `maple site lint` passes; *site_id* "": made of the cluster's name.

    Raises `NothingHere` where the scheduler answers nothing.
    """
    asked = drafting_slurm.system if scheduler_here(asking) == "slurm" else drafting_pbs.system
    system = asked(asking)
    if not (system.nodes or system.places or system.version):
        raise NothingHere("; ".join(asking.silent[:3]) or "the scheduler said nothing")
    return text_of(system, machine(asking, root), site_id or id_of(system.cluster), today, asking.silent)


def id_of(cluster: str) -> str:
    """Return a site's id from the name of a cluster."""
    return re.sub(r"[^a-z0-9]+", "-", cluster.lower()).strip("-") or "my-cluster"
