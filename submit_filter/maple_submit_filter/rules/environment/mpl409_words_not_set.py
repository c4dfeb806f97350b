"""Rank variables of another launcher."""

from __future__ import annotations

import re
from typing import Dict, Iterator, Optional, Tuple

from ...launchers.rank_words import of_maker, rank_words
from ...launchers.record import RankWords
from ...site.facts import Site
from ...types.edits import Edit, Fix, Safety, Span
from ...types.findings import Finding
from ...types.job import Job
from ...types.launch_plan import LaunchPlan, Step
from .. import rule
from ..program_text import files_read, line_of_file

# What each launcher surely does not set. Sources: srun(1); Open MPI 4.1 and 5 "mpirun"; PALS' public client; MPICH 4.
# srun with --mpi=pmi2 sets PMI_RANK, and PALS sets it too, so these stand in no row of theirs.
_NEVER: Dict[str, Tuple[bytes, ...]] = {
    "srun": (b"OMPI_COMM_WORLD_", b"PALS_", b"MV2_COMM_WORLD_"),
    "openmpi": (b"PMI_RANK", b"PMI_SIZE", b"PMI_LOCAL_RANK", b"PALS_", b"MPI_LOCALRANKID"),
    "pals": (b"OMPI_COMM_WORLD_", b"MPI_LOCALRANKID", b"MV2_COMM_WORLD_"),
    "hydra": (b"OMPI_COMM_WORLD_", b"PALS_"),
    "intelmpi": (b"OMPI_COMM_WORLD_", b"PALS_"),
}
_READ = re.compile(rb"\\?\$\{?((?:OMPI_COMM_WORLD_|PALS_|MV2_COMM_WORLD_)\w+|PMI_\w+|MPI_LOCALRANKID)\b(?!:?[-=+?])")
_FALLS_BACK = re.compile(
    rb"(?m)^[^#\n]*\b(?:RANK|LOCAL_RANK|WORLD_SIZE)=[\"']?\$\{((?:OMPI_COMM_WORLD_|PMI_)\w+):?-\d\}"
)
_OTHERS = {
    "srun": (b"SLURM_PROCID", b"PMIX_RANK"), "openmpi": (b"OMPI_COMM_WORLD_RANK", b"PMIX_RANK"),
    "pals": (b"PMI_RANK", b"PALS_RANKID"), "hydra": (b"PMI_RANK",), "intelmpi": (b"PMI_RANK",),
}  # fmt: skip
_ANY = re.compile(rb"\$\{?((?:OMPI_COMM_WORLD_|PALS_|MV2_COMM_WORLD_|PMI_)\w+|MPI_LOCALRANKID)\b")
_COMMENT = re.compile(rb"(?m)^[ \t]*#.*$")
_RANK, _LOCAL, _SIZE = re.compile(rb"(WORLD_RANK|PMI_RANK|RANKID)\Z"), re.compile(rb"LOCAL"), re.compile(rb"SIZE\Z")


@rule("MPL409", "rank variables that this launcher does not set")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """Each launcher tells its ranks who they are by variables of its own.

    Wrong: srun bash -c 'RANK=$OMPI_COMM_WORLD_RANK python train.py'
    Wrong: mpirun ./run.sh, where run.sh says --node_rank=$PMI_RANK and the mpirun is Open MPI's
    Right: srun bash -c 'RANK=$SLURM_PROCID python train.py'; --node_rank=$OMPI_COMM_WORLD_RANK
    Why:   the word is empty: every task takes itself for rank 0, or torchrun says: invalid int value: ''. `maple check`
           shows the change; at submission Maple only reports it. A file beside the script is read and not changed.
    """
    launchers = {_launcher(step, site) for step in plan.steps}
    name = launchers.pop() if len(launchers) == 1 else ""
    if name not in _NEVER:
        return
    scripts = tuple(files_read(plan, job, b".sh"))
    if not scripts and not any(word in job.source for word in (b"_RANK", b"RANKID")):
        return
    step = plan.steps[0]
    words = rank_words(step.links[:1], site, job.source) or of_maker(name)
    match = _first(job.source, name)
    if match is not None:
        yield _finding(match, name, words, job.source)
        return
    for beside, text in scripts:
        other = _first(text, name)
        if other is not None:
            says = "%s reads %s, which %s does not set" % (beside, other.group(1).decode(), _SHOWN.get(name, name))
            own = _meant(other.group(1), words)
            there = (line_of_file(beside, text, Span(*other.span(1)), own),) if own else ()
            yield Finding("MPL409", says, step.program_span or step.span, help=_instead(other.group(1), words),
                          elsewhere=there)  # fmt: skip
            return


_SHOWN = {"openmpi": "Open MPI's mpirun", "pals": "PALS' mpiexec", "hydra": "MPICH's mpiexec", "intelmpi": "Intel MPI"}


def _launcher(step: Step, site: Site) -> str:
    """Return whose variables a step's tasks surely have, "" where that is not known."""
    link = step.links[0] if step.links else None
    if link is None or step.maybe:
        return ""
    if link.name == "srun":
        return "srun" if not any(outer.name == "mpiexec" for outer in step.links) else ""
    if link.name == "ibrun":
        return site.maker("ibrun")
    if link.name != "mpiexec" or not link.argv:
        return ""
    return site.maker(link.argv[0].raw.decode("utf-8", "replace"))


def _first(text: bytes, name: str) -> "Optional[re.Match[bytes]]":
    """Return the first word that reads such a variable, where the text neither sets nor asks about any."""
    for match in _READ.finditer(_COMMENT.sub(lambda match: b" " * len(match.group()), text)):
        variable = match.group(1)
        if variable.startswith(_NEVER[name]) and variable + b"=" not in text:
            asked = re.search(rb"(?:-[nzv] |\+x|:[-=+?]|\bif\b[^\n]*)[^\n]*%s|%s[^\n]*:-" % (variable, variable), text)
            return None if asked else match
    for match in _FALLS_BACK.finditer(text):
        if match.group(1).startswith(_NEVER[name]) and not any(word in text for word in _OTHERS[name]):
            return match
    return None


def _meant(variable: bytes, words: Optional[RankWords]) -> bytes:
    """Return the launcher's own variable for what another one's says."""
    if words is None:
        return b""
    if _LOCAL.search(variable):
        return words.local if not _SIZE.search(variable) else b""
    return words.rank if _RANK.search(variable) else words.tasks if _SIZE.search(variable) else b""


def _instead(variable: bytes, words: Optional[RankWords]) -> str:
    own = _meant(variable, words)
    return "read $%s" % own.decode() if own else "read the variables of the launcher that is used"


def _finding(match: "re.Match[bytes]", name: str, words: Optional[RankWords], source: bytes) -> Finding:
    variable = match.group(1)
    own, span = _meant(variable, words), Span(*match.span(1))
    says = "%s does not set %s" % (_SHOWN.get(name, name), variable.decode())
    every = [
        word
        for word in _ANY.finditer(source)
        if word.group(1).startswith(_NEVER[name]) and _meant(word.group(1), words)
    ]
    edits = tuple(Edit(Span(*word.span(1)), _meant(word.group(1), words), "MPL409") for word in every)
    fixes = (Fix(edits, Safety.ASK, "read %s" % own.decode()),) if own else ()
    return Finding("MPL409", says, span, fixes=fixes, help=_instead(variable, words))
