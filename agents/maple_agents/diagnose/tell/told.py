"""What `maple-fix --json` prints. The shape is stable, and written down in `schema.py`: other programs read it."""

from __future__ import annotations

from collections.abc import Iterable

from ...base.difference import unified
from ..values import Cause, Cure, Diagnosis, Evidence
from .next_steps import steps
from .of_site import here
from .safe import safe_lines, safe_object, safe_script, safe_words
from .steps import filled

VERSION = 1  # of the shape; a key that is added does not change it
Object = dict[str, object]


def told(diagnosis: Diagnosis) -> Object:
    """Return a diagnosis as JSON; what is not known is null, or an empty list. Every text may be shown as it is."""
    made = safe_object(_told(diagnosis))
    assert isinstance(made, dict)
    return made


def _told(diagnosis: Diagnosis) -> Object:
    first, ended = diagnosis.causes[0], diagnosis.case.ended
    return {
        "version": VERSION,
        "job": ended.id or None,
        "site": diagnosis.case.site.id,
        "site_known_by": diagnosis.case.site_known_by or None,
        "state": None if ended.state == "unknown" else ended.state,
        "exit_code": ended.exit_code,
        "cause": _cause(first),
        "evidence": _lines(first.evidence),
        "cascade": _lines(diagnosis.cascade),
        "fixes": [_cure(one, diagnosis) for one in diagnosis.cures],
        "by": first.by,
        "others": [{**_cause(one), "evidence": _lines(one.evidence)} for one in diagnosis.causes[1:]],
        "excerpt": _lines(diagnosis.excerpt),
        "documents": [
            {"file": one.file, "line": one.line, "heading": one.heading, "text": one.text} for one in diagnosis.cited
        ],
        "advice": diagnosis.advice or None,
        "here": list(here(diagnosis)),
        "next": list(steps(diagnosis)),
        "missing": list(diagnosis.case.missing),
        "notes": list(diagnosis.case.notes),
    }


def _cause(cause: Cause) -> Object:
    return {"class": cause.cause, "says": cause.says, "confidence": round(cause.confidence, 2)}


def _lines(lines: Iterable[Evidence]) -> list[Object]:
    return [{"file": one.file, "line": one.line, "text": one.text} for one in lines]


def _cure(cure: Cure, diagnosis: Diagnosis) -> Object:
    return {
        "kind": cure.kind,
        "says": cure.says,
        "safety": cure.safety,
        "diff": difference(cure, diagnosis) or None,
        "argv": None if cure.argv is None else safe_words(cure.argv),
        "steps": [filled(one, diagnosis) for one in cure.steps],
        "held_back": cure.held_back or None,
    }


def difference(cure: Cure, diagnosis: Diagnosis) -> str:
    """Return the unified diff of a cure as it may be shown, "" where it changes no script."""
    asked = diagnosis.case.asked
    if cure.script is None or asked is None or asked.script is None:
        return ""
    before, after = safe_script(asked.script), safe_script(cure.script)
    return safe_lines(unified(before, after, diagnosis.case.name or "job.sh"))
