"""`maple verify`: run a script's launch lines with mini-apps in place of its programs."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, Optional, Tuple, Union, cast

import click
from maple_submit_filter.answer.report import printable
from maple_submit_filter.site.facts import Site

from ...ask.submission import answer, on_site
from ...base import output
from ...base.complaint import Complaint
from .. import completion
from .site_templates import Case, CaseOrWhy, Layout, cases

if TYPE_CHECKING:
    from maple_agents.ask.schedulers import Scheduler
    from maple_agents.verify.report import Answer, Named, NoAnswer, Report
    from maple_agents.verify.verification import Verified, Wanted

    from ...diagnose.values import Diagnosis

APPS = ("auto", "ddp", "fsdp", "zero3", "accelerate_ddp", "three_d", "dry", "probe")
EXIT = {"passed": 0, "failed": 1, "unclear": 3}


class NotVerified(Complaint):
    """What is in the way of a verification; nobody's usage is wrong."""

    exit_code = 3


class Options(NamedTuple):
    """How each is verified: the mini-app, how long it may run and wait, what is kept, written and printed."""

    app: str
    seconds: float
    queue: float
    keep: bool
    write: bool
    as_json: bool


@click.command()
@click.argument("script", metavar="[SCRIPT|-]", required=False, shell_complete=completion.files)
@click.argument("words", nargs=-1, metavar="[-- WORDS...]", type=click.UNPROCESSED)
@click.option(
    "--site",
    "site_id",
    metavar="ID|FILE",
    shell_complete=completion.site_or_file,
    help="The site we are on, where Maple does not find out by itself.",
)
@click.option("--template", "name", metavar="NAME", shell_complete=completion.launches,
              help="Verify this launch template, or this paradigm (ddp, zero3 ...), not a script.")  # fmt: skip
@click.option("--stale", is_flag=True, help="Of the site's templates and paradigms only those whose record is missing "
              "or holds no more.")  # fmt: skip
@click.option("--nodes", type=click.IntRange(1, 64), default=2, show_default=True, help="Nodes for a template.")
@click.option("--gpus-per-node", type=click.IntRange(1, 16), help="Ranks on a node for a template.")
@click.option("--mini-app", "app", type=click.Choice(APPS), default="auto", show_default=True,
              help="What takes the program's place; auto: what trains as the program does.")  # fmt: skip
@click.option("--time", "seconds", type=click.FloatRange(5, 7200), default=180, show_default=True, metavar="SECONDS",
              help="How long it may take once the job runs; the job's walltime follows from it.")  # fmt: skip
@click.option("--queue-time", "queue", type=click.FloatRange(1, 86400), default=900, show_default=True,
              metavar="SECONDS", help="How long to wait for the job to start.")  # fmt: skip
@click.option("--keep", is_flag=True, help="Keep the folder with the changed script, the facts and the job's output.")
@click.option("--apply", "write", is_flag=True, help="Where it fails and there is a fix, write the fixed copy, "
              "NAME.maple.sh, beside the script.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print the verdict as JSON; its shape is stable.")
def verify(
    script: Optional[str],
    words: Tuple[str, ...],
    site_id: Optional[str],
    name: Optional[str],
    stale: bool,
    nodes: int,
    gpus_per_node: Optional[int],
    **how: Any,
) -> int:
    """Submit a batch script with mini-apps in place of its programs, and say whether its launch lines work.

    SCRIPT is a file, or - for standard input; it is not changed. WORDS stand before the script on the command line of
    sbatch or qsub. The rest of the script runs as it is. Without a script the launch templates of --site are verified,
    and the repository's paradigms as scripts for it; what the site demands, such as an account, stands in WORDS.

    \b
    Examples:
      maple verify job.sh
      maple verify --apply job.sh
      maple verify job.sh --mini-app dry -- --nodes=2 --partition=debug
      maple verify --site ncsa-delta --template torchrun-over-srun -- \\
        --account=abcd
      maple verify --site ncsa-delta --template zero3 -- --account=abcd \\
        --partition=gpuA100x4
      maple verify --site ncsa-delta --stale -- --account=abcd \\
        --partition=gpuA100x4

    Exit code: 0 passed, 1 failed, 2 usage, or the script cannot be read, 3 could not be verified.
    """
    options = Options(**how)
    if script is not None and script != "-" and script.startswith("-"):
        words = (script, *words)  # behind `--` stand only words
        script = None
    if script is not None and (name is not None or stale):
        option = "--template" if name is not None else "--stale"
        raise Complaint(f"{option}: a script is named as well", "name one of the two")
    if script is None and options.write:
        raise Complaint("--apply: there is no script to fix", "name a batch script, not the templates of a site")
    if script is None:
        asked = _of_site(words, site_id, name, Layout(nodes, gpus_per_node, options.seconds), stale)
    else:
        asked = [_script(script, words, site_id)]
    made: "list[Tuple[int, Union[Answer, NoAnswer]]]" = []
    for title, case in asked:
        try:
            made.append(_verified(case, words, options))
        except NotVerified as error:
            if script is not None:
                raise
            click.echo(f"maple: {title}: {error.format_message()}", err=True)  # the other templates go on
            made.append((3, {"name": title, "result": "unclear", "says": error.format_message()}))
    if options.as_json:
        answers = [answer for _, answer in made]
        output.echo(answers if script is None else answers[0])
    return max((code for code, _ in made), default=0)


def _verified(asked: CaseOrWhy, words: Tuple[str, ...], options: Options) -> "Tuple[int, Answer]":
    """Verify one script, keep the record, and show the verdict; return the exit code and the JSON."""
    from maple_agents.verify.verification import Wanted

    if not isinstance(asked, Case):
        raise NotVerified(str(asked))
    fit = asked.miniapp if options.app == "auto" else options.app
    wanted = Wanted(asked.submission, asked.site, tuple(words), fit, options.seconds, options.queue, options.keep)
    with _in_one_line():
        made = _run(wanted)
    report, record = _kept(wanted, made, asked)
    named: Named = {"name": asked.title, "site_known_by": asked.known_by, **report, "record": record}
    answer = cast("Answer", named)
    why = _explained(made, wanted)
    if not options.as_json:
        _shown(asked, made, why, options.write)
    elif why is not None:
        from ...diagnose.tell.json_form import as_json as told_why

        answer["explained"] = told_why(why)
    if why is not None and options.write:
        answer["written"] = _applied(why, options.as_json)
    return EXIT[made.verdict.result.value], answer


def _shown(asked: Case, made: "Verified", why: "Optional[Diagnosis]", write: bool) -> None:
    """Print the verdict, and where it failed the cause, the fix and how that is taken."""
    from ...base import output
    from ...diagnose.tell.page import show as show_why
    from ..fix.application import fix_of
    from .verdict_table import show

    show(asked.title, made)
    output.say([on_site(asked.site.id, asked.known_by)])
    if why is None:
        return
    show_why(why, hint=False)
    if fix_of(why) is not None and not asked.template and not write:
        script = os.fsdecode(asked.submission.path) or "-"
        output.say(["maple verify --apply %s writes the fixed copy" % printable(script)])


def _applied(why: "Diagnosis", quiet: bool) -> Optional[str]:
    """Write the fixed copy, and return its path; a fix that is not to be had is said, and changes no verdict."""
    from ..fix.application import applied

    try:
        return applied(why, submit=False, quiet=quiet).written
    except Complaint as error:
        click.echo(f"maple: {error.format_message()}", err=True)
        return None


def _explained(made: "Verified", wanted: "Wanted") -> Optional["Diagnosis"]:
    """Return the cause and the fix of a verification that failed, as `maple-fix` finds them; None where it did not."""
    if made.verdict.result.value != "failed":
        return None
    from ...diagnose.retry.verification import explain_verified

    return explain_verified(made, wanted.submission, wanted.site)


def _script(script: str, words: Tuple[str, ...], site_id: Optional[str]) -> Tuple[str, CaseOrWhy]:
    if "--" in words:
        raise Complaint("-- among the words", "a verification gives the script no arguments")
    asked = answer(script, words, site_id)
    return asked.name, Case(asked.name, asked.submission, asked.site, known_by=asked.known_by)


def _of_site(
    words: Tuple[str, ...], site_id: Optional[str], name: Optional[str], layout: Layout, stale: bool
) -> list[Tuple[str, CaseOrWhy]]:
    """Return what of the site is to be verified. *stale*: each is told of, and not those whose record holds."""
    if site_id is None:
        raise Complaint("no SCRIPT is named", "name a batch script, or --site for its launch templates")
    candidates = cases(words, site_id, name, layout)
    return [each for each in candidates if _is_stale(*each)] if stale else candidates


def _is_stale(title: str, case: CaseOrWhy) -> bool:
    if not isinstance(case, Case):
        return True  # why it cannot be verified is told when it comes to it
    reason = "; ".join(case.why) if case.why else "its record holds"
    click.echo(printable(f"maple: {title}: {reason}"), err=True)
    return bool(case.why)


@contextlib.contextmanager
def _in_one_line() -> Iterator[None]:
    """Say what is in the way as every command does; what could not be verified is no usage error."""
    from maple_agents.ask.schedulers import SchedulerError
    from maple_agents.ask.verified_runs import CannotVerify, Interrupted

    try:
        yield
    except (CannotVerify, SchedulerError) as error:
        raise NotVerified(str(error)) from error
    except Interrupted as error:
        raise click.exceptions.Exit(128 + error.number) from error


def _run(wanted: "Wanted") -> "Verified":
    from maple_agents.verify.verification import verify as verified

    from ..progress import progress

    scheduler = _scheduler(wanted.site)
    with progress() as tell:
        return verified(wanted, scheduler, tell)


def _scheduler(site: Site) -> "Scheduler":
    from maple_agents.ask.schedulers import choose

    return choose(site.scheduler)


def _kept(wanted: "Wanted", made: "Verified", asked: Case) -> "Tuple[Report, Optional[str]]":
    """Keep the record, and return the report and the record's path."""
    from maple_agents.ask import verified_runs
    from maple_agents.verify.report import as_json, inputs_of, record_of

    inputs = inputs_of(wanted, made, asked.template, asked.revision, asked.composition)
    name = asked.title if asked.template else os.path.abspath(asked.title)
    path = verified_runs.save(record_of(wanted, made, inputs, name))
    return as_json(wanted, made), path
