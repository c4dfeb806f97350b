"""`maple check`: what is wrong with a batch script, and what would be submitted in its place."""

from __future__ import annotations

import os
import re
from itertools import takewhile
from typing import TYPE_CHECKING, Iterator, List, Optional, Sequence, Tuple, Union

import click
from maple_submit_filter.answer.decision import Decision, Rewritten, explained
from maple_submit_filter.answer.reply import handed_over, partitions
from maple_submit_filter.answer.report import in_order, printable, report, summary
from maple_submit_filter.plan import breach_kinds
from maple_submit_filter.request.unread_directives import CODE
from maple_submit_filter.site.modes import in_force, policy_of
from maple_submit_filter.types.findings import Finding
from maple_submit_filter.types.job import line_of

from ..ask.submission import Answer, answer
from ..base import output
from ..base.complaint import Complaint
from ..base.output import unified
from . import completion

if TYPE_CHECKING:
    from maple_submit_filter.answer.remainder import Remainder

OFF = re.compile(rb"^[ \t]*#[ \t]*maple:[ \t]*off[ \t\r]*$", re.MULTILINE)  # as the front reads it
ARGUMENTS = re.compile(rb"\$\{?[#!]?[1-9@*#]|\bgetopts?\b|\bshift\b")
SUGGESTED = "a possible change, for what is advice (at submission nobody is asked about it)"
ACCEPTED = "if you accept every suggested change (sbatch and qsub ask you on a terminal)"
TOGETHER = "what the suggested changes would make of it together (at submission nobody is asked about them)"
ARGUMENTS_UNKNOWN = "help: more depends on the words behind the script; say them: maple check SCRIPT -- -- WORDS"
NOTHING, NOTHING_ELSE = summary("clean", 0), "nothing else found"
EXIT = {"clean": 0, "unread": 2}  # all else: 1


@click.command()
@click.argument("script", metavar="SCRIPT|-", shell_complete=completion.files)
@click.argument(
    "words", nargs=-1, metavar="[SCRIPT...] [-- WORDS... [-- ARGS...]]", type=click.UNPROCESSED,
    shell_complete=completion.files,
)  # fmt: skip
@click.option(
    "--site",
    "site_id",
    metavar="ID|FILE",
    shell_complete=completion.site_or_file,
    help="Check for this site, not for the one we are on.",
)
@click.option("--plan", "with_plan", is_flag=True, help="Draw the processes that would start, too.")
@click.option("--json", "as_json", is_flag=True, help="Print the answer as JSON; its shape is stable.")
@click.option("--take", type=click.IntRange(min=1), metavar="N", help="Print the script as offer N would make it.")
def check(
    script: str, words: Tuple[str, ...], site_id: Optional[str], with_plan: bool, as_json: bool, take: Optional[int]
) -> int:
    """Say what is wrong with batch scripts, and what would be submitted in their place. Nothing is submitted.

    SCRIPT is a file, or - for standard input; several are checked one by one. WORDS stand before the script on the
    command line of sbatch or qsub, and ARGS behind it: what a script of Slurm knows as $1, $2 and $@. Without the
    second -- they are not known, so what depends on them is left alone; with nothing behind it the script has none.

    \b
    Examples:
      maple check job.sh
      maple check *.sh
      maple check --site ncsa-delta job.sh -- --nodes=4 --partition=gpuA100x4
      maple check job.sh -- --nodes=4 -- train.py 8
      maple check --take 2 job.sh > job.mended.sh
      maple check --site alcf-polaris job.sh -- -l select=4 -q prod
      generate-job | maple check - --json

    Exit code: 0 clean, 1 findings, 2 usage, or a script cannot be read; of several scripts the highest.
    """
    scripts, before = _scripts(script, words)
    if take is not None and scripts[1:]:
        raise Complaint("--take is about one script", "name one")
    if not scripts[1:]:
        asked, mode = _asked(script, words, site_id)
        if take is not None:
            return _taken(asked, take)
        if as_json:
            from .answers import checked

            output.echo(checked(asked, mode))
        else:
            show(asked, mode, with_plan)
        return EXIT.get(asked.decision.verdict, 1)
    return _each(scripts, before, site_id, with_plan, as_json)


def _taken(asked: Answer, number: int) -> int:
    """Print the script as the offer of that number has it; a change of the command line is told beside it."""
    if number > len(asked.offers):
        there = "there are %d" % len(asked.offers) if asked.offers else "there is none"
        raise Complaint(f"no offer {number} for {asked.name}: {there}", f"see them: maple check {asked.name}")
    new = asked.offers[number - 1]
    click.echo((asked.submission.script if new.script is None else new.script) or b"", nl=False)
    if new.argv != asked.submission.argv:
        click.echo("submit it as: " + " ".join(printable(os.fsdecode(word)) for word in new.argv), err=True)
    return 0


def _scripts(script: str, words: Sequence[str]) -> Tuple[Sequence[str], Sequence[str]]:
    """Return the scripts, and the words for the scheduler's command: these begin with an option."""
    more = len(list(takewhile(lambda word: not word.startswith("-"), words)))
    return (script, *words[:more]), words[more:]


def _each(scripts: Sequence[str], words: Sequence[str], site_id: Optional[str], with_plan: bool, as_json: bool) -> int:
    """Check one after the other; one that cannot be read is told, and keeps none of the others from it."""
    from . import shapes
    from .answers import checked

    codes: List[int] = []
    rows: List[Union[shapes.NamedCheck, shapes.Unreadable]] = []
    for script in scripts:
        try:
            asked, mode = _asked(script, words, site_id)
        except Complaint as error:
            codes.append(error.exit_code)
            rows.append(shapes.Unreadable(script=script, error=error.format_message()))
            if not as_json:
                click.echo(f"maple: {error.format_message()}", err=True)
            continue
        codes.append(EXIT.get(asked.decision.verdict, 1))
        rows.append({"script": script, **checked(asked, mode)})
        if not as_json:
            show(asked, mode, with_plan)
    if as_json:
        output.echo(shapes.Checks(scripts=rows))
    return max(codes)


def _asked(script: str, words: Sequence[str], site_id: Optional[str]) -> Tuple[Answer, str]:
    """Return all that is said of one script, and the mode in force."""
    asked = answer(script, words, site_id)
    if asked.decision.findings:
        asked = asked._replace(decision=explained(asked.decision, asked.submission, asked.site))
        from maple_submit_filter.answer.fate import offers, suggested

        own = asked.decision.offered is not None
        asked = asked._replace(decision=suggested(asked.decision, asked.submission, asked.site), asks=own)
        from .other_cluster import with_last_rung

        asked = with_last_rung(asked)
        asked = asked._replace(offers=offers(asked.decision, asked.submission, asked.site))
    asked = asked._replace(decision=handed_over(asked.submission, asked.decision))
    return asked, mode_of(asked)


def mode_of(asked: Answer) -> str:
    """Return the mode in force: off if the script says so, else the user's, else that of installation or site."""
    if OFF.search(asked.submission.script or b""):
        return "off"
    policy = asked.policy or policy_of(None, asked.site.mode)
    named = partitions(asked.submission, policy)
    return in_force(policy, named, {os.getegid(), *os.getgroups()}, asked.submission.environment.get(b"MAPLE", b""))


def show(asked: Answer, mode: str, with_plan: bool = False) -> None:
    """Print findings and differences for people; the tree of processes only where it is asked for, or wrong."""
    from maple_submit_filter.answer.fate import fates

    from ..base import output

    decision, source = asked.decision, asked.submission.script or b""
    lines = report(decision.findings, source, asked.name, fates(decision, mode), output.width())
    output.findings(lines)
    if decision.plan is not None and decision.plan.steps and (with_plan or _is_wrong(decision)):
        from .plan import branches

        output.draw(branches(decision.plan, asked.name))
    _differences(asked, decision.repaired, "submitted in its place" if mode == "repair" else "mode repair would submit")
    of = _remainder(asked)
    _left(asked, of.new)
    if decision.offered is not None and decision.offered != decision.repaired:
        anew = any(because == CODE for _, because in decision.offered.because)
        advice = not any(finding.proven for finding in decision.findings)
        title = SUGGESTED if advice else ACCEPTED if asked.asks else TOGETHER
        _differences(asked, decision.offered, "written anew, if you take it" if anew else title)
        output.say("  " + printable(says) for says in decision.offered.says)
        output.say(_hidden(asked, decision.offered) if not anew else ())
        output.say(_wrong_then(asked, of.behind[0]))
    output.say(_choices(asked))
    output.say(printable(held) for code, held in decision.held_back if code == CODE)
    output.say(_mapping(asked))
    unlisted = list(_unlisted(asked))
    output.say(unlisted)
    text = _summary(asked, mode, of)
    output.say([f"{printable(asked.name)}: {NOTHING_ELSE if unlisted and text == NOTHING else text}"])
    output.say([asked.on_site])
    output.say(_forecast(asked))
    if _waits_for_arguments(asked):
        output.say([ARGUMENTS_UNKNOWN])


def _forecast(asked: Answer) -> Iterator[str]:
    """Yield what the service's memory tells of how long it will run; nobody else is asked, and silence is no matter."""
    if asked.decision.verdict == "unread" or not asked.is_here:
        return
    from ..forecast.service_runs import line

    sentence = line(asked)
    if sentence:
        yield printable(sentence)


def _mapping(asked: Answer) -> Iterator[str]:
    """Yield a line for each rank or group on the wrong hardware of which no rule has spoken."""
    from ..mapping import about

    if about(asked.submission.script or b""):
        from ..mapping.question import beside_rules, sentences

        findings = beside_rules(asked)
        yield from (printable(f"map: {sentence}") for sentence in sentences(findings, asked.name))
        if findings:
            yield "help: maple map show draws which rank runs where"


def _choices(asked: Answer) -> Iterator[str]:
    """Yield the ways on offer, numbered, each with what it would start, where there is more than one."""
    if len(asked.offers) < 2:
        return
    yield "ways to go on (maple check --take N prints the script):"
    sentences = [way.says for way in asked.offers]
    for number, rewritten in enumerate(asked.offers, 1):
        where = (
            f" in line {rewritten.because[0][0]}"
            if sentences.count(rewritten.says) > 1 and rewritten.because and rewritten.because[0][0]
            else ""
        )
        yield f"  {number}. {printable('; '.join(rewritten.says))}{where}{_starts(asked, rewritten)}"


def _starts(asked: Answer, new: Rewritten) -> str:
    """Return what an offer would start, as far as it is known: `: 8 ranks on 2 nodes`."""
    from maple_submit_filter.answer.decision import decide
    from maple_submit_filter.types.findings import counted

    script = asked.submission.script if new.script is None else new.script
    plan = decide(asked.submission._replace(script=script, argv=new.argv), asked.site).plan
    worlds = [group for step in plan.steps for group in step.groups] if plan is not None else []
    sizes = [f"{counted(world.world_size, 'rank')} on {counted(world.nodes, 'node')}" for world in worlds
            if world.world_size is not None and world.nodes is not None]  # fmt: skip
    return ": " + ", ".join(dict.fromkeys(sizes)) if sizes else ""


def _remainder(asked: Answer) -> Remainder:
    """Return what becomes of each finding by what is made unasked and by what is on offer."""
    from maple_submit_filter.answer.remainder import remainder

    decision = asked.decision
    every = dict.fromkeys((decision.offered, *asked.offers))  # what is offered is the first of the offers, too
    ways = [way for way in every if way is not None and way != decision.repaired]
    return remainder(decision.findings, decision.repaired, ways, asked.submission, asked.site)


def _left(asked: Answer, new: Sequence[Finding]) -> None:
    """Tell what is found in the repaired script and was not in the one before: a mistake may have hidden it."""
    from ..base import output

    made = asked.decision.repaired
    if made is None:
        return
    script = asked.submission.script if made.script is None else made.script
    output.say(_hidden(asked, made))
    if new:
        output.say(["and there, still:"])
        output.findings(report(new, script or b"", asked.name, width=output.width()))


def _unlisted(asked: Answer) -> Iterator[str]:
    """Yield a line on a partition or queue that Maple's facts about the site do not name, where no finding does."""
    site, plan = asked.site, asked.decision.plan
    selector = "queue" if site.scheduler == "pbs" else "partition"
    known = {partition.name for partition in site.partitions if partition.selector == selector}
    named = plan.allocation.partition.split(",") if plan is not None and known else []
    unknown = [name for name in named if name and name not in known and "$" not in name and "?" not in name]
    if unknown and not any(finding.code == "MPL207" for finding in asked.decision.findings):
        yield printable(
            f"{selector} {', '.join(unknown)}: Maple does not know it at {site.id} (known: {', '.join(sorted(known))})"
        )


def _wrong_then(asked: Answer, left: Sequence[Finding]) -> Iterator[str]:
    """Yield a line for each finding that is *left* by what is on offer, with its own way where it has one.

    Advice only where a mistake had hidden it: what was advised before is told of in its place.
    """
    known = {finding.code for finding in asked.decision.findings}
    for finding in dict.fromkeys(finding for finding in left if finding.proven or finding.code not in known):
        own = [n for n, way in enumerate(asked.offers, 1) if any(s.startswith(finding.code + " ") for s in way.says)]
        way = f"; a way of its own: {own[0]}" if own else ""
        yield printable(f"still wrong then: {finding.code} {finding.says}{way}")


def _hidden(asked: Answer, new: Rewritten) -> Iterator[str]:
    """Yield a line on the rules that changed something without a finding: a mistake had hidden theirs."""
    known = {finding.code for finding in asked.decision.findings}
    more = dict.fromkeys(code for _, code in new.because if code.startswith("MPL") and code not in known)
    if more:
        yield f"changed too, for what is wrong then: {', '.join(more)} (maple explain {next(iter(more))})"


def _is_wrong(decision: Decision) -> bool:
    """Return whether what is proven wrong is seen in the processes that would start."""
    wrong = any(finding.proven and not finding.code.startswith("MPL1") for finding in decision.findings)
    steps = decision.plan.steps if decision.plan else ()
    return wrong and any(breach.kind not in breach_kinds.UNPROVEN for step in steps for breach in step.breaches)


def _summary(asked: Answer, mode: str, of: Remainder) -> str:
    """Return the last line: what is found, what is cured, what is on offer, and what remains then."""
    decision, made = asked.decision, asked.decision.repaired
    errors = sum(finding.proven for finding in decision.findings)
    counts = errors, len(decision.findings) - errors
    if mode != "repair" and decision.verdict == "repaired":
        return f"{summary('findings', *counts)}; submitted as written, because the mode is {mode}"
    unread = decision.plan.unread[0][1] if decision.plan and decision.plan.unread else ""
    source = (asked.submission.script if made is None or made.script is None else made.script) or b""
    named = [_named(finding, source) for finding in in_order((*of.advice, *of.new))]
    gone = sum(not finding.proven for finding in of.cured)
    return summary(decision.verdict, *counts, decision.why or unread, len(of.offered), named, gone)


def _named(finding: Finding, source: bytes) -> str:
    """Return a finding's code, and its line in the script that it was found in; no change adds or removes one."""
    line = line_of(source, finding.at.start) if finding.at is not None else 0
    return f"{finding.code} (line {line})" if line else finding.code


def _waits_for_arguments(asked: Answer) -> bool:
    """Return whether more could be said if it were known what stands behind the script."""
    if asked.submission.whole or not ARGUMENTS.search(asked.submission.script or b""):
        return False
    from maple_submit_filter.answer.decision import decide

    without = decide(asked.submission._replace(whole=True), asked.site)
    return any(finding.proven and finding not in asked.decision.findings for finding in without.findings)


def _differences(asked: Answer, new: Optional[Rewritten], title: str) -> None:
    from ..base import output

    if new is None:
        return
    click.echo(f"{title}:")
    if new.argv != asked.submission.argv:
        click.echo("  " + " ".join(printable(os.fsdecode(word)) for word in new.argv))
    before = asked.submission.script or b""
    text = unified(before, before if new.script is None else new.script, asked.name)
    output.diff(printable(line.replace("\t", "    ")) for line in text.split("\n")[:-1])
