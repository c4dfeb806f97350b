"""What `maple site init` does around the draft: its id, its check, its file, and what this host shows of itself."""

from __future__ import annotations

import datetime
import os
import re
import shlex
from collections.abc import Iterable
from pathlib import Path

from maple_agents.ask.schedulers.pbs.library import configuration
from maple_agents.ask.sites.files import Mistakes, parse
from maple_agents.base.complaint import Complaint

from . import draft_pbs, draft_slurm, draft_tables
from .draft_values import SMALL, Asking, Launcher, Machine, entries_of, shown, text_of

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
    if configuration(asking.environ.get("PBS_CONF_FILE") or "/etc/pbs.conf") and asking.path_of("pbsnodes"):
        return "pbs"
    if asking.path_of("sinfo") and asking.path_of("scontrol"):
        return "slurm"
    if asking.path_of("pbsnodes") and asking.path_of("qstat"):
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
    return draft_tables.text_of(system, machine(asking, root), site_id or id_of(system.cluster), today, asking.silent)


def id_of(cluster: str) -> str:
    """Return a site's id from the name of a cluster, or of a server with its domain."""
    return re.sub(r"[^a-z0-9]+", "-", cluster.lower().partition(".")[0]).strip("-") or "my-cluster"


LAUNCHERS = ("srun", "mpiexec", "mpirun", "aprun", "ibrun", "jsrun", "flux", "torchrun", "accelerate", "deepspeed")
_MPI = ("mpiexec", "mpirun")
_SAYS = {  # what `--version` says, and what a site file calls it
    "Open MPI": "Open MPI",
    "OpenRTE": "Open MPI",
    "HYDRA build details": "Hydra",
    "Intel(R) MPI Library": "Intel MPI",
}
_FAMILIES = re.compile(
    r"(?:openmpi|ompi|mpich|cray-mpich|cray-pals|intel-?mpi|impi|mvapich\d?|hpcx|spectrum-mpi)(?:$|[/-])", re.I
)
_PYTORCH = re.compile(r"(?:^|[/_-])(?:py)?torch(?:$|[/_-])", re.IGNORECASE)
_MODULE = re.compile(r"[A-Za-z0-9][\w.+/@=-]{0,119}", re.ASCII)
_MOST_PYTORCH = 8
_INFINIBAND = "32"  # ARPHRD_INFINIBAND of if_arp.h
_FABRICS = {"InfiniBand": "InfiniBand"}  # link_layer: with Ethernet it may be anybody's


def machine(asking: Asking, root: str = "/") -> Machine:
    """Return what is seen here. *root*: of the files, for tests."""
    modules, listed = modules_of(asking)
    programs = list(launchers(asking, several=_several(listed)))
    return Machine(
        host=shown(os.uname().nodename),
        os=os_of(text_of(os.path.join(root, "etc/os-release"))),
        interfaces=tuple(interfaces(os.path.join(root, "sys/class/net"))),
        fabric=fabric(os.path.join(root, "sys/class/infiniband")),
        launchers=tuple(programs),
        modules=modules,
        modules_name=shown(asking.environ.get("LMOD_SYSTEM_NAME", "")) if modules.startswith("Lmod") else "",
        pytorch=tuple(pytorch(listed)),
        notes=tuple(_notes(programs, listed)),
    )


def os_of(text: str) -> str:
    """Return PRETTY_NAME of an os-release file."""
    match = re.search(r"^PRETTY_NAME=(.*)$", text, re.MULTILINE)
    return shown(match[1].strip().strip("\"'")) if match else ""


def interfaces(folder: str) -> Iterable[str]:
    """Yield the interfaces of a fast network: InfiniBand by its type, Slingshot by its name (`hsn0`)."""
    for name in entries_of(folder):
        kind = text_of(os.path.join(folder, name, "type"), 64).strip()
        if (kind == _INFINIBAND or re.fullmatch(r"hsn\d+", name)) and re.fullmatch(r"[\w.-]{1,15}", name, re.ASCII):
            yield name


def fabric(folder: str) -> str:
    """Return the fabric that all adapters with a link layer name, "" where they do not agree, or it is Ethernet."""
    fabrics = set()
    for adapter in entries_of(folder):
        for port in entries_of(os.path.join(folder, adapter, "ports")):
            fabrics.add(text_of(os.path.join(folder, adapter, "ports", port, "link_layer"), 64).strip())
    return _FABRICS.get(fabrics.pop(), "") if len(fabrics) == 1 else ""


def launchers(asking: Asking, several: bool) -> Iterable[Launcher]:
    """Yield the launchers that PATH finds. *several*: modules bring other MPIs, so whose a job gets is not known."""
    for name in LAUNCHERS:
        path = asking.path_of(name)
        if path:
            whose = implementation(path, asking) if name in _MPI else ""
            yield Launcher(name, shown(path), "" if several else whose)


def implementation(path: str, asking: Asking) -> str:
    """Return whose program an mpiexec is, by what it says and, where that is nothing, by where it lies."""
    if re.search(r"/(cray/pe/)?pals/", os.path.realpath(path)):
        return "PALS"
    output = asking.output_of(path, "--version", limit=SMALL, errors_too=True)
    makers = {name for words, name in _SAYS.items() if words in output}
    return makers.pop() if len(makers) == 1 else ""


def modules_of(asking: Asking) -> tuple[str, list[str]]:
    """Return the module system, and the modules that can be loaded at once, as a shell here would list them."""
    environ = asking.environ
    lmod, tcl = environ.get("LMOD_CMD", ""), environ.get("MODULES_CMD", "")
    if os.path.isabs(lmod):
        output = asking.output_of(lmod, "bash", "-t", "avail", limit=SMALL * 4, errors_too=True)
        number = environ.get("LMOD_VERSION", "")
        return shown("Lmod %s" % number).strip(), _listed(output)
    if os.path.isabs(tcl):
        output = asking.output_of(tcl, "bash", "avail", "-t", limit=SMALL * 4, errors_too=True)
        return "Environment Modules", _listed(output)
    return "", []


def _listed(output: str) -> list[str]:
    """Return the modules of a terse list; a heading ends with a colon, a name without version with a slash."""
    lines = (re.sub(r"\s*[(<][^()<>]*[)>]\s*$", "", line.strip()) for line in output.splitlines())
    return [line for line in lines if _MODULE.fullmatch(line) and not line.endswith(("/", ":"))]


def _several(listed: Iterable[str]) -> bool:
    return any(_FAMILIES.match(name) for name in listed)


def pytorch(listed: Iterable[str]) -> Iterable[str]:
    """Return the lines that load PyTorch, the last versions first."""
    modules = sorted({name for name in listed if _PYTORCH.search(name)}, key=_by_number, reverse=True)
    return ["module load %s" % shlex.quote(name) for name in modules[:_MOST_PYTORCH]]


def _by_number(name: str) -> list[tuple[int, str]]:
    return [(int(word), "") if word.isdigit() else (-1, word) for word in re.findall(r"\d+|\D+", name)]


def _notes(launchers: Iterable[Launcher], listed: Iterable[str]) -> Iterable[str]:
    mpi = [launcher.name for launcher in launchers if launcher.name in _MPI and not launcher.implementation]
    if mpi:
        others = sorted({name for name in listed if _FAMILIES.match(name)})[:6]
        why = "modules bring others: %s" % ", ".join(others) if others else "it does not say so"
        yield "whose program %s is for a job: %s" % (" and ".join(mpi), why)
    if not listed:
        yield "modules: none were listed here"
