"""A typed fix is believed when the script that it gives passes the checks of a submission."""

from __future__ import annotations

from maple_submit_filter.bash_check import parses
from maple_submit_filter.decide import Decision, decide, understood
from maple_submit_filter.edits import Conflict, Fix, apply, apply_argv
from maple_submit_filter.reading import read_file
from maple_submit_filter.site import Site
from maple_submit_filter.submission import Submission


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
    if after.script is None or not parses(after.script) and parses(before.script or b""):
        return "bash would not take the script"
    if understood(after, read_file) is None:
        return "the scheduler's command would not read it as a job"
    new = proven(decide(after, site)) - proven(decide(before, site))
    return "it would be wrong in another way: %s" % ", ".join(sorted(new)) if new else ""


def proven(decision: Decision) -> set[str]:
    """Return the codes of the rules that find the script contradicted."""
    return {one.code for one in decision.findings if one.proven}
