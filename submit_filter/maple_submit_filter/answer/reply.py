"""From a request to a reply: the one function that the helper and the daemon share."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterable, List, Optional, Sequence, Tuple

from ..host.frames import MAX_SCRIPT, Change, Reply, Request
from ..request.slurm.submission import wrapped
from ..site.facts import Site
from ..site.modes import Policy, for_rules, in_force, mistyped, silenced
from ..types.findings import Finding
from ..types.job import line_of
from ..types.submission import Submission
from .decision import Decision, Rewritten, decide, understood

if TYPE_CHECKING:
    from typing import TypeVar

    from .earlier import Earlier
    from .packing import Watched

    Result = TypeVar("Result")


class Once:
    """What follows from a decision and the submission that it is about, in whichever mode: worked out once.

    One is held for one decision about one submission, and used for no other.
    """

    def __init__(self) -> None:
        self._known: Dict[str, Any] = {}

    def __call__(self, what: str, work: Callable[[], Result]) -> Result:
        """Return what *work* returned the first time that *what* was wanted."""
        if what not in self._known:
            self._known[what] = work()
        result: Result = self._known[what]
        return result


def answer(request: Request, site: Site, policy: Policy, gids: Iterable[int]) -> Reply:
    """Return what the front should do. *gids* are the groups of the caller. May raise: then the front does nothing."""
    mode = mode_of(request, policy, gids)
    if mode == "off" or request.submission.script is None:
        return unasked(request)
    watched: List[Watched] = []

    def read(path: bytes) -> Optional[bytes]:
        from ..host import bounded_file  # few scripts have a file to read
        from . import packing

        watched[:] = watched or [packing.Watched(bounded_file.read_file)]
        return watched[0](path)

    decision = decide(whole(request.submission), site, read)
    reply = answered(request, site, policy, mode, decision, _earlier(request))
    return _teaching(reply, decision, watched[0]) if watched else reply


def unasked(request: Request) -> Reply:
    """Return the reply to a submission that is left alone; who mistyped "off" reads which words there are."""
    word = mistyped(request.submission.environment.get(b"MAPLE", b""))
    if not word or not request.terminal or request.submission.script is None:
        return Reply(request.nonce, request.hash)
    from .terminal import line

    says = "submitted as written: MAPLE=%s was taken for off (known: off, observe, warn, repair, verbose)" % word
    return Reply(request.nonce, request.hash, say=line(request.submission, says))


def _earlier(request: Request) -> Optional[Earlier]:
    """Return what the daemon knows of earlier jobs, where it has said so and left the decision to us."""
    if not request.earlier:
        return None
    from .earlier import unpack

    return unpack(request.earlier)


def _teaching(reply: Reply, decision: Decision, watched: Watched) -> Reply:
    """Return the reply with what the daemon may remember, which opens no file of a user's itself."""
    from .packing import pack

    return reply._replace(learnt=pack(decision, watched.files))


def mode_of(request: Request, policy: Policy, gids: Iterable[int]) -> str:
    """Return the mode in force for this request of a caller in these groups."""
    named = partitions(whole(request.submission), policy)
    return in_force(policy, named, gids, request.submission.environment.get(b"MAPLE", b""))


def answered(
    request: Request, site: Site, policy: Policy, mode: str, decision: Decision,
    earlier: Optional[Earlier] = None, once: Optional[Once] = None,
) -> Reply:  # fmt: skip
    """Return the reply that a decision about this very submission comes to; the decision may be an earlier one.

    *earlier*: what jobs of this lineage that had the same change came to. What one failed with at once is neither made
    nor offered; what the user said yes to, and a job ran with, is made without asking again. *once*: what was worked
    out the last time that this submission was answered by this decision.
    """
    submission, once = whole(request.submission), once or Once()
    reply = Reply(request.nonce, request.hash)
    findings = once("findings", lambda: heard(decision, submission.script or b""))
    repaired = once("repaired", lambda: usable(submission, decision.repaired))
    more = decision.offered if decision.offered != decision.repaired else None  # what is done unasked is no question
    anew = once("anew", lambda: _is_to_be_written_anew(submission, findings, decision))
    may_offer = (request.may_ask or earlier) and not anew
    offered = once("offered", lambda: usable(submission, more)) if may_offer else None
    codes = _codes(decision.repaired) if decision.repaired else _codes_of(findings)
    made = repaired or offered
    if made and earlier and for_rules(policy, mode, _codes(made)) == "repair":
        change = once("change", lambda: _change_id(submission, decision))
        failed = earlier.job_that_failed(change)
        if failed:
            lines = _taken_back(submission, made, failed) if request.terminal else b""
            return reply._replace(say=lines, audit=_audit(request, site, "taken-back", mode, _codes(made)))
        ran = earlier.job_that_ran(change, decision) if made is offered else ""
        if ran:
            lines = _as_in(submission, made, ran) if request.terminal else b""
            return reply._replace(say=lines, change=_change(request, site, submission, made, "known-good", mode, once))
    makes = bool(repaired) and for_rules(policy, mode, codes) == "repair"
    if request.terminal:
        from .terminal import Report, message

        asks = request.may_ask and bool(offered) and for_rules(policy, mode, _codes(offered)) == "repair"
        verbose = b"verbose" in submission.environment.get(b"MAPLE", b"").split(b",")
        says = once(
            "says %s %d%d%d" % (mode, makes, asks, verbose),
            lambda: message(Report(submission, decision, findings, mode, makes, anew, asks)),
        )
        reply = reply._replace(say=says)
    if repaired and makes:
        reply = reply._replace(change=_change(request, site, submission, repaired, "repaired", mode, once))
    elif decision.repaired:
        held = "rule-mode" if mode == "repair" and repaired else "would-repair"
        change = once("hash held", lambda: _change_hash(request, decision.repaired))
        reply = reply._replace(audit=_audit(request, site, held, mode, codes, change))
    elif findings:
        reply = reply._replace(audit=_audit(request, site, "findings", mode, codes))
    elif decision.verdict == "unread":
        reply = reply._replace(audit=_audit(request, site, "unread", mode, ()))
    if offered and request.may_ask and for_rules(policy, mode, _codes(offered)) == "repair":
        offer = _change(request, site, submission, offered, "accepted", mode, once)
        reply = reply._replace(offer=offer, question=question(submission, offered))
    return reply


def whole(submission: Submission) -> Submission:
    """Return the submission with the script as the job runs it: a `--wrap` command gets the head that sbatch adds."""
    if submission.came != "wrap" or submission.script is None:
        return submission
    return submission._replace(script=wrapped(submission.script))


def unwrapped(script: bytes) -> Optional[bytes]:
    """Return the `--wrap` command that sbatch would make *script* of, None if there is none."""
    head, _, end = wrapped(b"\0").partition(b"\0")
    if not script.startswith(head) or not script.endswith(end):
        return None
    return script[len(head) : len(script) - len(end)]


def partitions(submission: Submission, policy: Policy) -> Tuple[str, ...]:
    """Return every partition or queue that is named anywhere, in force or not, if the policy speaks of any."""
    if not policy.partitions:
        return ()
    if submission.scheduler == "pbs":
        return _queues(submission)
    words = list(submission.argv)
    for line in (submission.script or b"").split(b"\n"):
        words += line.split() if line.startswith(b"#SBATCH") else []
    named = [submission.environment.get(b"SBATCH_PARTITION", b"")]
    for word, following in zip(words, [*words[1:], b""]):
        if word in (b"-p", b"--partition"):
            named.append(following)
        elif word.startswith(b"--part") and b"=" in word:
            named.append(word.partition(b"=")[2])
        elif word.startswith(b"-p"):
            named.append(word[2:])
    return tuple(part.strip(b"\"'").decode("utf-8", "replace") for names in named for part in names.split(b",") if part)


def _queues(submission: Submission) -> Tuple[str, ...]:
    """Return every queue that command line or directives name; a server behind `@` is left out."""
    from ..request.pbs import submission as pbs

    words, around = pbs.read_argv(submission.argv), submission.environment
    script = pbs.read_script(submission.script or b"", pbs.prefix_in_force(words, around))
    named = pbs.settings(words, around, script).all("queue")
    return tuple(setting.value.partition(b"@")[0].decode("utf-8", "replace") for setting in named)


def heard(decision: Decision, script: bytes) -> Tuple[Finding, ...]:
    """Return the findings that the user has not silenced."""
    silence = silenced(script)
    return tuple(
        finding
        for finding in decision.findings
        if not silence.covers(finding.code, line_of(script, finding.at.start) if finding.at else 0)
    )


def handed_over(submission: Submission, decision: Decision) -> Decision:
    """Return the decision as submitting follows it: without the changes that would not be handed over."""
    repaired, offered = usable(submission, decision.repaired), usable(submission, decision.offered)
    if repaired == decision.repaired and offered == decision.offered:
        return decision
    held = tuple((code, _NOT_HANDED_OVER) for code in _codes(decision.repaired or decision.offered))
    verdict = "findings" if decision.repaired and not repaired else decision.verdict
    return decision._replace(
        verdict=verdict, repaired=repaired, offered=offered, held_back=(*held, *decision.held_back)
    )


_NOT_HANDED_OVER = "the job asks for the path or text that it was submitted with, which a repaired copy would change"


def usable(submission: Submission, rewritten: Optional[Rewritten]) -> Optional[Rewritten]:
    """Return the change if it can be handed over: in bounds, not silenced, no `Command=` that the job asks for."""
    script = submission.script or b""
    if rewritten is None or (rewritten.script is None and rewritten.argv == submission.argv):
        return None
    silence = silenced(script)
    if any(silence.covers(code, line) for line, code in rewritten.because):
        return None
    if rewritten.script is None:
        return rewritten
    if len(rewritten.script) > MAX_SCRIPT - 1024 or b"\0" in rewritten.script:
        return None
    if submission.came == "wrap" and unwrapped(rewritten.script) is None:
        return None
    if submission.came == "file" and _asks_for_its_path(script):
        return None
    return rewritten


def _asks_for_its_path(script: bytes) -> bool:
    """A copy changes what the job sees as its Command (Slurm) or its Submit_arguments (PBS)."""
    asks = b"Command" in script and b"scontrol" in _OF_NO_JOB.sub(b"", script)
    return asks or b"Submit_arguments" in script


# What scontrol says of other things than jobs holds no Command= (scontrol(1), 25.05).
_OF_NO_JOB = re.compile(
    rb"scontrol[ \t]+(?:-\w+[ \t]+)*show[ \t]+(?:hostnames?|hostlist(?:sorted)?|nodes?|partitions?)\b"
)


def _codes(rewritten: Optional[Rewritten]) -> Tuple[str, ...]:
    return tuple(dict.fromkeys(because for _, because in rewritten.because)) if rewritten else ()


def _codes_of(findings: Iterable[Finding]) -> Tuple[str, ...]:
    return tuple(dict.fromkeys(finding.code for finding in findings))


def _change_hash(request: Request, rewritten: Optional[Rewritten]) -> str:
    """Return the hash of old and new together, as audit lines have it."""
    from .audit_line import sha256

    if rewritten is None:
        return ""
    return sha256(request.hash + (rewritten.script or b"") + b"\0" + b"\0".join(rewritten.argv))[:16]


def _change(
    request: Request, site: Site, submission: Submission, made: Rewritten, verdict: str, mode: str, once: Once
) -> Change:
    from .trailer import beside, closed, may_close

    script, argv = made.script, list(made.argv)
    codes = _codes(made)
    if script is not None and once("may close " + verdict, lambda: may_close(made.script or b"")):
        script = closed(script, codes, record_id(request), request.hash.hex(), *_spoken_to(submission))
    if script is not None and submission.came == "wrap":
        argv = _rewrap(request, argv, beside(unwrapped(script) or b""))
        script = None
    same = tuple(argv) == submission.argv
    audit = _audit(request, site, verdict, mode, codes, once("hash " + verdict, lambda: _change_hash(request, made)))
    return Change(script, None if same else tuple(argv), audit)


def _spoken_to(submission: Submission) -> Tuple[str, bytes]:
    """Return the command that submits, and what begins its directives where the caller may choose that."""
    if submission.scheduler != "pbs":
        return "sbatch", b""
    from ..request.pbs import submission as pbs

    return "qsub", pbs.prefix_in_force(pbs.read_argv(submission.argv), submission.environment)


def _rewrap(request: Request, argv: List[bytes], command: bytes) -> List[bytes]:
    """Return argv with the new `--wrap` command. Repairs of argv keep its words before that one where they are."""
    old = request.submission.argv[request.word]
    places = [index for index, word in enumerate(argv) if word == old]
    if len(places) != 1:
        raise ValueError("cannot tell which word is the --wrap command")
    argv[places[0]] = old[: request.offset] + command
    return argv


def record_id(request: Request) -> str:
    """Return the id under which this submission is remembered."""
    return request.nonce[:8].hex()


def _audit(request: Request, site: Site, verdict: str, mode: str, codes: Sequence[str], change: str = "") -> bytes:
    from .audit_line import AuditLine, audit_line, host, now

    uid, came = request.submission.uid, request.submission.came
    job = request.hash.hex()
    line = AuditLine(
        now(),
        host(),
        uid,
        record_id(request),
        job,
        verdict,
        mode,
        tuple(codes)[:32],
        site.id,
        site.revision,
        came,
        change,
    )
    return audit_line(line)


def _change_id(submission: Submission, decision: Decision) -> str:
    from .earlier import change_of, proposed

    made = proposed(decision)
    return change_of(submission, made) if made is not None else ""


def _taken_back(submission: Submission, made: Rewritten, job: str) -> bytes:
    """Return the line that says what is not done, and why."""
    from .terminal import line

    codes = ", ".join(_codes(made))
    return line(submission, "submitted as written: job %s failed at once with the change for %s. Why: maple-fix %s" % (
        job, codes, job))  # fmt: skip


def _as_in(submission: Submission, made: Rewritten, job: str) -> bytes:
    """Return the line that says what is done unasked, and why."""
    from .terminal import line, undo

    return line(submission, "changed as in job %s, which ran: %s" % (job, "; ".join(made.says)), *undo(submission))


def _is_to_be_written_anew(submission: Submission, findings: Sequence[Finding], decision: Decision) -> bool:
    """A script of another scheduler: what asks first would mend the launch line for a job that nobody meant."""
    if not findings:
        return False
    from ..request.unread_directives import is_beyond_edits

    job = understood(submission, None)
    return job is not None and is_beyond_edits(job, findings, decision.repaired is not None)


def question(submission: Submission, offered: Rewritten) -> bytes:
    """Return what the user is shown before the prompt: why, and the lines that would change."""
    from .report import printable

    out = ["maple: " + printable(says) for says in offered.says]
    was = submission.script or b""
    old, new = was.split(b"\n"), (was if offered.script is None else offered.script).split(b"\n")
    if offered.argv != submission.argv:
        old, new = [b" ".join(submission.argv), *old], [b" ".join(offered.argv), *new]
    out += changed_lines(old, new)
    return ("\n".join(out[:60]) + "\n").encode("utf-8", "replace")


def changed_lines(old: Sequence[bytes], new: Sequence[bytes]) -> List[str]:
    """Return the lines that differ, `-` before the old and `+` before the new ones."""
    if len(old) == len(new):
        pairs = [(a, b) for a, b in zip(old, new) if a != b]
        return [text for a, b in pairs for text in ("maple:   - " + _shown(a), "maple:   + " + _shown(b))]
    start = next((i for i, (a, b) in enumerate(zip(old, new)) if a != b), min(len(old), len(new)))
    tails = zip(reversed(old[start:]), reversed(new[start:]))
    end = next((i for i, (a, b) in enumerate(tails) if a != b), min(len(old), len(new)) - start)
    gone, come = old[start : len(old) - end], new[start : len(new) - end]
    return ["maple:   - " + _shown(line) for line in gone] + ["maple:   + " + _shown(line) for line in come]


def _shown(line: bytes) -> str:
    from .report import printable

    return printable(line[:200])
