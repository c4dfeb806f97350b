"""`maple check`: what is wrong with a batch script, and what would be submitted in its place."""

from __future__ import annotations

import json
import os
import re
from typing import Optional, Tuple

import click
from maple_submit_filter.answer.decision import Decision, Rewritten, explained
from maple_submit_filter.answer.reply import handed_over
from maple_submit_filter.answer.report import printable, report, summary
from maple_submit_filter.plan.program_groups import TOLD
from maple_submit_filter.request.other_scheduler import CODE
from maple_submit_filter.site.modes import in_force, policy_of

from ..ask.submission import Answer, answer
from ..base.difference import unified
from . import completion

OFF = re.compile(rb"^[ \t]*#[ \t]*maple:[ \t]*off[ \t\r]*$", re.MULTILINE)  # as the front reads it
ARGUMENTS = re.compile(rb"\$\{?[#!]?[1-9@*#]|\bgetopts?\b|\bshift\b")
ACCEPTED = "if you accept every suggested change"
ARGUMENTS_UNKNOWN = "help: more depends on the words behind the script; say them: maple check SCRIPT -- -- WORDS"
EXIT = {"clean": 0, "unread": 2}  # all else: 1


@click.command()
@click.argument("script", metavar="SCRIPT|-", shell_complete=completion.files)
@click.argument("words", nargs=-1, metavar="[-- WORDS... [-- ARGS...]]", type=click.UNPROCESSED)
@click.option(
    "--site",
    "site_id",
    metavar="ID",
    shell_complete=completion.sites,
    help="Check for this site, not for the one we are on.",
)
@click.option("--plan", "with_plan", is_flag=True, help="Draw the processes that would start, too.")
@click.option("--json", "as_json", is_flag=True, help="Print the answer as JSON; its shape is stable.")
def check(script: str, words: Tuple[str, ...], site_id: Optional[str], with_plan: bool, as_json: bool) -> int:
    """Say what is wrong with a batch script, and what would be submitted in its place. Nothing is submitted.

    SCRIPT is a file, or - for standard input. WORDS stand before the script on the command line of sbatch or qsub,
    and ARGS behind it: what a script of Slurm knows as $1, $2 and $@. Without the second -- they are not known, so
    what depends on them is left alone; with nothing behind it the script has none.

    \b
    Examples:
      maple check job.sh
      maple check --site ncsa-delta job.sh -- --nodes=4 --partition=gpuA100x4
      maple check job.sh -- --nodes=4 -- train.py 8
      maple check --site alcf-polaris job.sh -- -l select=4 -q prod
      generate-job | maple check - --json

    Exit code: 0 clean, 1 findings, 2 usage, or the script cannot be read.
    """
    asked = answer(script, words, site_id)
    if asked.decision.findings:
        asked = asked._replace(decision=explained(asked.decision, asked.submission, asked.site))
        from .other_cluster import with_last_rung

        asked = with_last_rung(asked)
    asked = asked._replace(decision=handed_over(asked.submission, asked.decision))
    mode = mode_of(asked)
    if as_json:
        from .answers import checked

        click.echo(json.dumps(checked(asked, mode), indent=2))
    else:
        show(asked, mode, with_plan)
    return EXIT.get(asked.decision.verdict, 1)


def mode_of(asked: Answer) -> str:
    """Return the mode in force: off if the script says so, else the user's, else the site's, else repair."""
    if OFF.search(asked.submission.script or b""):
        return "off"
    return in_force(policy_of(None, asked.site.mode), (), (), asked.submission.environment.get(b"MAPLE", b""))


def show(asked: Answer, mode: str, with_plan: bool = False) -> None:
    """Print findings and differences for people; the tree of processes only where it is asked for, or wrong."""
    from maple_submit_filter.answer.fate import fates

    from ..base import drawing

    decision, source = asked.decision, asked.submission.script or b""
    lines = report(decision.findings, source, asked.name, fates(decision, mode), drawing.width())
    drawing.findings(lines)
    if decision.plan is not None and decision.plan.steps and (with_plan or _is_wrong(decision)):
        from .branches import branches

        drawing.draw(branches(decision.plan, asked.name))
    _differences(asked, decision.repaired, "submitted in its place" if mode == "repair" else "mode repair would submit")
    _left(asked)
    if decision.offered is not None and decision.offered != decision.repaired:
        anew = any(because == CODE for _, because in decision.offered.because)
        _differences(asked, decision.offered, "written anew, if you take it" if anew else ACCEPTED)
        drawing.say("  " + printable(says) for says in decision.offered.says)
    drawing.say(printable(held) for code, held in decision.held_back if code == CODE)
    drawing.say([f"{printable(asked.name)}: {_summary(decision, mode)}"])
    drawing.say([asked.on_site])
    if _waits_for_arguments(asked):
        drawing.say([ARGUMENTS_UNKNOWN])


def _left(asked: Answer) -> None:
    """Tell what is found in the repaired script and was not in the one before: a mistake may have hidden it."""
    from maple_submit_filter.answer.decision import decide
    from maple_submit_filter.host.bounded_file import read_file

    from ..base import drawing

    new, before = asked.decision.repaired, asked.submission.script
    if new is None:
        return
    script = before if new.script is None else new.script
    again = decide(asked.submission._replace(script=script, argv=new.argv), asked.site, peruse=read_file)
    known = {one.code for one in asked.decision.findings}
    more = dict.fromkeys(code for _, code in new.because if code.startswith("MPL") and code not in known)
    if more:
        drawing.say([f"changed too, for what is wrong then: {', '.join(more)} (maple explain {next(iter(more))})"])
    left = tuple(one for one in again.findings if one.code not in known)
    if left:
        drawing.say(["and there, still:"])
        drawing.findings(report(left, script or b"", asked.name, width=drawing.width()))


def _is_wrong(decision: Decision) -> bool:
    """Return whether what is proven wrong is seen in the processes that would start."""
    told = any(one.proven and not one.code.startswith("MPL1") for one in decision.findings)
    steps = decision.plan.steps if decision.plan else ()
    return told and any(breach.kind not in TOLD for step in steps for breach in step.breaches)


def _summary(decision: Decision, mode: str) -> str:
    if mode != "repair" and decision.verdict == "repaired":
        found = _summary(decision._replace(verdict="findings"), mode)
        return f"{found}; submitted as written, because the mode is {mode}"
    errors = sum(one.proven for one in decision.findings)
    unread = decision.plan.unread[0][1] if decision.plan and decision.plan.unread else ""
    return summary(decision.verdict, errors, len(decision.findings) - errors, decision.why or unread)


def _waits_for_arguments(asked: Answer) -> bool:
    """Return whether more could be said if it were known what stands behind the script."""
    if asked.submission.whole or not ARGUMENTS.search(asked.submission.script or b""):
        return False
    from maple_submit_filter.answer.decision import decide

    without = decide(asked.submission._replace(whole=True), asked.site)
    return any(one.proven and one not in asked.decision.findings for one in without.findings)


def _differences(asked: Answer, new: Optional[Rewritten], title: str) -> None:
    from ..base import drawing

    if new is None:
        return
    click.echo(f"{title}:")
    if new.argv != asked.submission.argv:
        click.echo("  " + " ".join(printable(os.fsdecode(word)) for word in new.argv))
    before = asked.submission.script or b""
    text = unified(before, before if new.script is None else new.script, asked.name)
    drawing.diff(printable(line.replace("\t", "    ")) for line in text.split("\n")[:-1])
