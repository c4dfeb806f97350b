"""Words of the command line that sbatch or qsub does not take."""

from __future__ import annotations

from typing import Iterator, Optional

from ...request.slurm import submission as slurm
from ...site.facts import Site
from ...types.edits import ArgvEdit, Fix, Safety
from ...types.findings import Finding
from ...types.job import Job
from ...types.launch_plan import LaunchPlan
from ...types.submission import Submission
from .. import rule


@rule("MPL117", "words of the command line that are refused")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """sbatch and qsub end at words that they do not take, and no job is made.

    Wrong: qsub train.pbs -l walltime=48:00:00 (options stand before the script, and it takes no arguments)
    Wrong: sbatch --wrap "python train.py" config.yaml
    Right: qsub -l walltime=48:00:00 train.pbs
    Why:   qsub prints its usage and exits with 2. `maple check` shows the words in their order; at submission Maple
           only reports it: the real command says the same at once. An option that a plug-in of the site may bring is
           not spoken of.
    """
    finding = refused(job.submission)
    if finding is not None:
        yield finding


def refused(submission: Submission) -> Optional[Finding]:
    """Return what is said of words that the command refuses, None where it takes them."""
    if submission.scheduler == "pbs":
        from ...request.pbs import submission as pbs

        problem = pbs.read_argv(submission.argv).problem
    else:
        problem = slurm.read_argv(submission.argv).problem
        problem = "" if problem.startswith(slurm.UNKNOWN_OPTION) else problem
    name = "qsub" if submission.scheduler == "pbs" else "sbatch"
    help_ = "options stand before the script" + (
        ", and it takes no arguments: qsub -v NAME=VALUE" if name == "qsub" else ""
    )
    if not problem:
        return None
    fix = _before_the_script(submission) if name == "qsub" else None
    return Finding("MPL117", "%s refuses the command line: %s" % (name, problem), help=help_,
                   fixes=(fix,) if fix is not None else ())  # fmt: skip


def _before_the_script(submission: Submission) -> Optional[Fix]:
    """Say options of qsub that stand behind the script in front of it, where the command takes the words then."""
    from ...request.pbs import submission as pbs

    argv = submission.argv
    at = argv.index(submission.path) if submission.path and argv.count(submission.path) == 1 else 0
    behind = argv[at + 1 :]
    if not at or not behind or behind[0][:1] != b"-":
        return None
    if pbs.read_argv((*argv[:at], *behind, argv[at])).problem:
        return None
    edits = (ArgvEdit(at, (*behind, argv[at]), "MPL117"),
             *(ArgvEdit(index, (), "MPL117") for index in range(at + 1, len(argv))))  # fmt: skip
    shown = b" ".join(behind).decode("utf-8", "replace")
    return Fix((), Safety.ASK, "say %s before the script" % shown, edits)
