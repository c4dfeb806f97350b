"""What `maple new` ends with: the script, verified first where wanted, or what it still lacks, both as JSON.

What the user said last time on a site lies in a small file in his own state folder. It gives defaults of questions, and
nothing else, and is never needed; what decides takes the values as an argument.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Optional, TypedDict, Union

import click
from maple_submit_filter.answer.report import printable
from maple_submit_filter.site.facts import Site

from ...ask import verified_runs
from ...ask.submission import on_site, submission
from ...base import new_file as new_output
from ...base.complaint import Complaint
from ...base.new_file import keep
from ...base.output import echo, text
from ...base.slots import Assumed, Lacking, Missing, Slots, Unread
from . import page
from .request import Wanted

if TYPE_CHECKING:
    from maple_agents.write.composition import Made
    from maple_agents.write.values import Carried


def unread(asked: Wanted, as_json: bool) -> int:
    """Say what was not understood, and write nothing."""
    return _say_lacking(asked, Lacking(()), as_json, page.unread(asked))


def missing(asked: Wanted, lacks: Lacking, as_json: bool) -> int:
    """Say what is missing, and write nothing."""
    return _say_lacking(asked, lacks, as_json, page.missing(lacks))


def _say_lacking(asked: Wanted, lacks: Lacking, as_json: bool, lines: Iterable[str]) -> int:
    if as_json:
        echo(lacking(asked, lacks))
        return 3
    for line in (on_site(asked.cluster.site.id, asked.known_by), *lines):
        click.echo("maple: " + line, err=True)
    return 3


def hand_over(asked: Wanted, made: "Union[Made, Carried]", output: Optional[str], as_json: bool, verified: bool) -> int:
    """Give the script away, verified first where that is wanted, and remember what was said. Return the exit code."""
    from maple_agents.write.values import Carried

    if not as_json:
        assumed = made.plan.assumed if made.plan is not None else ()
        page.tell(asked, assumed, made.advice, isinstance(made, Carried))
    if verified:
        code = _failed(made.script, asked.cluster.site)
        if code:
            return code
    if as_json:
        echo(written(made, asked))
    if output is not None or not as_json:
        new_output.put(made.script, output)
    if output is not None and not as_json:
        submit = "qsub" if asked.cluster.site.scheduler == "pbs" else "sbatch"
        click.echo("written: %s; submit it: %s" % (output, shlex.join([submit, output])), err=True)
    save(asked.cluster.site.id, asked.slots)
    return 0


def _failed(script: bytes, site: Site) -> int:
    """Run the script; return 0 where it passed, else 1 with the reasons on stderr.

    Raises `Complaint` with exit code 1 where it could not be verified.
    """
    from maple_agents.ask.schedulers import SchedulerError, choose
    from maple_agents.ask.verified_runs import CannotVerify, Interrupted
    from maple_agents.verify.verification import Wanted, verify

    from ..progress import progress
    from ..verify.verdict_table import lines, summary

    job = submission("-", script, (), site.scheduler)
    try:
        with progress() as tell:
            done = verify(Wanted(job, site), choose(site.scheduler), tell)
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
        from maple_agents.diagnose.read.clean_lines import safe
        from maple_agents.diagnose.retry.verification import explain_verified

        first = explain_verified(done, job, site).causes[0]
        if first.cause not in ("unknown", "none"):
            click.echo("cause: %s (%s)" % (safe(first.says), first.cause), err=True)
    click.echo("maple: the script did not pass, so nothing was written", err=True)
    return 1


class NotVerified(Complaint):
    """The script could not be verified."""

    exit_code = 1


# The JSON of both.


class New(TypedDict):
    """`maple new`. *script*: null where something is *missing*, or was not understood (*unread* has what stops).

    *slots*: what was said, in normal form. *assumed*: what nobody said, each with its reason. *asks*: what is missing
    with the site's own words, and what it can be. *template*: by which launch template the script was made.
    """

    site: str
    site_known_by: str
    slots: dict[str, Union[int, str]]
    missing: list[str]
    script: Optional[str]
    template: Optional[str]
    assumed: list[Assumed]
    advice: list[str]
    asks: list[Missing]
    unread: list[Unread]


def written(made: Union[Made, Carried], asked: Wanted) -> New:
    """Return the JSON of a script."""
    plan = made.plan
    if plan is None:
        return _new(asked, asked.slots, (), made.advice, script=made.script)
    return _new(asked, plan.slots, plan.assumed, made.advice, script=made.script, template=plan.launch.name)


def lacking(asked: Wanted, lacks: Lacking) -> New:
    """Return the JSON where something is missing."""
    return _new(asked, asked.slots, lacks.assumed, lacks.advice, lacks.missing)


def _new(
    asked: Wanted,
    slots: Slots,
    assumed: Sequence[Assumed],
    advice: Sequence[str],
    missing: Sequence[Missing] = (),
    script: Optional[bytes] = None,
    template: Optional[str] = None,
) -> New:
    return New(
        site=asked.cluster.site.id,
        site_known_by=asked.known_by,
        slots=slots.as_json(),
        missing=[lack.slot for lack in missing],
        script=None if script is None else text(script),
        template=template,
        assumed=list(assumed),
        advice=list(advice),
        asks=list(missing),
        unread=list(asked.unread),
    )


REMEMBERED = ("account", "partition", "queue", "qos", "filesystems")
_MOST = 64 * 1024  # bytes


def load(site: str, environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the values of the last script for *site*, by slot; {} where there are none."""
    values = _all(environ).get(site)
    if not isinstance(values, dict):
        return {}
    return {slot: value for slot, value in values.items() if slot in REMEMBERED and isinstance(value, str)}


def save(site: str, slots: Slots, environ: Mapping[str, str] = os.environ) -> None:
    """Remember what was said of `REMEMBERED` for *site*; a file that cannot be written harms nothing."""
    path = _path(environ)
    values = {slot: str(slots[slot].value) for slot in REMEMBERED if slot in slots}
    if path is None or not values:
        return
    known = _all(environ)
    old = known.get(site)
    known[site] = {**(old if isinstance(old, dict) else {}), **values}
    keep(known, path)


def _all(environ: Mapping[str, str]) -> dict[str, object]:
    path = _path(environ)
    return (verified_runs.read_value(path, _MOST) if path is not None else None) or {}


def _path(environ: Mapping[str, str]) -> str | None:
    own = verified_runs.own_folder(environ)
    return os.path.join(os.path.dirname(own), "new.json") if own is not None else None
