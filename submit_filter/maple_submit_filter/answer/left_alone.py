"""Why a submission is left alone before its script is played through, in one sentence."""

from __future__ import annotations

from ..request.slurm import submission as slurm
from ..types.submission import Submission


def why(submission: Submission) -> str:
    """Return why nothing is said of a submission that `understood` does not take."""
    return _by_qsub(submission) if submission.scheduler == "pbs" else _by_sbatch(submission)


def _by_sbatch(submission: Submission) -> str:
    argv = slurm.read_argv(submission.argv)
    if argv.problem:
        return "sbatch refuses the command line: %s" % argv.problem
    script = slurm.read_script(submission.script or b"", slurm.ignores_pbs(argv, submission.environment))
    if argv.het or script.het:
        return "a heterogeneous job, which Maple does not check"
    if script.disputed:
        return "releases of sbatch read the directive in line %d in different ways" % script.disputed
    return "there is no script of this scheduler to read"


def _by_qsub(submission: Submission) -> str:
    from ..request.pbs import submission as pbs

    argv = pbs.read_argv(submission.argv)
    if argv.problem:
        return "qsub refuses the command line: %s" % argv.problem
    if argv.executable is not None:
        return "qsub is given a program in place of a script"
    return "an interactive job, which does not run its script"
