"""From a submission to what should be submitted: the one function that helper, daemon and `maple check` share."""

from __future__ import annotations

from typing import Dict, List, NamedTuple, Optional, Set, Tuple

from ..host.bounded_file import read_file
from ..plan.build import plan
from ..play.scene import MOST_COMMANDS
from ..play.tape.recording import Tape
from ..repair.effort import SPENT, Effort
from ..repair.search import Again, Repair, State, repair, submitted
from ..request.slurm import submission as slurm
from ..rules import diagnose
from ..site.facts import GENERIC_PBS, GENERIC_SLURM, Site
from ..site.modes import silenced
from ..types.edits import Safety, Span
from ..types.findings import Finding
from ..types.job import Job, Read, line_of
from ..types.launch_plan import LaunchPlan
from ..types.submission import Submission

MOST_READ = 512 * 1024  # bytes of script; no script that people write is longer, and reading one takes seconds


class Rewritten(NamedTuple):
    """A script and argv to submit in place of the user's. *script* None: unchanged; *argv* is always whole."""

    script: Optional[bytes]
    argv: Tuple[bytes, ...]
    says: Tuple[str, ...]  # one line for each change
    because: Tuple[Tuple[int, str], ...]  # (line of the script, rule code or template revision)


class Decision(NamedTuple):
    """*verdict*: "clean", "repaired", "findings" or "unread". *repaired*: what SAFE fixes give, where they cure all.

    *offered*: what the ASK fixes would give as well. *held_back*: (code, why) of fixes not used. *why*: what was not
    read, where the verdict is "unread".
    """

    verdict: str
    findings: Tuple[Finding, ...] = ()
    plan: Optional[LaunchPlan] = None
    repaired: Optional[Rewritten] = None
    offered: Optional[Rewritten] = None
    held_back: Tuple[Tuple[str, str], ...] = ()
    why: str = ""


TOO_LONG = Decision("unread", why="the script is longer than %d KiB" % (MOST_READ // 1024))


def decide(
    submission: Submission, site: Site, read: Optional[Read] = read_file, peruse: Optional[Read] = None
) -> Decision:
    """Return what is wrong with the submission and what would cure it.

    Files that the plan needs are read through *read* (the caller's own process), those that only advice comes from
    through *peruse*; None reads none. The mode (off,
    observe, warn, repair) is not looked at here: it says what is done with the decision.
    """
    here = at_home(submission, site)
    if here is None:
        return Decision("unread", why="there is no script of this scheduler to read")
    if submission.script is not None and len(submission.script) > MOST_READ:
        return TOO_LONG
    site = here
    job = understood(submission, read, peruse) if submission.script is not None else None
    if job is None:
        from . import advice

        findings = advice.hints(submission, lambda job: _played(job, site, _as_presumed(job, site)).findings)
        return Decision("findings" if findings else "unread", findings, why="" if findings else advice.why(submission))
    tape = Tape()
    state, sure = _weighed(job, site, tape)
    state = _presumed(state, job, site)
    if not state.proven() and not _harmless(state):
        why = _unread(state) if not state.findings else ""
        verdict = "findings" if state.findings else "unread" if why else "clean"
        return Decision(verdict, state.findings, state.plan, why=why)
    return _cured(state, sure, site, tape)


def at_home(submission: Submission, site: Site) -> Optional[Site]:
    """Return the site to hold the submission against, None where the command is not that of the site's scheduler."""
    if site.scheduler == submission.scheduler:
        return site
    if site.id not in (GENERIC_SLURM.id, GENERIC_PBS.id):
        return None
    return GENERIC_PBS if submission.scheduler == "pbs" else GENERIC_SLURM


def understood(submission: Submission, read: Optional[Read], peruse: Optional[Read] = None) -> Optional[Job]:
    """Return the submission as its command reads it, None where it is to be left alone."""
    job = (_by_qsub if submission.scheduler == "pbs" else _by_sbatch)(submission, read)
    return job._replace(peruse=peruse) if job is not None and peruse is not None else job


def _by_qsub(submission: Submission, read: Optional[Read]) -> Optional[Job]:
    """An interactive job never runs its script; `-- program` has none."""
    from ..request.pbs import submission as pbs

    argv = pbs.read_argv(submission.argv)
    if argv.problem or argv.interactive or argv.executable is not None or submission.script is None:
        return None
    environment = submission.environment
    prefix, shell = pbs.prefix_in_force(argv, environment), pbs.shell_in_force(argv, environment)
    script = pbs.read_script(submission.script, prefix, shell)
    settings = pbs.settings(argv, environment, script)
    if pbs.interactive(tuple(settings)):
        return None
    return Job(submission, script, settings, (), read)


def _by_sbatch(submission: Submission, read: Optional[Read]) -> Optional[Job]:
    """A job of several components is left alone, and one whose directives mean this or that by release."""
    argv = slurm.read_argv(submission.argv)
    if argv.het or argv.problem or submission.script is None:
        return None
    script = slurm.read_script(submission.script, slurm.ignores_pbs(argv, submission.environment))
    if script.het or script.disputed:
        return None
    settings = slurm.settings(argv, submission.environment, script)
    return Job(submission, script, settings, argv.args if submission.whole or argv.args else None, read)


def examined(job: Job, site: Site) -> State:
    """Return the job with its plan and findings; what the user has silenced is left out.

    Proven is only what does not rest on a fact that the site file is not sure of.
    """
    return _weighed(job, site, None)[0]


def advised(job: Job, site: Site) -> State:
    """Return the job with its plan and all that is said of it, what is likely among it."""
    return _presumed(examined(job, site), job, site)


def _weighed(job: Job, site: Site, tape: Optional[Tape]) -> Tuple[State, State]:
    """Return the state to tell of, and the one that repairs start from: what is known for sure, and proven.

    The play of the latter is on the *tape* then.
    """
    state = _played(job, site, None, tape)
    if not site.unsure or not state.proven():
        return state, state
    from ..repair.certainty import plays_alike, weighed

    sure = _certain(site)
    alike = plays_alike(job, site, sure)
    if tape is not None:
        tape.on(sure, alike)
    held = _played(job, sure, state.plan if alike else None, tape)
    state = state._replace(findings=weighed(state.findings, held.findings, site))
    return state, held._replace(findings=state.proven())


def _presumed(state: State, job: Job, site: Site) -> State:
    """Return the state with what is likely to be wrong, where what is unread leaves little to prove."""
    if not state.plan.presumable or state.plan.commands > MOST_COMMANDS:
        return state
    from .advice import presumed

    return presumed(state, lambda: _played(job, site, _as_presumed(job, site)))


def likely_plan(submission: Submission, site: Site, read: Optional[Read] = read_file) -> Optional[LaunchPlan]:
    """Return what most likely starts: what nobody has read is taken to change nothing. None: it is to be left alone."""
    job = understood(submission, read)
    return _as_presumed(job, site) if job is not None else None


def _as_presumed(job: Job, site: Site) -> LaunchPlan:
    return plan(job.submission, job.script, job.settings, site, job.arguments, job.read, True)


def explained(decision: Decision, submission: Submission, site: Site, read: Optional[Read] = read_file) -> Decision:
    """Return the decision with the names of the unsure facts that its advice rests on; it takes its time."""
    job = understood(submission, read)
    if job is None or not site.unsure:
        return decision
    from ..repair.certainty import named

    def proven(here: Site) -> Set[Tuple[str, Optional[Span]]]:
        return {(finding.code, finding.at) for finding in _played(job, here).proven()}

    return decision._replace(findings=tuple(named(finding, site, proven) for finding in decision.findings))


_OF_THE_TEXT = ("MPL104", "MPL105")  # what a text that the scheduler refuses as a whole is told of


def _played(job: Job, site: Site, made: Optional[LaunchPlan] = None, tape: Optional[Tape] = None) -> State:
    """Return the job played through, and what is found; *made*: its plan, where that is known."""
    if made is None:
        made = plan(job.submission, job.script, job.settings, site, job.arguments, job.read, False, tape)
    silence = silenced(job.source)
    findings = tuple(
        finding
        for finding in dict.fromkeys(diagnose(made, job, site))
        if not silence.covers(finding.code, line_of(job.source, finding.at.start) if finding.at else 0)
        and (not job.script.unreadable or finding.code in _OF_THE_TEXT)
    )
    return State(job, made, findings)


def _unread(state: State) -> str:
    """Return why nothing can be said of the script, "" when something can."""
    if not state.job.script.is_shell:
        return "not a shell script"
    if any(step.program or step.breaches for step in state.plan.steps) or not state.plan.unread:
        return ""
    line, why = state.plan.unread[0]
    return "line %d: %s" % (line, why)


def _cured(shown: State, state: State, site: Site, tape: Tape) -> Decision:
    """Only what is certain of the site may prove a repair, and what is likely may still speak against it."""
    known: Dict[Tuple[bytes, Tuple[bytes, ...]], Optional[State]] = {}  # asking tries again what SAFE fixes have tried
    sure, effort = _certain(site), Effort()

    def again(job: Job, source: bytes, argv: Tuple[bytes, ...]) -> Optional[State]:
        if (source, argv) not in known:
            known[source, argv] = _tried(job, source, argv, sure, effort, tape)
        return known[source, argv]

    first = _eased(shown, site, effort)
    base = again(first.state.job, *submitted(first.state)) if first is not None else state
    if base is None or (first is None and not state.proven()):
        return Decision("findings", shown.findings, shown.plan)
    safe = repair(base, (Safety.SAFE,), again).behind(first)
    more, unasked = (safe, True) if safe.whole else _with_offers(base, first, shown.findings, sure, again)
    safe = more if unasked else safe
    eased = _eased(safe.state, site, effort) if safe.whole else None  # what came to light behind the repair
    if eased is not None and eased.whole:
        safe, more = eased.behind(safe), eased.behind(safe) if more is safe else more
    held = [(shown.findings[0].code, SPENT)] * effort.refused + list(safe.held_back)
    likely = {finding.code for finding in shown.findings}
    repaired = _rewritten(state, safe, held, site, likely)
    offered = repaired if more is safe else _rewritten(state, more, held, site, likely)
    verdict = "repaired" if repaired is not None else "findings"
    return Decision(verdict, shown.findings, shown.plan, repaired, offered, tuple(dict.fromkeys(held)))


def _harmless(state: State) -> bool:
    """Return whether a change is proposed that no right script can feel."""
    return any(fix.harmless for finding in state.findings for fix in finding.fixes[:1])


def _tried(
    job: Job, source: bytes, argv: Tuple[bytes, ...], site: Site, effort: Effort, tape: Optional[Tape] = None
) -> Optional[State]:
    """Return the job with another script and other words, None where its command refuses it, or no effort is left."""
    if not effort.may_try():
        return None
    changed = understood(job.submission._replace(script=source, argv=argv), job.read, job.peruse)
    return effort.played(_played(changed, site, None, tape) if changed is not None else None)


def _eased(shown: State, site: Site, effort: Effort) -> Optional[Repair]:
    """Return what such changes lead to, None where there is none."""
    if not _harmless(shown):
        return None
    from ..repair.harmless import eased

    def again(job: Job, source: bytes, argv: Tuple[bytes, ...]) -> Optional[State]:
        return _tried(job, source, argv, site, effort)

    start = again(shown.job, *submitted(shown))
    return eased(start, again) if start is not None else None


def _with_offers(
    state: State, first: Optional[Repair], findings: Tuple[Finding, ...], site: Site, again: Again
) -> Tuple[Repair, bool]:
    """Return what all offers lead to, and whether that is sure enough to be made unasked."""
    from ..repair.offers import offered
    from ..repair.witness import sure, unasked

    offer = offered(state, findings, again)
    certain = sure(state, offer, site, again)
    return (unasked(offer.made) if certain else offer.made).behind(first), certain


def _rewritten(
    before: State, made: Repair, held: List[Tuple[str, str]], site: Site, likely: Set[str]
) -> Optional[Rewritten]:
    """Return the new script, if it passes every check. *likely*: rules that spoke before, whatever they rest on."""
    if not made.whole:
        return None
    first = made.taken[0][0]
    if site.unsure and not {finding.code for finding in _likely(made.state, site).proven()} <= likely:
        held.append((first, "an unconfirmed fact of the site file speaks against it"))
        return None
    source = made.state.job.source
    changed = source if source != before.job.source else None
    if changed is not None and not _parses(changed):
        held.append((first, "bash -n refuses the repaired script"))
        return None
    says = tuple("%s %s" % (code, fix.says) for code, fix in made.taken)
    return Rewritten(changed, made.state.job.submission.argv, says, made.because)


def _likely(state: State, site: Site) -> State:
    """Return a state that was played by what is certain, as it is by all that the site file says."""
    from ..repair.certainty import plays_alike

    return _played(state.job, site, state.plan if plays_alike(state.job, site, _certain(site)) else None)


def _certain(site: Site) -> Site:
    """Return the site as far as its file is sure of it; most submissions need no module for that."""
    if not site.unsure:
        return site
    from ..repair.certainty import certain

    return certain(site)


def _parses(source: bytes) -> bool:
    from ..bash.check import parses

    return parses(source)
