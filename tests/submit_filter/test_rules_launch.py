"""The rules about launch lines, and what repair makes of them.

The cases are those of `rule_cases` in `tests/cases/launch/`; `submitted` is the script that is submitted unasked.
"""

from __future__ import annotations

import pytest
from maple_submit_filter.answer.decision import Decision, decide
from maple_submit_filter.answer.report import safety
from maple_submit_filter.bash.check import parses
from maple_submit_filter.types.job import line_of

from tests.submit_filter import rule_cases

LAUNCH = ("MPL108", "MPL203", "MPL301", "MPL302", "MPL303", "MPL304", "MPL305", "MPL306", "MPL310", "MPL412",
          "MPL312", "MPL313", "MPL314", "MPL315", "MPL316", "MPL317", "MPL318", "MPL319", "MPL320",
          "MPL401", "MPL402", "MPL501", "MPL502", "MPL503", "MPL504", "MPL508", "MPL509", "MPL510",
          "MPL321", "MPL322", "MPL323", "MPL324", "MPL325", "MPL326", "MPL327", "MPL328", "MPL329", "MPL330",
          "MPL403", "MPL404", "MPL405", "MPL406", "MPL331", "MPL332", "MPL338", "MPL413")  # fmt: skip
CASES = rule_cases.cases(rule_cases.OF_LAUNCH)


def decided(case: rule_cases.RuleCase) -> Decision:
    """What Maple decides; no file is looked at but those of the case."""
    read = case.read if case.disk is not None else None
    return decide(case.submission, case.site, read, read)


def wanted(case: rule_cases.RuleCase) -> bytes | None:
    """The repaired script that the case expects, None where nothing is to be changed."""
    return case.submitted


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_rule_finds_what_the_case_says(case: rule_cases.RuleCase) -> None:
    """At that line, proven or not, with that safety; and nothing where the case says nothing."""
    source = case.submission.script or b""
    found = [
        "%d %s %s" % (line_of(source, one.at.start) if one.at else 0, "proven" if one.proven else "tell", safety(one))
        for one in decided(case).findings
        if one.code == case.code
    ]
    assert tuple(found) == case.expected


@pytest.mark.parametrize("case", CASES, ids=str)
def test_repair_submits_what_the_case_says(case: rule_cases.RuleCase) -> None:
    """Byte for byte; and where the user has to decide, nothing is changed."""
    repaired = decided(case).repaired
    assert (repaired.script if repaired else None) == wanted(case)


@pytest.mark.parametrize("case", [case for case in CASES if wanted(case) is not None], ids=str)
def test_a_repaired_script_is_left_alone_the_second_time(case: rule_cases.RuleCase) -> None:
    """It parses, has as many lines as before, and nothing is proven of it."""
    new = wanted(case) or b""
    again = decide(case.submission._replace(script=new), case.site, None)
    assert parses(new) and new.count(b"\n") == (case.submission.script or b"").count(b"\n")
    assert not again.repaired and not any(one.proven for one in again.findings)


def test_every_rule_about_launch_lines_has_a_wrong_and_a_right_case() -> None:
    """So that none can be silent, or speak, always."""
    spoken = {case.code for case in CASES if case.expected}
    silent = {case.code for case in CASES if not case.expected}
    assert spoken == silent == set(LAUNCH)
