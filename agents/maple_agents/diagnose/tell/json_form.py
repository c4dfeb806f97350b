"""A diagnosis as `maple-fix --json` prints it, in the shape of `schema.py`, which is stable: other programs read it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

from ...templates.knowledge import meanings
from ..read.clean_lines import safe_words
from ..values import Cause, Cure, Diagnosis, Evidence
from . import schema
from .next_steps import changed, difference, filled, steps
from .site_help import here

VERSION: Literal[1] = 1  # of the shape; a key that is added does not change it
Object = dict[str, object]


def as_json(diagnosis: Diagnosis) -> Object:
    """Return a diagnosis as JSON; what is not known is null, or an empty list. Every text may be shown as it is."""
    return answer(diagnosis).dumped()


def answer(diagnosis: Diagnosis) -> schema.Answer:
    """Return a diagnosis in the shape that programs read."""
    first, ended = diagnosis.causes[0], diagnosis.case.ended
    return schema.Answer(
        version=VERSION,
        job=ended.id or None,
        site=diagnosis.case.site.id,
        site_known_by=diagnosis.case.site_known_by or None,
        state=None if ended.state == "unknown" else ended.state,
        exit_code=ended.exit_code,
        cause=schema.Cause(**_cause(first)),
        evidence=_lines(first.evidence),
        cascade=_lines(diagnosis.cascade),
        fixes=[_cure(cure, diagnosis) for cure in diagnosis.cures],
        by=first.by,
        others=[schema.Other(**_cause(cause), evidence=_lines(cause.evidence)) for cause in diagnosis.causes[1:]],
        excerpt=_lines(diagnosis.excerpt),
        documents=[
            schema.Passage(file=cited.file, line=cited.line, heading=cited.heading, text=cited.text)
            for cited in diagnosis.cited
        ],
        advice=diagnosis.advice or None,
        here=list(here(diagnosis)),
        next=list(steps(diagnosis)),
        again=_again(diagnosis),
        missing=list(diagnosis.case.missing),
        notes=list(diagnosis.case.notes),
        script=_lines(diagnosis.script),
    )


def _cause(cause: Cause) -> dict[str, Any]:
    return {"cause": cause.cause, "says": cause.says, "confidence": round(cause.confidence, 2), "likely": cause.likely,
            "voters": list(cause.voters), "named": cause.named}  # fmt: skip


def _again(diagnosis: Diagnosis) -> schema.Again | None:
    """Return whether the same job is worth running again, None where no class is known that would tell."""
    known = meanings().get(diagnosis.causes[0].cause)
    if known is None:
        return None
    return schema.Again(helps=known.again, because=known.because, changed=changed(diagnosis))


def _lines(lines: Iterable[Evidence]) -> list[schema.Line]:
    return [schema.Line(file=evidence.file, line=evidence.line, text=evidence.text) for evidence in lines]


def _cure(cure: Cure, diagnosis: Diagnosis) -> schema.Fix:
    return schema.Fix(
        kind=cure.kind,
        says=cure.says,
        safety=cure.safety,
        diff=difference(cure, diagnosis) or None,
        argv=None if cure.argv is None else safe_words(cure.argv),
        steps=[filled(step, diagnosis) for step in cure.steps],
        held_back=cure.held_back or None,
    )
