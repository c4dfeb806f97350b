"""What the front writes to a terminal: what was changed or found, how to see it, and how to switch it off."""

from __future__ import annotations

import re
from typing import List, NamedTuple, Sequence, Tuple

from ..types.findings import Finding
from ..types.job import line_of
from ..types.submission import Submission
from .decision import Decision
from .report import folded, in_order, place, printable, severity

MOST = 8  # findings; `maple check` tells them all
WIDTH = 78  # two less than the narrowest terminal: some set in what they show
PREFIX = "maple: "
_PLAIN = rb"[\w./:@%+,=-]+\Z"
_FOLDERS = rb"(?:[a-z0-9_.~-]{0,15}/)*\Z"
_LONG = (rb"--(?:nodes|ntasks(?:-per-(?:node|gpu))?|cpus-per-(?:task|gpu)|gpus(?:-per-(?:node|task))?|gres|time"
         rb"|mem(?:-per-(?:cpu|gpu))?|partition|qos|account|constraint|array|exclusive)")  # fmt: skip
_SHORT = rb"-[NncGtpqACal]"
_VALUE = rb"[\w:.,+*\[\]=-]{1,60}"
_RESOURCE = rb"(?:%s(?:=%s)?|%s(?:%s)?)\Z" % (_LONG, _VALUE, _SHORT, _VALUE)
_VALUE_APART = rb"(?!-)" + _VALUE + rb"\Z"
_OPEN = rb"(?:%s|%s)\Z" % (_LONG, _SHORT)


class Report(NamedTuple):
    """What there is to tell. *changed*: the job is submitted as repaired. *anew*: it would be better written
    anew. *asks*: the user is asked next whether to take a change.
    """

    submission: Submission
    decision: Decision
    findings: Sequence[Finding]
    mode: str
    changed: bool
    anew: bool
    asks: bool = False


def message(report: Report) -> bytes:
    """Return the lines about a submission; b"" where there is nothing that its user should read."""
    if report.mode == "observe":
        return _verbosely(report, "submitted as written: mode observe records and changes nothing")
    if report.changed and report.decision.repaired is not None:
        says = report.decision.repaired.says
        return line(report.submission, "changed before submitting (%s)" % "; ".join(says), *undo(report.submission))
    lines = _finding_lines(report)
    if not lines and not report.findings:
        return _verbosely(report, "submitted as written: " + _why_nothing(report.decision))
    return _lines(lines if report.asks else [*lines, _unchanged(report)])


def _verbosely(report: Report, says: str) -> bytes:
    verbose = b"verbose" in report.submission.environment.get(b"MAPLE", b"").split(b",")
    return line(report.submission, says) if verbose else b""


def _why_nothing(decision: Decision) -> str:
    if decision.verdict == "unread":
        return decision.why or "what would start could not be read"
    if decision.plan is not None and decision.plan.unread:
        return "nothing wrong found, as far as it could be read (line %d: %s)" % decision.plan.unread[0]
    return "Maple found nothing wrong and changed nothing"


def _finding_lines(report: Report) -> List[str]:
    """Return a line for each finding, errors first, and how to have a foreign script written for this site."""
    lines = []
    for finding in in_order(report.findings)[:MOST]:
        at = line_of(report.submission.script or b"", finding.at.start) if finding.at else 0
        where = _name(report.submission) + (":%d" % at if at else "")
        lines.append("%s: %s %s %s" % (where, severity(finding), finding.code, finding.says))
    if len(report.findings) > MOST:
        lines.append("%s: and %d more" % (_name(report.submission), len(report.findings) - MOST))
    if report.anew and report.submission.came == "file":
        from ..request.unread_directives import command

        words = command(_path(report.submission)).decode("utf-8", "backslashreplace")
        lines.append("help: to write it for this site: " + words)
    return lines


def _unchanged(report: Report) -> str:
    """Return the line that ends the findings: submitted as written, why, and where to read more."""
    why = (
        ", because the mode is %s" % report.mode
        if report.decision.repaired is not None and report.mode != "repair"
        else ""
    )
    see = checking(report.submission)
    return "submitted as written%s%s" % (why, ". Details: " + see if see else "")


def undo(submission: Submission) -> Tuple[str, ...]:
    """Return how to see what a change was, and how to submit without it."""
    see = checking(submission) or _submitted(submission)
    return "show the change: %s" % see, "submit unchanged: MAPLE=off %s" % _command(submission)


def checking(submission: Submission) -> str:
    """Return the `maple check` that says what is said of a submission; "" where its script lies in no file.

    Of the words only what asks for resources is said again: any other may hold a secret, and terminals are recorded.
    """
    if submission.came != "file" or submission.path not in submission.argv[1:]:
        return ""
    at = submission.argv.index(submission.path, 1)
    before, behind = submission.argv[1:at], submission.argv[at + 1 :]
    words = [b"maple", b"check", _path(submission)]
    words += [b"--", *(before if _asks_for_resources(before) else [b"..."])] if before or behind else []
    words += [b"--", b"..."] if behind else []
    return _typed(words)


def _asks_for_resources(words: Sequence[bytes]) -> bool:
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if not re.match(_RESOURCE, word):
            return False
        if rest and re.match(_OPEN, word) and re.match(_VALUE_APART, rest[0]):
            del rest[0]
    return True


def _submitted(submission: Submission) -> str:
    """Return what shows a script that came on stdin or by --wrap, once it is submitted."""
    if submission.scheduler != "pbs":
        return "scontrol write batch_script JOBID -"
    return "maple show last, or maple check - with the same script"  # the first needs the service


def _command(submission: Submission) -> str:
    command = submission.argv[0]
    name = _path(submission)
    return _typed([command, b"...", name] if name and len(submission.argv) > 2 else [command, name or b"..."])


def _path(submission: Submission) -> bytes:
    """Return the script's path as it can be typed; of folders whose names may be secrets only the dots."""
    folders, slash, name = submission.path.rpartition(b"/")
    return submission.path if re.match(_FOLDERS, folders + slash) else b".../" + name


def _typed(words: Sequence[bytes]) -> str:
    """Return words as one types them in a shell."""
    quoted = (word if re.match(_PLAIN, word) else b"'" + word.replace(b"'", b"'\\''") + b"'" for word in words)
    return printable(b" ".join(quoted))


def _name(submission: Submission) -> str:
    return place(submission.path.rpartition(b"/")[2] or submission.came.encode())


def line(submission: Submission, says: str, *more: str) -> bytes:
    """Return a sentence about a submission as it is written to a terminal, and further lines below it."""
    return _lines(["%s: %s" % (_name(submission), says), *more])


def of_jobs(says: str) -> bytes:
    """Return a sentence about a user's jobs as it is written to a terminal."""
    return _lines([says])


def _lines(lines: Sequence[str]) -> bytes:
    """Return lines that are folded at the width of the narrowest terminal; commands stay whole."""
    whole = [part for line in lines for part in _folded(printable(line))]
    return "".join(PREFIX + part + "\n" for part in whole).encode("utf-8", "replace")


def _folded(line: str) -> Sequence[str]:
    is_command = line.startswith(("show the change: ", "submit unchanged: ", "help: "))
    return [line] if is_command else folded(line, WIDTH - len(PREFIX))
