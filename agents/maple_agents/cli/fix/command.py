"""`maple-fix`: why a job failed, shown in its own log, with a fix that is checked."""

from __future__ import annotations

try:
    from typing import TYPE_CHECKING, Dict, NoReturn, Optional, Tuple

    import click
    from maple_submit_filter.types.job_records import STATES

    from ...base import output
    from ...base.complaint import Complaint
    from ...templates.knowledge.entries import CLASSES
    from .. import completion
except KeyboardInterrupt:  # half of the start is spent here, and nothing was begun yet
    raise SystemExit(130) from None

NAMED = tuple(class_ for class_ in CLASSES if class_ not in ("none", "unknown"))

if TYPE_CHECKING:
    from ...diagnose.values import Diagnosis


@click.command(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.argument("job", metavar="[JOBID|last]", required=False, shell_complete=completion.job_or_file)
@click.argument("words", nargs=-1, metavar="[-- WORDS...]", type=click.UNPROCESSED)
@completion.log_files
@click.option("--script", metavar="FILE", shell_complete=completion.files, help="The batch script that was submitted.")
@click.option(
    "--site",
    "site_id",
    metavar="ID|FILE",
    shell_complete=completion.site_or_file,
    help="The site it ran on, if not this one.",
)
@click.option(
    "--state",
    type=click.Choice(STATES),
    metavar="STATE",
    help=f"How it ended, where no scheduler can be asked: {', '.join(STATES)}.",
)
@click.option(
    "--exit-code",
    type=click.IntRange(-99, 511),
    metavar="N",
    help="Its exit code, where no scheduler can be asked; PBS's form works too.",
)
@click.option("--apply", "write", is_flag=True, help="Write the fixed copy, NAME.maple.sh, beside the script.")
@click.option("--submit", is_flag=True, help="Write the fixed copy and submit it.")
@click.option(
    "--rounds",
    type=click.IntRange(1, 5),
    metavar="N",
    help="Fix, run and diagnose again, up to N times; asks before submitting.",
)
@click.option(
    "--was",
    type=click.Choice(NAMED),
    metavar="CLASS",
    help="Record the real cause once you know it; Maple will recognise it in later jobs of yours.",
)
@click.option(
    "--anew", is_flag=True, help="Read the logs again instead of showing the diagnosis made when the job ended."
)
@click.option(
    "--model",
    metavar="NAME",
    shell_complete=completion.files,
    help="Language model to ask as well: off, a folder, or a server's address.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the answer as JSON; its shape is stable.")
@click.option("--json-schema", "shape", is_flag=True, help="Print the JSON schema of that answer, and do nothing else.")
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
    shape: bool,
) -> int:
    """Say why a job failed: the first cause, the line of the log that proves it, and what would cure it.

    "last" is your last job that failed; on a terminal that is also what maple-fix alone means. Of an array, 4711_3 is
    one task, and 4711 the task that failed. A submission that sbatch refused has no job: with the service, "last" means
    it too, and asks sbatch --test-only what it says of it. qsub has no such question.

    Nothing is written without --apply, and nothing submitted without --submit. WORDS stand before the script on the
    command line of sbatch or qsub. `maple fix` is the same command.

    \b
    Examples:
      maple-fix                           why did my last job fail?
      maple-fix last                      the same, also in a script
      maple-fix 4711                      why did this one fail?
      maple-fix 4711_3 --apply            write the fixed copy beside it
      maple-fix 4711 --submit             write it and submit it
      maple-fix 4711 --rounds 5           fix, run, read again, until it runs
      maple-fix 4711 --log out/rank0.txt  read this file as well
      maple-fix slurm-4711.out            this log; its job is forgotten
      maple-fix --log slurm-4711.out --script train.sh --site ncsa-delta
      maple-fix --log err.txt --log out.txt --state timeout --json
      maple-fix 4711 --was shm_too_small  it was that: know it next time

    The JSON has a version, and its shape is told by --json-schema: within a version keys and names of classes may come,
    none goes or changes its meaning. What is printed for people may change. Secrets are masked in both.

    With --json standard output holds one whole document or nothing; what is wrong is one line on standard error.

    Exit code: 0 the cause is known, or the job succeeded; 1 it is not known; 2 usage, or nothing can be read; 130
    interrupted.
    """
    from .application import interruptible, printing, spoken
    from .argument import named

    with interruptible():
        spoken()
        if shape:
            return _schema()
        job, logs, script = named(job, logs, script)
        job = _job(job, words, files=bool(logs or script is not None), acts=bool(write or submit or rounds or was))
        asked = words or logs or script or site_id or state or exit_code or write or submit or rounds or was or model
        if job is not None and not asked and not anew:
            from .argument import shown

            with printing():
                code = shown(job, as_json)
            if code is not None:
                return code
        diagnosis = _explained(job, logs, script, site_id, words, state, exit_code, model)
        if not as_json:
            _shown(diagnosis, acts=bool(write or submit or rounds or was), hint=not (write or submit or rounds))
        _remembered(diagnosis, was)
        if was is not None:
            _confirmed(diagnosis, was, as_json)
        if rounds is not None:
            return _rounds(diagnosis, rounds, model, submit, as_json)
        _applied(diagnosis, write or submit, submit, as_json)
        return 1 if diagnosis.causes[0].cause == "unknown" else 0


def _schema() -> int:
    from importlib import resources

    from ...diagnose import tell
    from .application import printing

    with printing():
        click.echo(resources.files(tell).joinpath("fix.schema.json").read_text("utf-8"), nl=False)
    return 0


def _job(job: Optional[str], words: Tuple[str, ...], files: bool, acts: bool) -> Optional[str]:
    """Return the job that is asked about, None where only *files* are. Raises `Complaint`."""
    if job == "last" or (job is None and not files):
        from .argument import last_failed

        return last_failed(acts, asked_for=job is not None)
    if job is not None and not job.strip():
        raise Complaint("the job id is empty", "is the variable set that it stands in? maple-fix JOBID")
    if job is not None and words and not files:
        raise Complaint(f"{words[0]}: one job at a time", "words of sbatch or qsub come with --script")
    return job


def _explained(
    job: Optional[str],
    logs: Tuple[str, ...],
    script: Optional[str],
    site_id: Optional[str],
    words: Tuple[str, ...],
    state: Optional[str],
    exit_code: Optional[int],
    model: Optional[str],
) -> "Diagnosis":
    """Return why the job failed. Raises `Complaint`, also where what Maple knows of causes cannot be read."""
    from ...diagnose import explanation
    from ...templates import knowledge
    from ..progress import reading

    try:
        knowledge.entries()
    except ValueError as error:
        wrong = str(error).split("\n")[0]
        raise Complaint(f"what Maple knows of causes cannot be read: {wrong}", "maple templates lint") from error
    known = exit_code
    if exit_code is not None:
        from ...diagnose.gather.cases import is_of_pbs, with_status

        known = None if is_of_pbs(exit_code) else exit_code
    case = explanation.case_of(job, logs, script, site_id, words, state, known)
    if job is None and exit_code is not None and known is None:
        case = with_status(case, exit_code, state)
    with reading(case):
        return explanation.explained(case, model)


def _shown(diagnosis: "Diagnosis", acts: bool, hint: bool) -> None:
    """Print the page. *acts*: there is more to do, also where its reader has gone."""
    from ...diagnose.tell.page import show
    from .application import printing

    with printing(goes_on=acts):
        show(diagnosis, hint)


def _applied(diagnosis: "Diagnosis", write: bool, submit: bool, as_json: bool) -> None:
    """Take the fix where that was asked for; the JSON tells what was done, and is whole where nothing could be."""
    from .application import Applied, applied

    done: Optional[Applied] = None
    try:
        done = applied(diagnosis, submit, quiet=as_json) if write else None
    finally:
        if as_json:
            _as_json({**_object(diagnosis), **(done or Applied())._asdict()} if write else _object(diagnosis))


def _object(diagnosis: "Diagnosis") -> Dict[str, object]:
    from ...diagnose.tell.json_form import as_json as as_object

    return as_object(diagnosis)


def _as_json(answer: Dict[str, object]) -> None:
    from .application import printing

    with printing():
        output.echo(answer)


def _remembered(diagnosis: "Diagnosis", was: Optional[str]) -> None:
    """Tell the service the class of the failure, where there is one: what users know counts more than what was read."""
    from ...diagnose.class_report import claimed, tell

    tell(diagnosis.case.ended.id, was or claimed(diagnosis))


def _confirmed(diagnosis: "Diagnosis", was: str, quiet: bool) -> None:
    """Remember the user's own word. Raises `Complaint` where the job could not be known again."""
    from ...diagnose.earlier_cases import confirm

    wrong = confirm(diagnosis, was)
    if wrong:
        raise Complaint("not remembered: " + wrong, "nothing was changed")
    if not quiet:
        click.echo("remembered: job %s was %s" % (diagnosis.case.ended.id, was), err=True)


def _rounds(diagnosis: "Diagnosis", rounds: int, model: Optional[str], submit: bool, as_json: bool) -> int:
    """Fix and run; as JSON the first diagnosis and the rounds are one object."""
    from ...diagnose.retry.rounds import run

    if not as_json:
        return run(diagnosis, rounds, model, submit)
    return run(diagnosis, rounds, model, submit, lambda more: _as_json({**_object(diagnosis), **more}))


def main() -> NoReturn:
    """Run `maple-fix`, and exit with its code; who interrupts it before it began gets the same exit code."""
    import sys

    try:
        from ..main import run

        code = run(None, fix, "maple-fix")
    except KeyboardInterrupt:
        code = 130
    sys.exit(code)
