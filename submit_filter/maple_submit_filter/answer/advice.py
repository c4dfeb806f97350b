"""What is said of submissions that are not read as a whole: refused words, a heterogeneous job, an interactive one; and
what would be wrong if no program that nobody has read changed anything.
"""

from __future__ import annotations

from typing import Callable, Dict, List, Tuple

from ..repair.search import State
from ..request.slurm import submission as slurm
from ..request.slurm import values
from ..rules.script.mpl117_words_refused import refused
from ..types.edits import Safety
from ..types.findings import Finding, sentence
from ..types.job import Job
from ..types.launch_plan import LaunchPlan, Step
from ..types.submission import Submission
from ..types.text import token

_GROUP = b"%s_HET_GROUP_%d"
_FIRST = "without that a step starts on the first one alone"


def hints(submission: Submission, play: Callable[[Job], Tuple[Finding, ...]]) -> Tuple[Finding, ...]:
    """Return what can be said all the same, none of it proven. *play*: what is found in a job."""
    words = refused(submission)
    if words is not None:
        return (words,)
    argv = slurm.read_argv(submission.argv) if submission.scheduler == "slurm" else None
    if argv is None or argv.het or submission.script is None or argv.problem:
        return ()
    script = slurm.read_script(submission.script, slurm.ignores_pbs(argv, submission.environment))
    if not script.het or script.refused or script.disputed:
        return ()
    seen = submission._replace(environment={**submission.environment, **_of_groups(submission.script)})
    job = Job(seen, script, slurm.settings(argv, submission.environment, script), ())
    return tuple(_first_s(finding) for finding in play(job) if finding.proven and finding.code[:4] in _WORLDS)


_WORLDS = ("MPL3", "MPL4", "MPL5")  # of what starts; a request is judged by all of its components


def _first_s(finding: Finding) -> Finding:
    """Return what holds if the batch script starts on its own component alone, as srun does unless it is told more."""
    return finding._replace(proven=False, fixes=(), help="name all components, as in --het-group=0,1: " + _FIRST)


def _of_groups(script: bytes) -> Dict[bytes, bytes]:
    """Return the variables that the batch script has of each component."""
    out: Dict[bytes, bytes] = {}
    for index, settings in enumerate(slurm.components(script)):
        nodes, tasks = values.nodes(settings.value("nodes") or b"1"), settings.value("ntasks")
        if nodes is not None and nodes[0] == nodes[1]:
            for name in (b"SLURM_JOB_NUM_NODES", b"SLURM_NNODES"):
                out[_GROUP % (name, index)] = b"%d" % nodes[0]
        if tasks is not None and tasks.isdigit():
            out[_GROUP % (b"SLURM_NTASKS", index)] = tasks
        for name in (b"SLURM_JOB_NODELIST", b"SLURM_NODELIST") if index == 0 else ():
            out[_GROUP % (name, index)] = token(b"nodelist")
    return out


def why(submission: Submission) -> str:
    """Return why nothing is said of a submission that is left alone."""
    return _left_by_qsub(submission) if submission.scheduler == "pbs" else _left_by_sbatch(submission)


def _left_by_sbatch(submission: Submission) -> str:
    argv = slurm.read_argv(submission.argv)
    if argv.problem:
        return "sbatch refuses the command line: %s" % argv.problem
    script = slurm.read_script(submission.script or b"", slurm.ignores_pbs(argv, submission.environment))
    if argv.het or script.het:
        return "a heterogeneous job, of which Maple checks what the first component starts"
    if script.disputed:
        return "releases of sbatch read the directive in line %d in different ways" % script.disputed
    return "there is no script of this scheduler to read"


def _left_by_qsub(submission: Submission) -> str:
    from ..request.pbs import submission as pbs

    argv = pbs.read_argv(submission.argv)
    if argv.problem:
        return "qsub refuses the command line: %s" % argv.problem
    if argv.executable is None and not argv.interactive and submission.script is None:
        return "there is no script of this scheduler to read"
    if argv.executable is not None:
        return "qsub is given a program in place of a script"
    return "an interactive job, which does not run its script"


Play = Callable[[], State]
_LAUNCH = "MPL3"
_OF_FILES = "MPL6"  # the condition of a line may ask for the very file


def presumed(state: State, play: Play) -> State:
    """Return the state with the findings that hold where what is unread changes nothing; *play* plays it so.

    Of rules that have spoken nothing is added: one word of a kind is enough.
    """
    if not state.plan.presumable:
        return state
    other = play()
    spoken = {finding.code for finding in state.findings}
    more = tuple(
        _unproven(finding, _why(finding, state, other.plan))
        for finding in other.findings
        if finding.code not in spoken and not (finding.code.startswith(_OF_FILES) and _doubted(finding, state))
    )
    files = tuple(dict.fromkeys((*state.plan.depends, *other.plan.depends)))
    return state._replace(plan=state.plan._replace(depends=files), findings=state.findings + more)


def _doubted(finding: Finding, state: State) -> List[Step]:
    """Return the steps that may not run among those that a finding is about."""
    at = finding.at
    return [step for step in state.plan.steps if step.maybe and at and step.span.start <= at.start <= step.span.end]


def _why(finding: Finding, state: State, plan: LaunchPlan) -> str:
    """Return what it is that is not known: whether the line runs, or what nobody has read."""
    doubted = _doubted(finding, state)
    if doubted:
        return "line %d may not run" % doubted[0].line
    line, why = next(iter(plan.unread), (0, ""))
    if not line and not why and any(step.maybe for step in state.plan.steps):
        return "line %d may not run" % next(step.line for step in state.plan.steps if step.maybe)
    return "line %d, %s" % (line, why) if line else why or "what is loaded and sourced here is not known"


def _unproven(finding: Finding, why: str) -> Finding:
    parts = ([finding.help] if finding.help else []) + [sentence("likely, not certain: " + why)]
    fixes = tuple(fix._replace(safety=Safety.ASK) for fix in finding.fixes)
    return finding._replace(proven=False, fixes=fixes, help=". ".join(parts))
