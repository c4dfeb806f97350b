"""Lines of another scheduler: sbatch reads some all the same, qsub reads none."""

from __future__ import annotations

from typing import Iterator, Optional, Tuple

from ...request.scheduler_words import is_pbs, option
from ...request.slurm import submission as slurm
from ...request.unread_directives import command, other_scheduler, unset_here
from ...site.facts import Site
from ...types.edits import Span
from ...types.findings import Finding
from ...types.job import Job, Setting
from ...types.launch_plan import LaunchPlan
from .. import rule

# What of a Slurm request a PBS job would have to say, and with which settings.
_IN_PBS = {
    "nodes": ("select", "nodes"), "ntasks": ("select", "nodes"), "time": ("walltime",),
    "account": ("account", "project"),
    "partition": ("queue",), "qos": ("queue",), "gpus": ("select", "ngpus"), "gpus-per-node": ("select", "ngpus"),
    "gres": ("select", "ngpus"), "mem": ("select", "mem"), "cpus-per-task": ("select", "ncpus"), "array": ("array",),
}  # fmt: skip


@rule("MPL104", "directives of another scheduler")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """sbatch reads #PBS and #BSUB lines as well, and their values win; for qsub #SBATCH and #BSUB are comments.

    Wrong: #SBATCH --nodes=4 and #PBS -l nodes=2 in one script, for sbatch
    Right: #SBATCH --ignore-pbs, or no #PBS lines
    Wrong: #SBATCH --nodes=4 and no #PBS line, for qsub
    Right: #PBS -l select=4
    Wrong: #PBS lines alone and $PBS_NODEFILE, for sbatch
    Right: #SBATCH lines, and the nodes from $SLURM_JOB_NODELIST
    Why:   Slurm 22.05 gives the first job two nodes, in whichever order the lines stand. The second gets what a PBS
           job gets that asks for nothing: one CPU. In the third nothing sets the variable. Maple only reports it:
           the lines may be meant for another cluster. A script of another cluster is written for this one by: maple
           new --from
    """
    if is_pbs(job):
        yield from _comments(job)
        return
    yield from _of_pbs(job, plan)
    for setting in job.settings:
        prefix = _prefix(job, setting)
        if prefix in ("", "#SBATCH"):
            continue
        other = next((rival for rival in job.settings.all(setting.name) if _prefix(job, rival) == "#SBATCH"), None)
        if other is not None and other.value != setting.value:
            line, values = _line(job, setting), _shown(setting, other)
            says = "%s sets --%s=%s, which overrides the %s of #SBATCH" % (prefix, setting.name, *values)
            yield Finding(
                "MPL104", says, setting.origin.span or line, help="to have sbatch ignore such lines, add --ignore-pbs"
            )


def _comments(job: Job) -> Iterator[Finding]:
    """Speak once, at the first such line, where the request says nothing of its own in their place."""
    lines = [oddity for oddity in job.script.oddities if oddity.kind == "other-scheduler"]
    if not lines or job.script.directives:
        return
    meant = slurm.read_script(job.source).directives
    asked = dict.fromkeys(setting.name for line in meant if line.prefix != b"#PBS" for setting in line.settings)
    missing = [name for name in asked if name in _IN_PBS and not any(name in job.settings for name in _IN_PBS[name])]
    if missing:
        line = lines[0]
        kind = job.source[line.span.start : line.span.end].split()[0].decode("ascii", "replace")
        says = "%s lines are comments to qsub, so these are not set: %s"
        words = ", ".join("%s (%s)" % (name, option(job, _IN_PBS[name][0])) for name in missing)
        yield Finding("MPL104", says % (kind, words), line.span, help=_anew(job, "write the request in #PBS lines"))


def _of_pbs(job: Job, plan: LaunchPlan) -> Iterator[Finding]:
    """Speak once, at the first directive, where all are those of PBS and the script reads what only PBS sets."""
    name = unset_here(job, plan.assigned) if plan.steps and other_scheduler(job) else None
    if name is not None:
        says = "the script was written for PBS: Slurm does not set %s" % name.decode("ascii", "replace")
        yield Finding(
            "MPL104", says, job.script.directives[0].span, help=_anew(job, "use the variables of Slurm instead")
        )


def _anew(job: Job, otherwise: str) -> str:
    """Return what to do; a script that Maple can carry over has a command for it."""
    made = command(job.submission.path) if other_scheduler(job) else b""
    return "%s, or have it written: %s" % (otherwise, made.decode("utf-8", "replace")) if made else otherwise


def _prefix(job: Job, setting: Setting) -> str:
    """Return which kind of directive says it, "" for none."""
    if setting.origin.kind != "directive":
        return ""
    own = next((directive for directive in job.script.directives if setting in directive.settings), None)
    return own.prefix.decode() if own is not None else ""


def _line(job: Job, setting: Setting) -> Optional[Span]:
    return next((directive.span for directive in job.script.directives if setting in directive.settings), None)


def _shown(setting: Setting, other: Setting) -> Tuple[str, str]:
    return setting.value.decode("utf-8", "backslashreplace"), other.value.decode("utf-8", "backslashreplace")
