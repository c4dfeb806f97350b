"""`maple verify`: run a script's launch lines with mini-apps in place of its programs."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Optional, Tuple

import click
from maple_submit_filter.site import Site
from maple_submit_filter.submission import Submission

from .asked import answer, site_of, submission
from .complaint import Complaint

if TYPE_CHECKING:
    from maple_agents.schedulers import Scheduler
    from maple_agents.verify.verifying import Verified, Wanted

APPS = ("auto", "ddp", "fsdp", "zero3", "accelerate_ddp", "three_d", "dry", "probe")
EXIT = {"passed": 0, "failed": 1, "unclear": 3}


class NotVerified(Complaint):
    """What is in the way of a verification; nobody's usage is wrong."""

    exit_code = 3


@click.command()
@click.argument("script", metavar="[SCRIPT|-]", required=False)
@click.argument("words", nargs=-1, metavar="[-- WORDS...]", type=click.UNPROCESSED)
@click.option("--site", "site_id", metavar="ID", help="The site we are on, where Maple does not find out by itself.")
@click.option("--template", "name", metavar="NAME", help="Verify this launch template of the site, not a script.")
@click.option("--nodes", type=click.IntRange(1, 64), default=2, show_default=True, help="Nodes for a launch template.")
@click.option("--gpus-per-node", type=click.IntRange(1, 16), help="Ranks on a node for a launch template.")
@click.option("--mini-app", "app", type=click.Choice(APPS), default="auto", show_default=True,
              help="What takes the program's place; auto: what trains as the program does.")  # fmt: skip
@click.option("--time", "seconds", type=click.FloatRange(5, 7200), default=180, show_default=True, metavar="SECONDS",
              help="How long it may take once the job runs; the job's walltime follows from it.")  # fmt: skip
@click.option("--queue-time", "queue", type=click.FloatRange(1, 86400), default=900, show_default=True,
              metavar="SECONDS", help="How long to wait for the job to start.")  # fmt: skip
@click.option("--keep", is_flag=True, help="Keep the folder with the changed script, the facts and the job's output.")
@click.option("--json", "as_json", is_flag=True, help="Print the verdict as JSON; its shape is stable.")
def verify(
    script: Optional[str],
    words: Tuple[str, ...],
    site_id: Optional[str],
    name: Optional[str],
    nodes: int,
    gpus_per_node: Optional[int],
    app: str,
    seconds: float,
    queue: float,
    keep: bool,
    as_json: bool,
) -> int:
    """Submit a batch script with mini-apps in place of its programs, and say whether its launch lines work.

    SCRIPT is a file, or - for standard input; it is not changed. WORDS stand before the script on the command line of
    sbatch or qsub. The rest of the script runs as it is. Without a script the launch templates of --site are verified.

    \b
    Examples:
      maple verify job.sh
      maple verify job.sh --mini-app dry -- --nodes=2 --partition=debug
      maple verify --site ncsa-delta --template torchrun-over-srun -- --account=abcd

    Exit code: 0 passed, 1 failed, 2 usage, or the script cannot be read, 3 could not be verified.
    """
    if script is not None and script != "-" and script.startswith("-"):
        words = (script, *words)  # behind `--` stand only words
        script = None
    if script is not None and name is not None:
        raise Complaint("--template: a script is named as well", "name one of the two")
    if script is None:
        asked = _templates(words, site_id, name, nodes, gpus_per_node)
    else:
        asked = [_script(script, words, site_id)]
    made = []
    for one in asked:
        try:
            made.append(_verified(one, words, app, seconds, queue, keep, as_json))
        except NotVerified as error:
            if script is not None:
                raise
            click.echo(f"maple: {one[0]}: {error.format_message()}", err=True)  # the other templates go on
            made.append((3, {"name": one[0], "result": "unclear", "says": error.format_message()}))
    if as_json:
        told = [told for _, told in made]
        click.echo(json.dumps(told if script is None else told[0], indent=2))
    return max(code for code, _ in made)


def _verified(
    asked: "Asked", words: Tuple[str, ...], app: str, seconds: float, queue: float, keep: bool, as_json: bool
) -> Tuple[int, dict[str, object]]:
    """Verify one script, keep the record, and show the verdict; return the exit code and the JSON."""
    from maple_agents.verify.verifying import Wanted

    title, template, (job, site) = asked
    wanted = Wanted(job, site, tuple(words), app, seconds, queue, keep)
    with _in_one_line():
        made = _run(wanted)
    told = {"name": title, **_kept(wanted, made, title, template)}
    if not as_json:
        from .verdict_table import show

        show(title, made)
    return EXIT[made.verdict.result.value], told


Asked = Tuple[str, Tuple[str, int], Tuple[Submission, Site]]


def _script(script: str, words: Tuple[str, ...], site_id: Optional[str]) -> Asked:
    """Return the title, no template, and the submission with its site."""
    asked = answer(script, words, site_id)
    return asked.name, ("", 0), (asked.submission, asked.site)


def _templates(
    words: Tuple[str, ...], site_id: Optional[str], name: Optional[str], nodes: int, gpus: Optional[int]
) -> list[Asked]:
    """Return one template, or all that the site can use, each as a script."""
    from maple_agents.verify import from_template
    from maple_agents.verify.errors import CannotVerify

    if site_id is None:
        raise Complaint("no SCRIPT is named", "name a batch script, or --site for its launch templates")
    site = site_of(site_id)
    names = [name] if name is not None else [one.name for one in site.launch_templates]
    if not names:
        raise Complaint(f"--site {site_id}: there is no launch template for it", "see maple site show")
    found = []
    for one in names:
        try:
            template = from_template.template(one, site)
            source = from_template.script(template, site, nodes, _partition(words), gpus)
        except CannotVerify as error:
            raise Complaint(str(error)) from error
        found.append((one, (one, template.revision), (submission("-", source, words, site.scheduler), site)))
    return found


def _partition(words: Tuple[str, ...]) -> str:
    """Return the partition or queue among the words, "" where there is none: it decides what the nodes have."""
    for at, word in enumerate(words):
        for option in ("--partition=", "-p", "-q"):
            if word.startswith(option):
                return word[len(option) :] or (words[at + 1] if at + 1 < len(words) else "")
    return ""


@contextlib.contextmanager
def _in_one_line() -> Iterator[None]:
    """Say what is in the way as every command does; what could not be verified is no usage error."""
    from maple_agents.schedulers import SchedulerError
    from maple_agents.verify.errors import CannotVerify, Interrupted

    try:
        yield
    except (CannotVerify, SchedulerError) as error:
        raise NotVerified(str(error)) from error
    except Interrupted as error:
        raise click.exceptions.Exit(128 + error.number) from error


def _run(wanted: "Wanted") -> "Verified":
    from maple_agents.verify.verifying import verify as verified

    from .progress import progress

    scheduler = _scheduler(wanted.site)
    with progress() as tell:
        return verified(wanted, scheduler, tell)


def _scheduler(site: Site) -> "Scheduler":
    from maple_agents.schedulers import choose

    return choose(site.scheduler)


def _kept(wanted: "Wanted", made: "Verified", title: str, template: Tuple[str, int]) -> dict[str, object]:
    """Keep the record, and return the JSON."""
    from maple_agents.verify import records
    from maple_agents.verify.reporting import as_json, inputs_of, record_of

    inputs = inputs_of(wanted, made, *template)
    path = records.save(record_of(wanted, made, inputs, title if template[0] else os.path.abspath(title)))
    return {**as_json(wanted, made), "record": path}
