"""With a model: which candidate is the cause, which fix to try, and two sentences. The checks of everything decide.

A model can put one cause that the rules found before another, choose among fixes that were checked, and name a class
where the rules know none; nothing else. What it quotes must stand in the log. A cause that the rules are sure of stays
where it is. A model that fails, lies or is deceived leaves the diagnosis as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from maple_submit_filter.answer.decision import Decision

from ...ask.models.conforming import mismatch
from ...ask.models.protocol import Limit, Model, ModelError
from ...templates.knowledge.entries import Entry
from ..fix import cures
from ..scheduler_words import foreign
from ..values import Cause, Cited, Cure, Diagnosis, Digest, Evidence
from .asked import NO_FIX, Candidate, messages, schema
from .checked import quoted, sentences
from .evidence import Shown, shown

SURE = 0.9  # confidence from which no model is asked
BY_MODEL = 0.3  # confidence in a class that a model alone names
MOVED = 0.5  # in a cause that a model put before another
CANDIDATES = 6
CAUSES = ("cause", "symptom")  # roles of entries that may be a cause

Tell = Callable[[str], None]


def advised(
    diagnosis: Diagnosis,
    digest: Digest,
    decision: Decision | None,
    known: Mapping[str, Entry],
    model: Model,
    limit: Limit = Limit(),  # noqa: B008
    *,
    nearest: Sequence[str] = (),
    tell: Tell = lambda line: None,
) -> Diagnosis:
    """Return *diagnosis* with what the model makes of it, or as it is.

    *nearest*: ids of entries that speak of something like it, offered where the rules know no cause. *tell* gets one
    line where the model failed. Raises nothing for what a model does.
    """
    first = diagnosis.causes[0]
    if first.cause == "none" or first.confidence >= SURE:
        return diagnosis
    lines = shown(diagnosis, digest)
    if lines.withheld:
        tell("%d lines of the log speak to a model: it was not shown them" % lines.withheld)
    if not lines.lines:
        return diagnosis
    candidates = _candidates(diagnosis, digest, decision, known, nearest)
    try:
        said = _said(model, diagnosis, decision, lines, candidates, diagnosis.cited, limit)
    except ModelError as error:
        tell("%s; diagnosed without it" % error)
        return diagnosis
    return _with(diagnosis, said, lines, candidates, tell)


def _candidates(
    diagnosis: Diagnosis, digest: Digest, decision: Decision | None, known: Mapping[str, Entry], nearest: Sequence[str]
) -> list[Candidate]:
    causes = [one for one in diagnosis.causes if one.cause != "unknown"]
    if not causes:
        causes = [_of_entry(name, known[name]) for name in nearest if known[name].role in CAUSES]
    return [
        Candidate("c%d" % number, cause, known[cause.entry].why if cause.entry in known else "",
                  tuple(_fixes(number, cause, diagnosis, digest, decision, known)))
        for number, cause in enumerate(causes[:CANDIDATES], 1)
    ]  # fmt: skip


def _of_entry(name: str, entry: Entry) -> Cause:
    return Cause(name, entry.cause, entry.says.replace("{", "").replace("}", ""), 0.0, 0.0)


def _fixes(
    number: int, cause: Cause, diagnosis: Diagnosis, digest: Digest, decision: Decision | None,
    known: Mapping[str, Entry],
) -> Iterator[tuple[str, Cure]]:  # fmt: skip
    """Yield the fixes that passed the checks, as if *cause* were the first."""
    found = cures(replace(diagnosis, causes=(cause,)), digest, decision, known)
    for place, cure in enumerate((one for one in found if not one.held_back), 1):
        yield "c%d-fix%d" % (number, place), cure


def _said(
    model: Model, diagnosis: Diagnosis, decision: Decision | None, lines: Shown, candidates: Sequence[Candidate],
    cited: Sequence[Cited], limit: Limit,
) -> Mapping[str, Any]:  # fmt: skip
    findings = ["%s %s" % (one.code, one.says) for one in decision.findings] if decision else []
    shape = schema(candidates, lines)
    answer: Any = model.answer(messages(diagnosis.case, lines, candidates, findings, cited), shape, limit)
    wrong = mismatch(answer, shape)
    if wrong:
        raise ModelError(model.name, wrong)
    return dict(answer)


def _with(
    diagnosis: Diagnosis, said: Mapping[str, Any], lines: Shown, candidates: Sequence[Candidate], tell: Tell
) -> Diagnosis:
    evidence = quoted(said["quotes"], lines)
    if not evidence:
        tell("the model quoted nothing from the log, so its answer was ignored")
        return diagnosis
    if foreign(str(said["says"]), diagnosis.case.scheduler):
        said = {**said, "says": ""}  # what is not here helps nobody
    if diagnosis.causes[0].cause == "unknown":
        return _named(diagnosis, said, evidence, candidates)
    chosen = _chosen(said, candidates)
    if chosen is None or not _supports(chosen.cause, evidence):
        tell("the model's answer contradicts itself or the log, so it was ignored")
        return diagnosis
    return _ordered(diagnosis, chosen, said)


def _chosen(said: Mapping[str, Any], candidates: Sequence[Candidate]) -> Candidate | None:
    """Return the first of the causes that it names, where its class and fix say the same."""
    named = said["causes"]
    one = next((each for each in candidates if named and each.name == named[0]), None)
    if one is None or said["class"] != one.cause.cause or len(set(named)) != len(named):
        return None
    return one if said["fix"] in (NO_FIX, *(name for name, _ in one.fixes)) else None


def _supports(cause: Cause, evidence: Sequence[Evidence]) -> bool:
    """Return whether a quoted line is one by which the rules know this cause; one known by the script needs none."""
    own = {(one.file, one.line) for one in cause.evidence}
    return not own or any((one.file, one.line) in own for one in evidence)


def _ordered(diagnosis: Diagnosis, chosen: Candidate, said: Mapping[str, Any]) -> Diagnosis:
    """Return *diagnosis* with the chosen cause and fix first."""
    before = diagnosis.causes[0]
    says = sentences(said["says"])
    if chosen.cause is before:
        return replace(diagnosis, cures=_fix_first(diagnosis.cures, chosen, said["fix"]), advice=says)
    moved = replace(chosen.cause, confidence=min(MOVED, before.confidence), by="model")
    others = tuple(replace(one, confidence=0.0) for one in diagnosis.causes if one is not chosen.cause)
    found = _fix_first(tuple(cure for _, cure in chosen.fixes), chosen, said["fix"])
    return replace(diagnosis, causes=(moved, *others), cures=tuple(map(_asked, found)), advice=says)


def _named(
    diagnosis: Diagnosis, said: Mapping[str, Any], evidence: tuple[Evidence, ...], candidates: Sequence[Candidate]
) -> Diagnosis:
    """Return a diagnosis with the class that the model names, where the rules know none."""
    if said["class"] == "unknown":
        return diagnosis
    one = _chosen(said, candidates)
    if one is None and said["causes"]:
        return diagnosis  # a candidate of another class
    says = sentences(said["says"]) or (one.cause.says if one is not None else said["class"].replace("_", " "))
    cause = Cause(one.cause.entry if one else "", said["class"], says, 0.0, BY_MODEL, evidence, by="model")
    found = _fix_first(tuple(cure for _, cure in one.fixes), one, said["fix"]) if one is not None else diagnosis.cures
    return replace(diagnosis, causes=(cause,), cures=tuple(map(_asked, found)))


def _fix_first(found: Sequence[Cure], chosen: Candidate, name: str) -> tuple[Cure, ...]:
    """Return the cures, the chosen one first; those that were held back stay behind."""
    wanted = next((cure for one, cure in chosen.fixes if one == name), None)
    return tuple(sorted(found, key=lambda cure: cure != wanted)) if wanted is not None else tuple(found)


def _asked(cure: Cure) -> Cure:
    """A fix that a model chose is never made unasked."""
    return replace(cure, safety="ask") if cure.safety == "safe" else cure
