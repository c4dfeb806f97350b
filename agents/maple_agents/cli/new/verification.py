"""`maple new --verify`: the script is run with mini-apps before it is handed over."""

from __future__ import annotations

import click
from maple_submit_filter.answer.report import printable
from maple_submit_filter.site.facts import Site

from ...ask.submission import submission
from ...base.complaint import Complaint
from ...diagnose.tell.safe import safe

SECONDS, QUEUE = 180.0, 900.0  # as `maple verify` has them


def failed(script: bytes, site: Site) -> int:
    """Run the script; return 0 where it passed, else 1 with the reasons on stderr.

    Raises `Complaint` with exit code 1 where it could not be verified.
    """
    from maple_agents.ask.schedulers import SchedulerError, choose
    from maple_agents.ask.verified.records import CannotVerify, Interrupted
    from maple_agents.verify.verification import Wanted, verify

    from ..progress import progress
    from ..verify.verdict_table import lines, summary

    job = submission("-", script, (), site.scheduler)
    try:
        with progress() as tell:
            done = verify(Wanted(job, site, (), "auto", SECONDS, QUEUE, False), choose(site.scheduler), tell)
    except (CannotVerify, SchedulerError) as error:
        raise NotVerified("not verified: %s" % error, "nothing was written") from error
    except Interrupted as error:
        raise click.exceptions.Exit(128 + error.number) from error
    click.echo(printable(summary("maple new", done)), err=True)
    if done.verdict.result.value == "passed":
        return 0
    for line in lines(done):
        click.echo(line, err=True)
    if done.verdict.result.value == "failed":
        from maple_agents.diagnose.retry.verification import explain_verified

        first = explain_verified(done, job, site).causes[0]
        if first.cause not in ("unknown", "none"):
            click.echo("cause: %s (%s)" % (safe(first.says), first.cause), err=True)
    click.echo("maple: the script did not pass, so nothing was written", err=True)
    return 1


class NotVerified(Complaint):
    """The script could not be verified."""

    exit_code = 1
