"""Where a line stands: what is found moves with it, changes and all, and of a comment no rule says anything."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Optional

import pytest
from maple_submit_filter.answer.decision import understood
from maple_submit_filter.plan.build import plan
from maple_submit_filter.types.edits import Span
from maple_submit_filter.types.findings import Finding
from maple_submit_filter.types.job import line_of

from tests.submit_filter.test_rules_apart import RULES, Spoken, played

LINE = b"# x y z\n"
OF_THE_BYTES = {"MPL105"}  # it speaks of line breaks, and of bytes before the first line


def said(case: Spoken, source: bytes) -> list[Finding]:
    """Return what the rule of a case says of another script."""
    job = understood(case.job.submission._replace(script=source), case.job.read)
    assert job is not None
    made = plan(job.submission, job.script, job.settings, case.site, job.arguments, job.read)
    return list(case.rule.check(made, job, case.site))


def placed(findings: Iterable[Finding], behind: int, by: int) -> list[tuple[object, ...]]:
    """Return the places of findings and of their changes, those behind an offset moved by so many bytes."""

    def moved(span: Optional[Span]) -> Optional[Span]:
        return Span(span.start + by, span.end + by) if span is not None and span.start >= behind else span

    rows = [(finding.code, moved(finding.at), [
        ([(moved(edit.span), edit.new) for edit in fix.edits], fix.safety) for fix in finding.fixes
    ]) for finding in findings]  # fmt: skip
    return sorted(rows, key=repr)


@pytest.mark.parametrize("code", sorted(RULES.keys() - OF_THE_BYTES))
def test_what_is_found_moves_with_its_line(code: str) -> None:
    """So do its changes; a comment below the first line is no part of anything."""
    for case in played().get(code, ()):
        source = case.job.source
        at = source.find(b"\n") + 1
        found = case.rule.check(case.plan, case.job, case.site)
        there = said(case, source[:at] + LINE + source[at:])
        assert placed(there, 0, 0) == placed(found, at, len(LINE)), case.name


@pytest.mark.parametrize("code", sorted(RULES.keys() - OF_THE_BYTES))
def test_of_a_line_that_is_a_comment_nothing_is_said(code: str) -> None:
    """Whatever its rule says of it as it runs; of directives, which are comments, other rules hold."""
    for case in played().get(code, ()):
        lines = case.job.source.split(b"\n")
        for finding in case.rule.check(case.plan, case.job, case.site):
            at = line_of(case.job.source, finding.at.start) - 1 if finding.at is not None else 0
            goes_on = lines[at].endswith(b"\\") or lines[max(at - 1, 0)].endswith(b"\\")
            if finding.at is None or lines[at].lstrip().startswith(b"#") or goes_on:
                continue
            source = b"\n".join([*lines[:at], b"# " + lines[at], *lines[at + 1 :]])
            places = {line_of(source, other.at.start) - 1 for other in said(case, source) if other.at is not None}
            assert at not in places, case.name
