"""The line of the script that a rule proves wrong: where a job hangs in silence, it is the evidence."""

from __future__ import annotations

import os
from collections.abc import Iterable

from maple_submit_filter.answer.decision import Decision
from maple_submit_filter.types.findings import Finding
from maple_submit_filter.types.script import line_of
from maple_submit_filter.types.submission import Submission

from ..templates.knowledge.entries import Entry
from .read import cleaned
from .values import Case, Evidence


def proving(entry: Entry, case: Case, decision: Decision | None) -> tuple[Evidence, ...]:
    """Return the first line of each finding that *entry* needs, in the order of the script, each once."""
    asked, wanted = case.asked, _wanted(entry)
    if not wanted or decision is None or asked is None or asked.script is None:
        return ()
    starts = {one.at.start for one in _proven(decision.findings, wanted) if one.at is not None}
    return tuple(_line(asked, asked.script, number) for number in sorted({line_of(asked.script, at) for at in starts}))


def _wanted(entry: Entry) -> frozenset[str]:
    said = entry.needs.get("findings", [])
    return frozenset(str(code) for code in (said if isinstance(said, list) else [said]))


def _proven(findings: Iterable[Finding], wanted: frozenset[str]) -> Iterable[Finding]:
    return (one for one in findings if one.proven and one.code in wanted)


def _line(asked: Submission, script: bytes, number: int) -> Evidence:
    name = os.fsdecode(os.path.join(asked.cwd, asked.path)) if asked.path else "job.sh"
    return Evidence(name, number, cleaned(script.split(b"\n")[number - 1]))
