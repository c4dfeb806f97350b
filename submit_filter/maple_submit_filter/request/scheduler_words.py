"""The scheduler's own words for things, for sentences: its command, what begins its directives, its options."""

from __future__ import annotations

from ..types.job import Job

PBS = "pbs"
_ATTRIBUTES = ("block", "depend", "group_list", "interactive", "run_count", "sandbox", "stagein", "stageout", "umask")


def is_pbs(job: Job) -> bool:
    """Return whether the job goes to PBS, else it goes to Slurm."""
    return job.submission.scheduler == PBS


def command(job: Job) -> str:
    """Return the command that submits it: "sbatch" or "qsub"."""
    return "qsub" if is_pbs(job) else "sbatch"


def prefix(job: Job) -> str:
    """Return what begins its directives: "#SBATCH"; "#PBS", or what -C or PBS_DPREFIX say in place of it."""
    if not is_pbs(job):
        return "#SBATCH"
    own = next((directive.prefix for directive in job.script.directives), b"#PBS")
    return own.decode("utf-8", "surrogateescape")


def option(job: Job, name: str, value: str = "") -> str:
    """Return how one writes a setting: "--time", "-l walltime", "-A"; with a *value* "--time=1", "-A 1" and so on.

    A setting that was said with `-W` is written so; of others that have no letter PBS' own attributes are.
    """
    if not is_pbs(job):
        return "--%s=%s" % (name, value) if value else "--" + name
    letter = _letter(name)
    if letter:
        return "-%s %s" % (letter, value) if value else "-" + letter
    setting = job.settings.get(name)
    list_of = setting.origin.spelling.decode("ascii", "replace") if setting is not None else ""
    if list_of not in ("-l", "-W"):
        list_of = "-W" if name in _ATTRIBUTES else "-l"
    return "%s %s=%s" % (list_of, name, value) if value else "%s %s" % (list_of, name)


def _letter(name: str) -> str:
    from .pbs.options import QSUB

    return next((letter.decode() for letter, option in QSUB.short.items() if option.name == name), "")
