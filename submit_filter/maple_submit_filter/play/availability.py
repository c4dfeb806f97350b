"""Which commands and variables there are where a script's words are expanded, and whether a fix's words are there.

Three places: the batch shell, a task (a process of the job that a launcher started, on any node), and a container. A
word that a fix writes must be available where it is expanded; `missing` looks at every expansion of the changed script
that the fix wrote, or moved to another place.
"""

from __future__ import annotations

import re
from typing import FrozenSet, Mapping, NamedTuple, Optional, Sequence, Set, Tuple

from ..types.edits import Edit, Span, in_order, written
from ..types.job import in_comment
from ..types.launch_plan import Noted
from ..types.text import Text

BATCH, TASK, IMAGE = "the batch shell", "a task", "a container"
_ALL = frozenset((BATCH, TASK, IMAGE))
_HOST = frozenset((BATCH, TASK))  # a program of the host's, which no image has
_FIRST = frozenset((BATCH,))
_OWN = frozenset((TASK, IMAGE))  # what tells a task who it is: the batch shell has none, or another's

# Commands by the places that surely have them. A container has its image's, and every image has a shell and coreutils.
COMMANDS: Mapping[bytes, FrozenSet[str]] = {
    **dict.fromkeys(b"bash exec export cd head tail sort wc hostname echo printf wait".split(), _ALL),
    b"conda": _ALL,  # fixes write it beside the script's own conda, and nowhere else
    **dict.fromkeys(b"scontrol sed paste".split(), _HOST),
    **dict.fromkeys(b"squeue sacct sinfo sbatch salloc qstat qsub pbsnodes nodeset module ml".split(), _HOST),
    **dict.fromkeys(b"srun ibrun mpiexec mpirun pbsdsh pbs_tmrsh".split(), _FIRST),  # a step within a step hangs
}
# Variables by the places in which they mean what a fix means by them; elsewhere they are unset, or another process'.
VARIABLES: Mapping[bytes, FrozenSet[str]] = {
    **dict.fromkeys(
        b"SLURM_JOB_ID SLURM_JOBID SLURM_JOB_NODELIST SLURM_NODELIST SLURM_NNODES SLURM_JOB_NUM_NODES SLURM_NTASKS "
        b"SLURM_SUBMIT_DIR PBS_JOBID PBS_O_WORKDIR PBS_O_HOME HOME USER".split(),
        _ALL,
    ),
    b"PBS_NODEFILE": _FIRST,  # the file is written on the first node alone, in a folder that no container is given
    **dict.fromkeys(b"SLURM_PROCID SLURM_LOCALID SLURM_NODEID PBS_NODENUM".split(), _OWN),
    **dict.fromkeys(
        b"PMI_RANK PMI_SIZE PMI_LOCAL_RANK PMI_LOCAL_SIZE PMIX_RANK MPI_LOCALRANKID MPI_LOCALNRANKS PALS_RANKID "
        b"PALS_NODEID PALS_LOCAL_RANKID PALS_LOCAL_SIZE OMPI_COMM_WORLD_RANK OMPI_COMM_WORLD_SIZE "
        b"OMPI_COMM_WORLD_LOCAL_RANK OMPI_COMM_WORLD_LOCAL_SIZE".split(),
        _OWN,
    ),
}
_EXPANSION = rb"\$(?=[A-Za-z_{(])(?!\(\()"  # arithmetic needs nothing: what it reads is looked at


class Use(NamedTuple):
    """One word that was expanded, or run, while the script was played. *there*: the variable is surely set then."""

    at: int
    name: bytes
    is_command: bool
    where: str
    there: bool


def noted(uses: Sequence[Noted]) -> Tuple[Use, ...]:
    """Return uses with the offsets in the script at which they stand; those that stand nowhere in it are left out."""
    placed = ((_offset(use[0], use[1]), use) for use in uses)
    return tuple(Use(at, use[2], use[3], use[4], use[5]) for at, use in placed if at is not None)


def _offset(text: Text, start: int) -> Optional[int]:
    """Return where a command's word stands, or the `$` that begins an expansion, also behind a backslash."""
    if start < 0:
        word = text.written() or text.span()
        return word.start if word is not None else None
    span = text.span(start, start + 1)
    if span is not None:
        return span.start
    behind = text.span(start + 1, start + 2)
    return behind.start - 1 if behind is not None else None


def place(name: bytes, is_command: bool) -> Optional[FrozenSet[str]]:
    """Return where a command or variable is available, None for one that the table does not speak of."""
    return (COMMANDS if is_command else VARIABLES).get(name)


def in_image(name: bytes) -> bool:
    """Return whether a container may have a command of that name: all but the host's own."""
    places = COMMANDS.get(name)
    return places is None or IMAGE in places


def missing(before: Sequence[Noted], after: Sequence[Noted], edits: Sequence[Edit], new: bytes) -> str:
    """Return the first word that *edits* have expanded where it is not available, "" where there is none.

    *before* and *after* are the uses of the script and of *new*, which the edits made of it. A word that stands
    where it stood and is expanded where it was is the user's own affair.
    """
    spans = written(edits)
    moved = _Moves(edits, spans)
    doubtful = noted([use for use in after if not _available(*use[2:])])
    names = {use.name for use in doubtful}
    known: Set[Tuple[int, bytes, bool, str]] = {use[:4] for use in noted([use for use in before if use[2] in names])}
    for use in doubtful:
        origin = moved.back(use.at)
        if origin is None or (origin, *use[1:4]) not in known:
            return "%s is not available in %s" % (_sentence(use), use.where)
    expansions = [
        match.start() for span in spans for match in re.compile(_EXPANSION).finditer(new, span.start, span.end)
    ]
    seen = {use.at for use in noted(after)} if expansions else set()
    for at in expansions:
        if at not in seen and not in_comment(new, at):
            return "it is unknown where %s is expanded" % _word_at(new, at)
    return ""


def _available(name: bytes, is_command: bool, where: str, there: bool) -> bool:
    """A command that the table does not know is the user's own; a variable has to be set."""
    places = place(name, is_command)
    if places is not None and where not in places:
        return False
    return is_command or there


def _sentence(use: Use) -> str:
    name = use.name.decode("utf-8", "replace")
    return name if use.is_command else "$" + name


def _word_at(source: bytes, at: int) -> str:
    match = re.compile(rb"\$\{?\(?[\w]*").match(source, at)
    return match.group().decode("utf-8", "replace") if match else "$"


class _Moves:
    """Where bytes of the changed script stood before it was changed."""

    def __init__(self, edits: Sequence[Edit], spans: Sequence[Span]) -> None:
        self.pairs = list(zip((span for span, _ in in_order(edits)), spans))

    def back(self, at: int) -> Optional[int]:
        """Return where a byte stood, None for one that was written."""
        moved = 0
        for was, now in self.pairs:
            if at < now.start:
                break
            if at < now.end:
                return None
            moved = was.end - now.end
        return at + moved
