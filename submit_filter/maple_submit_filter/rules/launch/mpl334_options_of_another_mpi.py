"""Options of another maker's mpiexec than the one that a module brings."""

from __future__ import annotations

import re
from typing import Iterator, List, Optional, Tuple

from ...cures.launch_edits import drop
from ...launchers.mpi.options import TABLES
from ...launchers.registry import foreign
from ...play.program_owner import likely
from ...site.facts import Site
from ...types.edits import Edit, Fix, Safety
from ...types.findings import Finding
from ...types.job import Job
from ...types.launch_plan import LaunchPlan, Link, Option
from .. import rule

_SHOWN = {"pals": "PALS", "hydra": "MPICH", "intelmpi": "Intel MPI", "openmpi": "Open MPI"}
_PER_NODE = re.compile(rb"ppr:(\d{1,5}):node")
_ONLY_THERE = ("mca", "gmca", "oversubscribe", "report-bindings", "rank-by", "envall", "genvall", "map-by", "bind-to")


@rule("MPL334", "options of another MPI than the module's")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """Open MPI, MPICH and Intel MPI all have an mpirun, and each has options of its own.

    Wrong: module load openmpi ... mpirun -np 8 -ppn 4 -genv NCCL_DEBUG INFO python train.py
    Right: mpirun -np 8 --map-by ppr:4:node -x NCCL_DEBUG=INFO python train.py
    Wrong: module load intel-mpi (impi, mpich) ... mpirun -np 8 --map-by ppr:4:node -x MASTER_ADDR python train.py
    Right: mpirun -np 8 -ppn 4 -genvlist MASTER_ADDR python train.py
    Why:   mpirun ends at a word that it does not know: unrecognized argument. Maple only shows the change: a module
           may bring another program than its name says. Where the mpirun is the site's own, MPL310 speaks of it.
    """
    for step in plan.steps:
        link = step.links[0] if step.links else None
        if link is None or link.name != "mpiexec" or not link.argv or step.maybe:
            continue
        own = likely(link.argv[0].raw, link.around, site)
        if own not in TABLES or not foreign(link.argv[0].raw, link.around) or not _is_the_modules(link, job):
            continue
        odd = [option for option in link.options if not _takes(own, option)]
        owner = next(
            (other for other in TABLES if odd and other != own and all(_takes(other, option) for option in odd)), ""
        )
        if owner:
            fix = _in_words_of(own, link, odd, job)
            says = "%s does not take %s, an option of %s" % (_SHOWN[own], odd[0].spelling.decode(), _SHOWN[owner])
            yield Finding("MPL334", says, odd[0].span or step.span, fixes=(fix,) if fix is not None else (),
                          help="the module that is loaded brings the mpirun of %s" % _SHOWN[own])  # fmt: skip
            return


def _is_the_modules(link: Link, job: Job) -> bool:
    """Return whether modules of one maker alone are loaded, none is taken away, and the word is looked up."""
    loaded = {entry for reason in link.around for entry in reason.of if entry.startswith("maker:")}
    return len(loaded) == 1 and b"/" not in link.argv[0].raw and not re.search(rb"\b(?:unload|swap|rm)\b", job.source)


def _takes(maker: str, option: Option) -> bool:
    value = option.value.raw if option.value is not None else b""
    if option.name == "map-by" and _PER_NODE.match(value):
        return maker == "openmpi"  # Hydra's --map-by takes the names of hardware
    return b"--" + option.spelling.split(b"=")[0].lstrip(b"-") in TABLES[maker].rows


def _in_words_of(own: str, link: Link, odd: List[Option], job: Job) -> Optional[Fix]:
    """Say ranks a node and variables in the words of the mpirun that is there; all of it, or nothing."""
    edits: List[Edit] = []
    for option in odd:
        words = _same(own, option, job)
        if option.span is None or words is None:
            return None
        edits += [Edit(option.span, words, "MPL334")] if words else drop(job.source, option, "MPL334") or []
    return Fix(tuple(edits), Safety.ASK, "say it in the words of %s" % _SHOWN[own]) if edits else None


def _same(own: str, option: Option, job: Job) -> Optional[bytes]:
    """Return what says the same there: b"" where nothing has to, None where that is not known."""
    value = option.value.raw if option.value is not None else b""
    if own == "openmpi":
        return _of_openmpi(option, value, job)
    ranks = _PER_NODE.match(value) if option.name == "map-by" else None
    each = ranks.group(1) if ranks is not None else value if option.name in ("npernode", "N") else b""
    if each.isdigit():
        return b"-ppn " + each
    if option.name == "x" and value:
        name, equals, _ = value.partition(b"=")
        written = _behind(option, job)
        return b"-genv " + written.replace(b"=", b" ", 1) if equals else b"-genvlist " + name
    return b"" if option.name in _ONLY_THERE else None


def _of_openmpi(option: Option, value: bytes, job: Job) -> Optional[bytes]:
    if option.name in ("ppn", "perhost", "grr") and value.isdigit():
        return b"--map-by ppr:%s:node" % value
    if option.name in ("genv", "env"):
        words: Tuple[bytes, ...] = tuple(_behind(option, job).split(None, 1))
        return b"-x " + b"=".join(words) if len(words) == 2 else None
    if option.name in ("genvlist", "envlist"):
        return b" ".join(b"-x " + name for name in value.split(b","))
    return b"--host " + value if option.name == "hosts" else b"" if option.name in _ONLY_THERE else None


def _behind(option: Option, job: Job) -> bytes:
    """Return what stands behind the option's name, as it is written."""
    text = job.source[option.span.start : option.span.end] if option.span is not None else b""
    return text[len(option.spelling.split(b"=")[0]) :].lstrip(b"= \t")
