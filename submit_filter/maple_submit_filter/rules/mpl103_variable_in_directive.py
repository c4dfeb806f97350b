"""Variables where nobody expands them."""

from __future__ import annotations

from typing import Iterator, Optional

from ..edits import Span
from ..findings import Finding
from ..job import Job
from ..launch import LaunchPlan
from ..script import Oddity
from ..settings import Setting
from ..site import Site
from . import rule

# What sbatch 22.05.8 refuses when it is no number, time or amount; asked of the program.
_REFUSED = {
    "nodes": "nodes", "ntasks": "", "ntasks-per-node": "ranks_per_node", "cpus-per-task": "", "time": "walltime",
    "mem": "", "gpus-per-node": "gpus_per_node",
}  # fmt: skip


@rule("MPL103", "a variable in a directive is not expanded")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """Directives are comments to the shell, and sbatch expands no variable in them.

    Wrong: #SBATCH --nodes=$NODES
    Right: #SBATCH --nodes=4, or sbatch --nodes=$NODES job.sh
    Why:   sbatch says: "$NODES" is not a valid node count. A path or a name with a variable is taken letter for letter:
           an output folder called $HOME is not there, and the job fails without a word.
    """
    for oddity in job.script.oddities:
        if oddity.kind == "variable":
            setting = _at(job, oddity.span)
            if setting is not None:
                yield _finding(oddity, setting)


def _at(job: Job, span: Span) -> Optional[Setting]:
    """Return the setting that stands there, if it is in force."""
    for setting in job.settings:
        if setting.origin.kind == "directive" and span in (setting.origin.value_span, setting.origin.span):
            return setting
    return None


def _finding(oddity: Oddity, setting: Setting) -> Finding:
    if setting.name in _REFUSED:
        says = "%s, and sbatch refuses a job with such a --%s" % (oddity.says, setting.name)
        slot = _REFUSED[setting.name]
        return Finding("MPL103", says, oddity.span, True, slot, help="write the value, or say it on the command line")
    return Finding("MPL103", oddity.says, oddity.span, help="write the value, or say it on the command line")
