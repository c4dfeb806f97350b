"""What a rule says of one thing does not rest on another of which it says nothing: over cases of every rule.

A rule passes over the lines, directives and facts that are not its own. One that stopped there would be right in every
script that has one thing wrong alone.
"""

from __future__ import annotations

from collections import defaultdict
from functools import cache
from typing import Any, Iterator, NamedTuple

import pytest
from maple_submit_filter.answer.decision import at_home, decide, understood
from maple_submit_filter.plan.build import plan
from maple_submit_filter.rules import Rule, rules
from maple_submit_filter.site.facts import GENERIC_SLURM, Site
from maple_submit_filter.types.job import Job, line_of
from maple_submit_filter.types.launch_plan import LaunchPlan, Step

from tests.submit_filter import rule_cases
from tests.submit_filter.test_heart import submitted

MOST = 6  # cases of a rule
RULES = {rule.code: rule for rule in rules()}

# Rules of the script as a whole: each asks for something of all of its lines.
OF_ALL_LINES = {
    "MPL108": "which line ends before the words that follow", "MPL115": "what runs in the foreground",
    "MPL218": "whether anything uses the other nodes", "MPL319": "whether anything uses the other GPUs",
    "MPL328": "which line is the head", "MPL401": "whether any rank is shown a GPU",
    "MPL409": "whether any line sets the words", "MPL604": "which line uses a node",
}  # fmt: skip
# Rules of launch lines, of environments and of communication that speak of a line that may not run.
OF_ANY_LINE = {
    "MPL307", "MPL308", "MPL311", "MPL312", "MPL317", "MPL321", "MPL325", "MPL332", "MPL336", "MPL337", "MPL338",
    "MPL406", "MPL408", "MPL410", "MPL411", "MPL413", "MPL414", "MPL415", "MPL416", "MPL417", "MPL418", "MPL501",
    "MPL504", "MPL506", "MPL508", "MPL511",
}  # fmt: skip
OF_THE_TEXT = ("MPL317", "MPL338", "MPL511")  # what bash itself reads, or a script sets, whatever runs
TABLES = ("demands", "refusals", "unfit", "launchers", "partitions", "kinds", "plugin_options", "account_endings")


class Spoken(NamedTuple):
    """A case of which its rule says something, played."""

    rule: Rule
    name: str
    plan: LaunchPlan
    job: Job
    site: Site

    def found(self, **other: Any) -> set[tuple[object, ...]]:
        """Return what the rule says where something of it is another."""
        case = self._replace(**other)
        return {finding[:3] for finding in self.rule.check(case.plan, case.job, case.site)}


@cache
def played() -> dict[str, list[Spoken]]:
    """Return some cases of each rule of which it says something."""
    rows: dict[str, list[Spoken]] = defaultdict(list)
    for case in (*rule_cases.cases(), *rule_cases.cases(rule_cases.OF_LAUNCH)):
        job = understood(case.submission, case.read) if case.expected and len(rows[case.code]) < MOST else None
        site = at_home(case.submission, case.site)
        if job is not None and site is not None:
            made = plan(job.submission, job.script, job.settings, site, job.arguments, job.read)
            rows[case.code].append(Spoken(RULES[case.code], case.name, made, job, site))
    return {code: [row for row in those if row.found()] for code, those in rows.items()}


def beside(first: Step) -> Iterator[Step]:
    """Yield lines of which nothing is said: one that may not run, a command, one of a launcher that nobody knows."""
    yield first._replace(maybe=True, breaches=())
    bare = first._replace(links=(), groups=(), breaches=(), program=(b"echo",), program_span=None, program_spans=(),
                          workers_per_task=None, unknown=(), lacks=())  # fmt: skip
    yield bare
    if first.links:
        yield bare._replace(links=(first.links[0]._replace(name="wrapper", options=()),))


@pytest.mark.parametrize("code", sorted(RULES.keys() - OF_ALL_LINES))
def test_a_line_of_which_nothing_is_said_changes_nothing_that_is_said_of_others(code: str) -> None:
    """Whether it stands in front or behind."""
    for case in played().get(code, ()):
        for other in beside(case.plan.steps[0]) if case.plan.steps else ():
            for steps in ((other, *case.plan.steps), (*case.plan.steps, other)):
                assert case.found(plan=case.plan._replace(steps=steps)) == case.found(), case.name


@pytest.mark.parametrize("code", sorted(RULES))
def test_the_order_of_a_site_s_facts_changes_nothing_that_is_said(code: str) -> None:
    for case in played().get(code, ()):
        for table in TABLES:
            turned = case.site._replace(**{table: getattr(case.site, table)[::-1]})
            assert case.found(site=turned) == case.found(), (case.name, table)


@pytest.mark.parametrize("code", sorted(RULES.keys() - {"MPL104"}))  # of many foreign lines the first is told
def test_of_what_is_not_read_each_is_spoken_of_whatever_stands_before_it(code: str) -> None:
    """In whichever order, and behind one that is no matter of the rule."""
    for case in played().get(code, ()):
        odd = case.job.script.oddities
        for oddities in (odd[::-1], *((one._replace(kind="another", says="x"), *odd) for one in odd[:1])):
            script = case.job.script._replace(oddities=oddities)
            assert case.found(job=case.job._replace(script=script)) == case.found(), case.name


@pytest.mark.parametrize("code", sorted(code for code in RULES if code[3] in "345"))
def test_of_a_launch_line_that_may_not_run_nothing_is_said(code: str) -> None:
    """But by those rules for which it is enough that it is written; and by these as well nothing is proven of it."""
    for case in played().get(code, ()):
        steps = tuple(step._replace(maybe=True, breaches=()) for step in case.plan.steps)
        said = list(case.rule.check(case.plan._replace(steps=steps), case.job, case.site))
        assert code in OF_ANY_LINE or not said, case.name
        assert code in OF_THE_TEXT or not any(finding.proven for finding in said), case.name


REFUSED = ("--cpu-bind=cores", "--time:01:00:00", "--gpu-per-node=4", "--image=x", "--kill-on-bad-exit=1")


@pytest.mark.parametrize("turned", range(len(REFUSED)))
def test_each_option_that_sbatch_does_not_know_is_spoken_of(turned: int) -> None:
    """Whichever kind of slip stands before it; that of a plug-in is none."""
    lines = ["#SBATCH " + words for words in (*REFUSED[turned:], *REFUSED[:turned])]
    asked = submitted("\n".join(["#!/bin/bash", *lines, "srun python a.py", ""]).encode())
    found = [finding for finding in decide(asked, GENERIC_SLURM, None).findings if finding.code == "MPL106"]
    said = {(asked.script or b"").split(b"\n")[line_of(asked.script or b"", finding.at.start) - 1] for finding in found
            if finding.at is not None}  # fmt: skip
    assert len(found) == 4 and said == {line.encode() for line in lines if "image" not in line}


def test_the_rules_that_are_left_out_are_those_that_there_are() -> None:
    assert OF_ALL_LINES.keys() | OF_ANY_LINE <= RULES.keys()
    assert len(played()) >= 119 and sum(map(len, played().values())) >= 479
