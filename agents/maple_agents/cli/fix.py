"""`maple-fix`: why a job failed, shown in its own log, with a fix that is checked."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NoReturn, Optional, Tuple

import click
from maple_submit_filter.job_records import STATES

from ..debug.causes import CLASSES
from .complaint import Complaint

NAMED = tuple(one for one in CLASSES if one not in ("none", "unknown"))

if TYPE_CHECKING:
    from ..debug.values import Diagnosis


@click.command(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.argument("job", metavar="[JOBID]", required=False)
@click.argument("words", nargs=-1, metavar="[-- WORDS...]", type=click.UNPROCESSED)
@click.option("--log", "logs", multiple=True, metavar="FILE", help="Read this log; may be said several times.")
@click.option("--script", metavar="FILE", help="The batch script that was submitted.")
@click.option("--site", "site_id", metavar="ID", help="The site it ran on, if not this one.")
@click.option("--state", type=click.Choice(STATES), help="How it ended, where no scheduler can be asked.")
@click.option("--exit-code", type=click.IntRange(0, 255), metavar="N", help="Its exit code, likewise.")
@click.option("--apply", "write", is_flag=True, help="Write the fixed copy, NAME.maple.sh, beside the script.")
@click.option("--submit", is_flag=True, help="Write the fixed copy and submit it.")
@click.option(
    "--rounds", type=click.IntRange(1, 5), metavar="N", help="Fix, run and read again, up to N times; asks first."
)
@click.option(
    "--was",
    type=click.Choice(NAMED),
    metavar="CLASS",
    help="Say what the cause was, once you know; a later job of yours that ends the same way is told so.",
)
@click.option("--anew", is_flag=True, help="Read the logs again, where a diagnosis was made at the job's end.")
@click.option("--model", metavar="NAME", help="Ask this language model as well: off, a folder, or a server's address.")
@click.option("--json", "as_json", is_flag=True, help="Print the answer as JSON; its shape is stable.")
def fix(
    job: Optional[str],
    words: Tuple[str, ...],
    logs: Tuple[str, ...],
    script: Optional[str],
    site_id: Optional[str],
    state: Optional[str],
    exit_code: Optional[int],
    write: bool,
    submit: bool,
    rounds: Optional[int],
    was: Optional[str],
    anew: bool,
    model: Optional[str],
    as_json: bool,
) -> int:
    """Say why a job failed: the first cause, the line of the log that proves it, and what would cure it.

    Without JOBID, on a terminal: your last job that failed, where the service remembers one.

    Nothing is written without --apply, and nothing submitted without --submit. WORDS stand before the script on the
    command line of sbatch or qsub. `maple fix` is the same command.

    \b
    Examples:
      maple-fix 4711
      maple-fix 4711_3 --apply
      maple-fix 4711 --rounds 5
      maple-fix 4711 --was shm_too_small
      maple-fix --log slurm-4711.out --script train.sh --site ncsa-delta
      maple-fix --log err.txt --log out.txt --state timeout --json

    Exit code: 0 the cause is known, or the job succeeded; 1 it is not known; 2 usage, or nothing can be read.
    """
    from ..debug import explaining
    from .progress import reading

    if job is None and not logs and script is None:
        from .fix_last import last_failed

        job = last_failed()
    if job is None and not logs and script is None:
        raise Complaint("name a job, or files", "maple-fix JOBID, or maple-fix --log FILE --script FILE --site ID")
    if job is not None and words and script is None:
        raise Complaint(f"{words[0]}: one job at a time", "words of sbatch or qsub come with --script")
    asked = words or logs or script or site_id or state or exit_code or write or submit or rounds or was or model
    if job is not None and not asked and not anew:
        from .fix_kept import shown

        code = shown(job, as_json)
        if code is not None:
            return code
    found = explaining.case_of(job, logs, script, site_id, words, state, exit_code)
    with reading(found):
        told = explaining.explained(found, model)
    if as_json and rounds is None:
        from .fix_told import told as as_object

        click.echo(json.dumps(as_object(told), indent=2))
    elif not as_json:
        from .fix_shown import show

        show(told, hint=not (write or submit or rounds))
    if was is not None:
        _confirmed(told, was, as_json)
    if rounds is not None:
        return _rounds(told, rounds, model, submit, as_json)
    if write or submit:
        from .fix_applied import applied

        applied(told, submit, quiet=as_json)
    return 1 if told.causes[0].cause == "unknown" else 0


def _confirmed(told: "Diagnosis", was: str, quiet: bool) -> None:
    """Remember the user's own word. Raises `Complaint` where the job could not be known again."""
    from ..debug.cases_kept import confirm

    wrong = confirm(told, was)
    if wrong:
        raise Complaint("not remembered: " + wrong, "nothing was changed")
    if not quiet:
        click.echo("remembered: job %s was %s" % (told.case.ended.id, was), err=True)


def _rounds(told: "Diagnosis", rounds: int, model: Optional[str], submit: bool, as_json: bool) -> int:
    """Fix and run; as JSON the first diagnosis and the rounds are one object."""
    from ..debug.rounds import run

    if not as_json:
        return run(told, rounds, model, submit)
    from .fix_told import told as as_object

    return run(told, rounds, model, submit, lambda more: click.echo(json.dumps({**as_object(told), **more}, indent=2)))


def main() -> NoReturn:
    """Run `maple-fix`, and exit with its code."""
    import sys

    from .main import run

    sys.exit(run(None, fix, "maple-fix"))
