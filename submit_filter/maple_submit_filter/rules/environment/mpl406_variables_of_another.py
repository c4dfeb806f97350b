"""Variables that another scheduler sets, and this one does not."""

from __future__ import annotations

import re
from typing import Iterator, List, Optional

from ...request.scheduler_words import is_pbs
from ...request.unread_directives import other_scheduler
from ...site.facts import Site
from ...types.edits import Edit, Fix, Safety, Span
from ...types.findings import Finding
from ...types.job import Job, in_comment
from ...types.launch_plan import LaunchPlan
from .. import rule
from ..limits import surely_openpbs

_SLURMS = rb"SLURM_[A-Z_]+"
_PBSS = rb"PBS_(?:NODEFILE|O_WORKDIR|JOBID|JOBNAME|ARRAY_INDEX|ARRAYID|NODENUM|TASKNUM|NUM_NODES|NUM_PPN|NP|QUEUE)"
_TORQUES = rb"PBS_(?:NUM_NODES|NUM_PPN|NP|ARRAYID|HOSTFILE)"
_STARTS = rb"\b(?:torchrun|srun|mpirun|mpiexec|deepspeed|accelerate|python3?|pbsdsh)\b"
_OF_TORQUE = (b"PBS_NUM_", b"PBS_NP", b"PBS_ARRAYID", b"PBS_HOSTFILE")
_INSTEAD = {
    b"PBS_NODEFILE": 'scontrol show hostnames "$SLURM_JOB_NODELIST" lists the nodes',
    b"PBS_O_WORKDIR": "the job starts there, and $SLURM_SUBMIT_DIR names it",
    b"PBS_JOBID": "$SLURM_JOB_ID is the job's id",
    b"PBS_ARRAY_INDEX": "$SLURM_ARRAY_TASK_ID is the index of an array",
    b"SLURM_JOB_NODELIST": "$PBS_NODEFILE is a file with the nodes",
    b"SLURM_NODELIST": "$PBS_NODEFILE is a file with the nodes",
    b"SLURM_JOB_ID": "${PBS_JOBID%%.*} is the job's number",
    b"SLURM_ARRAY_TASK_ID": "$PBS_ARRAY_INDEX is the index of an array",
    b"SLURM_SUBMIT_DIR": "$PBS_O_WORKDIR is the folder of submission",
    b"PBS_ARRAYID": "$PBS_ARRAY_INDEX is the index of an array",
    b"PBS_HOSTFILE": "$PBS_NODEFILE is a file with the nodes",
    b"PBS_NUM_NODES": 'sort -u "$PBS_NODEFILE" | wc -l counts the nodes',
    b"PBS_NP": 'wc -l < "$PBS_NODEFILE" counts the ranks',
    b"PBS_NUM_PPN": "$PBS_NODEFILE has a line for each rank of a node",
}
_ASKED = rb"(?m)^(?![ \t]*#).*(?:\[[ \t]|\btest[ \t]|\bcase[ \t]|:[-=+?]).*\b%s\b"
_READS = rb"(?m)^(?![ \t]*#).*?\$(?:(%s)\b|\{(%s)\})"
_PIECE = rb"(?m)\$\{?(%s)\b"
CHOSEN_LATER = tuple(  # for the helper's image
    text
    for pattern in (_SLURMS, _PBSS, _TORQUES)
    for text in (_ASKED % pattern, _READS % (pattern, pattern), _PIECE % pattern)
)


@rule("MPL406", "variables that another scheduler sets")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """A job of Slurm has no $PBS_NODEFILE, one of PBS no $SLURM_JOB_NODELIST: the word is empty there.

    Wrong: export MASTER_ADDR=$(head -n 1 "$PBS_NODEFILE"), in a job of Slurm
    Right: export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
    Why:   an empty word seldom ends a script: the master's address is empty, and every member of an array takes the
           first element. PBS_NP, PBS_NUM_NODES and PBS_NUM_PPN are set by TORQUE, not by OpenPBS. `maple check` shows
           the change; at submission Maple only reports it: what the site's own profile may set cannot be seen. A script
           that asks which scheduler it runs under, or gives the variable a default, is left alone.
    """
    if other_scheduler(job) or not (plan.steps or re.search(_STARTS, job.source)):
        return
    pbs = is_pbs(job)
    if (b"SLURM_" if pbs else b"PBS_") in job.source:  # expressions are made where there is something to look for
        yield from _first(_SLURMS if pbs else _PBSS, pbs, plan, job)
    if pbs and surely_openpbs(job, site) and any(name in job.source for name in _OF_TORQUE):
        yield from _first(_TORQUES, pbs, plan, job)


def _first(pattern: bytes, pbs: bool, plan: LaunchPlan, job: Job) -> Iterator[Finding]:
    """Yield the first word that reads such a variable, where nothing in the script sets one or asks about one."""
    if re.search(_ASKED % pattern, job.source):
        return
    for match in re.finditer(_READS % (pattern, pattern), job.source):
        group = 1 if match.group(1) else 2
        name = match.group(group)
        if name in plan.assigned or name in job.submission.environment:
            continue
        here = "Slurm" if not pbs else "PBS" if name.startswith(b"SLURM") else "OpenPBS"
        says = "%s does not set %s" % (here, name.decode())
        advice = _INSTEAD.get(name, "use what this scheduler sets")
        fix = _counted(name, job) or _renamed(name, pattern, job)
        yield Finding("MPL406", says, Span(match.start(group), match.end(group)),
                      fixes=(fix,) if fix is not None else (), help="under %s, %s" % (here, advice))  # fmt: skip
        return


# What is the same thing by another name; a list of nodes is no file of nodes, so the words around it change as well.
_NAMES = {
    b"PBS_O_WORKDIR": b"SLURM_SUBMIT_DIR", b"PBS_JOBID": b"SLURM_JOB_ID", b"PBS_JOBNAME": b"SLURM_JOB_NAME",
    b"PBS_ARRAY_INDEX": b"SLURM_ARRAY_TASK_ID", b"SLURM_ARRAY_TASK_ID": b"PBS_ARRAY_INDEX",
    b"SLURM_JOB_ID": b"PBS_JOBID", b"SLURM_JOBID": b"PBS_JOBID", b"SLURM_JOB_NAME": b"PBS_JOBNAME",
    b"SLURM_SUBMIT_DIR": b"PBS_O_WORKDIR", b"PBS_ARRAYID": b"PBS_ARRAY_INDEX", b"PBS_HOSTFILE": b"PBS_NODEFILE",
}  # fmt: skip
_HOSTNAMES = b'scontrol show hostnames "$SLURM_JOB_NODELIST"'
_WAYS = {
    b"PBS_NODEFILE": (
        (rb" --?(?:hostfile|machinefile)[ =]\"?\$\{?PBS_NODEFILE\}?\"?", b""),  # mpirun asks Slurm itself
        (rb"wc -l < ?\"?\$\{?PBS_NODEFILE\}?\"?", b'echo "$SLURM_NTASKS"'),  # a line for each rank
        (rb"head -n ?1 \"?\$\{?PBS_NODEFILE\}?\"?", _HOSTNAMES + b" | head -n 1"),
        (rb"head -1 \"?\$\{?PBS_NODEFILE\}?\"?", _HOSTNAMES + b" | head -n 1"),
        (rb"(?:cat|uniq|sort -u) \"?\$\{?PBS_NODEFILE\}?\"?", _HOSTNAMES),
    ),
    b"SLURM_JOB_NODELIST": ((rb"scontrol show hostnames? \"?\$\{?SLURM_JOB_NODELIST\}?\"?", b'uniq "$PBS_NODEFILE"'),),
    b"SLURM_NODELIST": ((rb"scontrol show hostnames? \"?\$\{?SLURM_NODELIST\}?\"?", b'uniq "$PBS_NODEFILE"'),),
}


def _renamed(name: bytes, pattern: bytes, job: Job) -> Optional[Fix]:
    """Read what this scheduler sets, wherever the script reads what the other one does; all of it, or nothing."""
    edits: List[Edit] = []
    for read in re.finditer(_PIECE % pattern, job.source):
        if in_comment(job.source, read.start()):
            continue
        edit = _instead(read, job.source)
        if edit is None:
            return None
        edits.append(edit)
    words = dict.fromkeys(edit.new.lstrip(b"${") for edit in edits if edit.new)
    new = "read %s instead" % b", ".join(words).decode("utf-8", "replace") if words else "leave it out"
    return Fix(tuple(dict.fromkeys(edits)), Safety.ASK, new) if edits else None


def _instead(read: "re.Match[bytes]", source: bytes) -> Optional[Edit]:
    own = _NAMES.get(read.group(1))
    if own is not None:
        return Edit(Span(read.start(1), read.end(1)), own, "MPL406")
    line = source.rfind(b"\n", 0, read.start()) + 1
    for way, words in _WAYS.get(read.group(1), ()):
        for match in re.finditer(way, source[line : read.end() + 2]):
            start, end = line + match.start(), line + match.end()
            if start <= read.start() < end:
                return Edit(Span(start, end), words, "MPL406")
    return None


# What Torque's counts are here; a variable that is exported without a value is given one where it is exported.
_COUNTS = {
    b"PBS_NUM_NODES": b'$(sort -u "$PBS_NODEFILE" | wc -l)',
    b"PBS_NP": b'$(wc -l < "$PBS_NODEFILE")',
    b"PBS_NUM_PPN": b'$(($(wc -l < "$PBS_NODEFILE") / $(sort -u "$PBS_NODEFILE" | wc -l)))',
}


def _counted(name: bytes, job: Job) -> Optional[Fix]:
    """Give Torque's count the value that it would have, on the line that exports or first reads it."""
    if name not in _COUNTS:
        return None
    export = re.search(rb"(?m)^[ \t]*export[ \t][^#\n]*?\b(%s)(?![\w=])" % name, job.source)
    if export is not None:
        edit = Edit(Span(export.end(1), export.end(1)), b"=" + _COUNTS[name], "MPL406")
        return Fix((edit,), Safety.ASK, "%s from the node file" % name.decode())
    reads = [match for match in re.finditer(rb"\$(?:%s\b|\{%s\})" % (name, name), job.source)]
    reads = [match for match in reads if not in_comment(job.source, match.start())]
    if not all(_by_this_shell(match.start(), job.source) for match in reads):
        return None
    edits = tuple(Edit(Span(*match.span()), _COUNTS[name], "MPL406") for match in reads)
    return Fix(edits, Safety.ASK, "%s from the node file" % name.decode()) if edits else None


def _by_this_shell(at: int, source: bytes) -> bool:
    """Return whether the batch shell expands a word: no quote is open in front of it, and none of a line before."""
    line = source[source.rfind(b"\n", 0, at) + 1 : at]
    return b"'" not in line and line.count(b'"') % 2 == 0 and source[at - 1 : at] != b"\\"
