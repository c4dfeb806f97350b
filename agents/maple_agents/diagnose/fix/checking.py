"""A typed fix is believed when the script that it gives passes the checks of a submission, and once is enough."""

from __future__ import annotations

import os
import re

from maple_submit_filter.answer.decision import Decision, decide, understood
from maple_submit_filter.bash.check import parses
from maple_submit_filter.host.bounded_file import read_file
from maple_submit_filter.site.facts import Site
from maple_submit_filter.types.edits import Conflict, Fix, apply, apply_argv
from maple_submit_filter.types.job import Read
from maple_submit_filter.types.submission import Submission

from ..scheduler_words import foreign

# A payload at the end of a script is cut out by its first line's number.
_COUNTS = re.compile(rb"\b(?:tail|sed|awk|head|perl|python\d?)\b[^\n]*(?:\$0|\$\{0\}|BASH_SOURCE)")


def reader(asked: Submission) -> Read | None:
    """Return what reads files that the script names: for one's own jobs alone, as root may read what others may not."""
    return read_file if asked.uid == os.getuid() else None


def changed(asked: Submission, made: Fix) -> Submission | None:
    """Return the submission with a fix made, None where its edits do not fit each other, or change nothing."""
    try:
        script = apply(asked.script or b"", made.edits)
        argv = apply_argv(asked.argv, made.argv_edits)
    except (Conflict, IndexError):
        return None
    if script == asked.script and argv == asked.argv:
        return None
    return asked._replace(script=script, argv=argv)


def objection(before: Submission, after: Submission, site: Site) -> str:
    """Return why a changed submission may not be offered, "" where nothing speaks against it."""
    if after.script is None or not parses(after.script) and _must_parse(before.script or b"", after.script):
        return "bash would reject the script"
    if (before.script or b"").count(b"\n") != after.script.count(b"\n") and _COUNTS.search(after.script):
        return "the script reads itself by its lines' numbers"
    if any(byte < 32 and byte not in b"\t\n\r\f\x1b" and byte not in (before.script or b"") for byte in after.script):
        return "a control character would stand in the script"
    if _of_the_other(after) - _of_the_other(before):
        return "it would need what only another scheduler has"
    if understood(after, reader(after)) is None:
        return "the scheduler's command would not read it as a job"
    known = proven(decide(before, site, reader(before)))
    new = {one.code: one for one in decide(after, site, reader(after)).findings if one.proven and one.code not in known}
    says = ["%s (%s)" % (new[code].says, code) for code in sorted(new)]
    return "it would be wrong in another way: %s" % "; ".join(says) if new else ""


def _of_the_other(asked: Submission) -> frozenset[str]:
    """Return the words in a submission that only the scheduler has which it is not for."""
    text = b"\n".join((asked.script or b"", *asked.argv[1:])).decode("utf-8", "replace")
    return foreign(text, asked.scheduler)


def _must_parse(before: bytes, after: bytes) -> bool:
    """A script that bash took must be one that it takes; so must one whose line ends were all that was wrong."""
    return parses(before) or b"\r" in before and b"\r" not in after


def proven(decision: Decision) -> set[str]:
    """Return the codes of the rules that find the script contradicted."""
    return {one.code for one in decision.findings if one.proven}
