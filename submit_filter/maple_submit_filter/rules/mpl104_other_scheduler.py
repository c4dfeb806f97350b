"""Lines of another scheduler that sbatch reads all the same."""

from __future__ import annotations

from typing import Iterator, Optional, Tuple

from ..edits import Span
from ..findings import Finding
from ..job import Job
from ..launch import LaunchPlan
from ..settings import Setting
from ..site import Site
from . import rule


@rule("MPL104", "another scheduler's directive wins over #SBATCH")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """sbatch reads #PBS and #BSUB lines as well, and what they say wins, in whichever order they stand.

    Wrong: #SBATCH --nodes=4 and #PBS -l nodes=2 in one script
    Right: #SBATCH --ignore-pbs, or no #PBS lines
    Why:   Slurm 22.05 gives that job two nodes. It is only said: the lines may be meant for another cluster.
    """
    for setting in job.settings:
        prefix = _prefix(job, setting)
        if prefix in ("", "#SBATCH"):
            continue
        other = next((one for one in job.settings.all(setting.name) if _prefix(job, one) == "#SBATCH"), None)
        if other is not None and other.value != setting.value:
            line, values = _line(job, setting), _shown(setting, other)
            says = "%s says --%s=%s and wins over #SBATCH, which says %s" % (prefix, setting.name, *values)
            yield Finding(
                "MPL104", says, setting.origin.span or line, help="--ignore-pbs has sbatch leave such lines alone"
            )


def _prefix(job: Job, setting: Setting) -> str:
    """Return which kind of directive says it, "" for none."""
    if setting.origin.kind != "directive":
        return ""
    found = next((one for one in job.script.directives if setting in one.settings), None)
    return found.prefix.decode() if found is not None else ""


def _line(job: Job, setting: Setting) -> Optional[Span]:
    return next((one.span for one in job.script.directives if setting in one.settings), None)


def _shown(one: Setting, other: Setting) -> Tuple[str, str]:
    return one.value.decode("utf-8", "backslashreplace"), other.value.decode("utf-8", "backslashreplace")
