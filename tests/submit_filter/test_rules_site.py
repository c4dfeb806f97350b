"""The rules about the request, and all advice: they find what their cases say, and a fix leaves nothing to find."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from maple_submit_filter.rules import Rule, rules
from maple_submit_filter.site.facts import GENERIC_PBS, GENERIC_SLURM

from tests.reality.asked import ask
from tests.reality.corpus import Case
from tests.reality.corpus import cases as corpus
from tests.submit_filter.rule_cases import OF_LAUNCH, RuleCase, cases, found, lines, mended

# The rules that read the breaches of a plan are held to their cases in test_rules_launch.py.
LAUNCH = frozenset(name.removesuffix(".toml") for name in os.listdir(OF_LAUNCH))
CASES = [case for case in cases() if case.code not in LAUNCH]
LEFT_ALONE = [*corpus("right"), *corpus("tricky")]


@pytest.fixture(autouse=True)
def a_rule_that_fails_is_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAPLE_RULES_RAISE", "1")


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_rule_finds_what_the_case_says(case: RuleCase) -> None:
    assert lines(found(case), case.submission.script or b"") == case.expected


@pytest.mark.parametrize("case", [case for case in CASES if case.fixed or case.fixed_argv], ids=str)
def test_a_fix_makes_the_expected_bytes_and_leaves_the_rule_silent(case: RuleCase) -> None:
    """No line is added or removed, and doing it again changes nothing."""
    after = mended(case)
    assert after.script == (case.fixed or case.submission.script)
    assert after.argv == (case.fixed_argv or case.submission.argv)
    assert [one for one in found(case, after) if one.proven] == []
    assert mended(case._replace(submission=after)) == after


@pytest.mark.parametrize("case", [case for case in CASES if not (case.fixed or case.fixed_argv)], ids=str)
def test_a_case_without_a_fixed_file_has_no_fix(case: RuleCase) -> None:
    assert mended(case) == case.submission


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule.code)
def test_a_rule_explains_itself(rule: Rule) -> None:
    for word in ("Wrong:", "Right:", "Why:"):
        assert "\n    %s " % word in rule.page or "\n%s " % word in rule.page, word


@pytest.mark.parametrize("code", sorted({case.code for case in CASES}))
def test_a_rule_with_cases_has_a_wrong_and_a_right_one(code: str) -> None:
    mine = [case for case in CASES if case.code == code]
    assert any(case.expected for case in mine)
    assert any(not case.expected for case in mine)


def test_every_rule_has_cases() -> None:
    elsewhere = {"MPL117"}  # of words behind which no script is read: test_left_alone.py
    assert {rule.code for rule in rules()} - set(LAUNCH) - {case.code for case in CASES} - elsewhere == set()


OF_THE_SCHEDULER = ("MPL216",)  # what any PBS refuses
BY_SITE = [
    case
    for case in CASES
    if case.site.id not in (GENERIC_SLURM.id, GENERIC_PBS.id)
    and (case.code[:4] == "MPL2" or case.code == "MPL307")
    and case.code not in OF_THE_SCHEDULER
]
ELSEWHERE = {"slurm": b"--clusters=elsewhere", "pbs": b"-qany@elsewhere"}


@pytest.mark.parametrize("case", BY_SITE, ids=str)
def test_nothing_is_held_against_a_request_for_another_cluster(case: RuleCase) -> None:
    """What the site file says is not true there."""
    words = case.submission.argv
    where = 1 if case.submission.scheduler == "slurm" else words.index(b"job.sh")  # of two queues the last counts
    argv = (*words[:where], ELSEWHERE[case.submission.scheduler], *words[where:])
    assert [one for one in found(case, case.submission._replace(argv=argv)) if one.proven] == []


def test_advice_is_rare_on_right_scripts(tmp_path) -> None:  # type: ignore[no-untyped-def]
    """Advice that shows on many right scripts is noise."""
    told: dict[str, int] = {}
    for case in LEFT_ALONE:
        for code in {one.code for one in _asked(case, str(tmp_path)) if not one.proven}:
            told[code] = told.get(code, 0) + 1
    print("advice on %d right scripts: %s" % (len(LEFT_ALONE), told))
    assert all(count <= len(LEFT_ALONE) // 10 for count in told.values())


def _asked(case: Case, folder: str) -> tuple:  # type: ignore[type-arg]
    return ask(case, folder).decision.findings


HALF_LOADED = """
import maple_submit_filter.rules as all_rules
files = all_rules._files
all_rules._files = lambda folder: [*list(files(folder))[:3], ("launch", "mpl999_gone")]
for _ in range(2):
    try:
        print(len(all_rules.rules()))
    except ImportError:
        print("failed")
all_rules._files = files
codes = [one.code for one in all_rules.rules()]
print(len(codes) == len(set(codes)), len(codes) > 80)
"""


def test_part_of_the_rules_never_counts_as_all_of_them() -> None:
    """One that cannot be loaded fails each time, so that nobody is told that a script is right; all are there later."""
    said = subprocess.run([sys.executable, "-c", HALF_LOADED], capture_output=True, text=True, check=True).stdout
    assert said.split() == ["failed", "failed", "True", "True"]
