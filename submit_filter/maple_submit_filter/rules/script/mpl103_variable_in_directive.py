"""Variables where nobody expands them."""

from __future__ import annotations

import re
from typing import Dict, Iterator, Optional

from ...cures.option_edits import restate
from ...request.scheduler_words import command, is_pbs, option
from ...site.facts import Site
from ...types.edits import Fix, Safety, Span
from ...types.findings import Finding
from ...types.job import Job, Oddity, Setting
from ...types.launch_plan import LaunchPlan
from .. import rule
from ..limits import surely_openpbs

# What sbatch 22.05.8 refuses when it is no number, time or amount; asked of the program.
_REFUSED = {
    "nodes": "nodes", "ntasks": "", "ntasks-per-node": "ranks_per_node", "cpus-per-task": "", "time": "walltime",
    "mem": "", "gpus-per-node": "gpus_per_node",
}  # fmt: skip
# What OpenPBS 23.06 refuses: Illegal attribute or resource value. The resources of a chunk are numbers as well.
_TORQUES = rb"\bppn=|\bpv?mem=|PBS_(?:NUM_NODES|NUM_PPN|NP|ARRAYID)\b"  # words of Torque
_REFUSED_BY_QSUB = {"select": "nodes", "walltime": "walltime"}


@rule("MPL103", "a variable in a directive is not expanded")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """Directives are comments to the shell, and neither sbatch nor qsub expands a variable in them.

    Wrong: #SBATCH --nodes=$NODES, or #PBS -l select=$NODES
    Right: #SBATCH --nodes=4, or sbatch --nodes=$NODES job.sh
    Why:   sbatch says: "$NODES" is not a valid node count; qsub: Illegal attribute or resource value. A path or a
           name with a variable is taken letter for letter: an output folder called $HOME is not there, and the job
           fails without a message, or its output is not delivered. Maple shows sbatch's own pattern, the value that
           the script gives the variable, or the file in the folder of submission. Torque knows the job's variables in
           the names of its files: where a script speaks to it, they are not reported there. An output in a folder that
           is called like a variable is changed unasked, for no such folder is there. The rest is only reported: what
           the variable will hold when the job runs is not known when it is submitted.
    """
    for oddity in job.script.oddities:
        if oddity.kind == "variable":
            setting = _at(job, oddity.span)
            if setting is not None and not _by_torque(setting, job, site):
                yield _finding(oddity, setting, plan, job)


def _by_torque(setting: Setting, job: Job, site: Site) -> bool:
    """Return whether Torque may expand it, which knows the job's variables in the names of output files."""
    if not is_pbs(job) or surely_openpbs(job, site) or not re.search(_TORQUES, job.source):
        return False
    names = {match.group(1) or match.group(2) for match in _NAMED.finditer(setting.value)}
    own = all(name.startswith(b"PBS_") or name in (b"HOSTNAME", b"HOME", b"USER") for name in names)
    return setting.name in ("output", "error") and own


def _at(job: Job, span: Span) -> Optional[Setting]:
    """Return the setting that stands there, if it is in force."""
    for setting in job.settings:
        if setting.origin.kind == "directive" and span in (setting.origin.value_span, setting.origin.span):
            return setting
    return None


def _finding(oddity: Oddity, setting: Setting, plan: LaunchPlan, job: Job) -> Finding:
    refused = _refused_by_qsub(setting) if is_pbs(job) else _REFUSED
    if setting.name in refused:
        says = "%s, so %s refuses the value of %s" % (oddity.says, command(job), option(job, setting.name))
        slot = refused[setting.name]
        return Finding(
            "MPL103",
            says,
            oddity.span,
            True,
            slot,
            help="write the value itself, or pass the option on the command line",
        )
    fix = _by_pattern(setting, plan, job)
    return Finding("MPL103", oddity.says, oddity.span, fixes=(fix,) if fix is not None else (),
                   help="write the value itself, or pass the option on the command line")  # fmt: skip


# What sbatch(1) has for a name of a file in place of a variable.
_PATTERNS = {
    b"SLURM_JOB_ID": b"%j", b"SLURM_JOBID": b"%j", b"SLURM_ARRAY_JOB_ID": b"%A", b"SLURM_ARRAY_TASK_ID": b"%a",
    b"SLURM_JOB_NAME": b"%x", b"USER": b"%u", b"LOGNAME": b"%u", b"SLURM_NODEID": b"%n", b"SLURMD_NODENAME": b"%N",
}  # fmt: skip
_NAMED = re.compile(rb"\$(?:\{(\w+)\}|(\w+))")


def _by_pattern(setting: Setting, plan: LaunchPlan, job: Job) -> Optional[Fix]:
    """Write sbatch's own pattern, the value that the script gives the variable, or the file beside the script."""

    def value(match: "re.Match[bytes]") -> bytes:
        name = match.group(1) or match.group(2)
        spans = plan.assigned.get(name, ())
        own = job.source[spans[0].start : spans[0].end].partition(b"=")[2].strip(b"\"'") if len(spans) == 1 else b"$"
        pattern = _PATTERNS.get(name) if setting.name in ("output", "error", "input") and not is_pbs(job) else None
        return pattern or (own if _PLAIN.fullmatch(own) else match.group())

    new = _NAMED.sub(value, setting.value)
    if b"$" in new and setting.name in ("output", "error"):
        new = new.rpartition(b"/")[2]  # the folder of submission is there
    made = restate(job, setting, new, "MPL103") if new and b"$" not in new else None
    if made is None:
        return None
    fix = made.fix(Safety.ASK, option(job, setting.name, new.decode("utf-8", "replace")))
    return fix._replace(harmless=setting.name in ("output", "error") and b"$" in setting.value.rpartition(b"/")[0])


_PLAIN = re.compile(rb"[\w./:-]+")


def _refused_by_qsub(setting: Setting) -> Dict[str, str]:
    """A name in a chunk, of a host say, may hold a dollar; its count and its CPUs may not."""
    counts = [part for chunk in setting.value.split(b"+") for index, part in enumerate(chunk.split(b":"))
              if (index == 0 and b"=" not in part) or part.startswith(b"ncpus=")]  # fmt: skip
    return _REFUSED_BY_QSUB if setting.name != "select" or any(b"$" in part for part in counts) else {}
