"""What `maple site init` does around the draft: its id, its check, its file."""

from __future__ import annotations

import datetime
import os
import re
from pathlib import Path

from maple_agents.ask.schedulers.pbs.library import configuration
from maple_agents.ask.sites.files import parse
from maple_agents.ask.sites.mistakes import Mistakes
from maple_agents.base.complaint import Complaint

from . import draft_pbs, draft_slurm
from .draft_machine import machine
from .draft_tables import text_of
from .draft_values import Asking

_ID = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


def drafted(site_id: str, output: Path | None) -> str:
    """Return the text of the draft, checked as `maple site lint` does. Raises `Complaint` in one line."""
    stem = output.name.removesuffix(".toml") if output is not None and output.name.endswith(".toml") else ""
    wanted = site_id or stem
    if wanted and not _ID.fullmatch(wanted):
        raise Complaint("%s: is no id of a site" % wanted, "small letters, digits and single dashes: --id my-cluster")
    if stem and stem != wanted:
        raise Complaint("%s: the file of site %s is called %s.toml" % (output, wanted, wanted), "name it so")
    if output is not None and os.path.lexists(output):
        raise Complaint("%s: is there already" % output, "name a file that does not exist: nothing is overwritten")
    try:
        text = draft(Asking(os.environ), wanted, datetime.date.today())
        parse(text.encode("utf-8"), "draft")
    except NothingHere as error:
        raise Complaint("nothing to draft from: %s" % error, "run it on a login node of the cluster") from None
    except Mistakes as error:
        raise Complaint("the draft is wrong: %s" % str(error).splitlines()[0], "please report it") from None
    return text


def save(text: str, output: Path) -> None:
    """Write the draft to a file that was not there. Raises `Complaint` in one line."""
    try:
        with open(output, "x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise Complaint("%s: is there already" % output, "nothing is overwritten") from None
    except OSError as error:
        raise Complaint("%s: %s" % (output, error.strerror), "name a file in a folder that you may write") from None


# Drafts a site file from the running system. What nobody said is left out, and listed for the administrator.


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
    asked = draft_slurm.system if scheduler_here(asking) == "slurm" else draft_pbs.system
    system = asked(asking)
    if not (system.nodes or system.places or system.version):
        first = asking.silent[0].split(" / ")[0] if asking.silent else "the scheduler said nothing"
        raise NothingHere(first)
    return text_of(system, machine(asking, root), site_id or id_of(system.cluster), today, asking.silent)


def id_of(cluster: str) -> str:
    """Return a site's id from the name of a cluster."""
    return re.sub(r"[^a-z0-9]+", "-", cluster.lower()).strip("-") or "my-cluster"
