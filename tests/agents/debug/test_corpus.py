"""The diagnosis against logs whose cause is known: it can only get better, never worse in silence."""

from __future__ import annotations

from collections import Counter
from unittest.mock import patch

import pytest
import tomllib
from maple_agents.diagnose.rank import judges
from maple_agents.diagnose.values import Diagnosis, Evidence
from maple_agents.templates.knowledge import entries
from maple_agents.templates.knowledge.entries import CLASSES

from tests.agents.debug.corpus import FOLDER, VERDICTS, Known, diagnosed, known_cases, place, proven, stands, verdict

CASES = known_cases()
FIGURES = tomllib.loads((FOLDER / "figures.toml").read_text("utf-8"))
GOOD = [one for one in CASES if one.kind == "good"]


@pytest.fixture(scope="module")
def told() -> dict[str, Diagnosis]:
    """What is said of every case."""
    return {one.name: diagnosed(one, entries()) for one in CASES}


def test_the_corpus_is_wide_enough() -> None:
    """Every class of cause three times or more, good runs, silent hangs, and causes that are not there."""
    kinds = Counter(one.kind for one in CASES)
    assert kinds["failed"] >= 150 and kinds["good"] >= 45 and kinds["hang"] >= 15 and kinds["unknown"] >= 15
    failed = Counter(one.cause for one in CASES if one.kind in ("failed", "hang"))
    assert [cause for cause in CLASSES if cause not in ("none", "unknown") and failed[cause] < 3] == []
    assert len([one for one in GOOD if one.state == "completed"]) >= 20
    assert len([one for one in GOOD if one.state is None]) >= 20


@pytest.mark.parametrize("one", CASES, ids=lambda one: one.name)
def test_expectations_are_of_lines_that_there_are(one: Known) -> None:
    """A line that is to prove something says something, and no line both proves and only followed."""
    assert one.cause in CLASSES
    for name, line in one.evidence | one.cascade:
        lines = (one.folder / name).read_bytes().split(b"\n")
        assert 0 < line <= len(lines) and lines[line - 1].strip(), (name, line)
    assert not one.evidence & one.cascade
    assert one.kind != "failed" or one.evidence


def test_no_answer_is_worse_than_it_was(told: dict[str, Diagnosis]) -> None:
    """Cases that are not answered right are recorded by name; all others are right."""
    was = FIGURES["verdict"]
    now = {one.name: verdict(one, told[one.name]) for one in CASES}
    worse = {
        name: "%s, was %s: %s" % (said, was.get(name, "right"), [cause.cause for cause in told[name].causes])
        for name, said in now.items()
        if VERDICTS.index(said) < VERDICTS.index(was.get(name, "right"))
    }
    assert worse == {}


def test_no_recorded_name_is_of_a_case_that_is_gone() -> None:
    """A figure without a case would hide nothing, but mislead."""
    assert set(FIGURES["verdict"]) | set(FIGURES["unproven"]) <= {one.name for one in CASES}


def test_the_line_that_proves_the_cause_is_shown(told: dict[str, Diagnosis]) -> None:
    """And not first a line that only followed."""
    right = [one for one in CASES if one.kind == "failed" and verdict(one, told[one.name]) == "right"]
    unproven = {one.name for one in right if not proven(one, told[one.name])}
    assert unproven <= set(FIGURES["unproven"])


def test_what_is_shown_stands_in_the_log(told: dict[str, Diagnosis]) -> None:
    """Every line of evidence, of cascade and of an excerpt, at its place, word for word."""
    false = [
        (one.name, *place(line), line.text) for one in CASES for line in _shown(told[one.name]) if not stands(line)
    ]
    assert false == []


def _shown(told: Diagnosis) -> list[Evidence]:
    return [line for cause in told.causes for line in cause.evidence] + [*told.cascade, *told.excerpt]


def test_good_runs_are_accused_of_nothing(told: dict[str, Diagnosis]) -> None:
    """However frightening their warnings: no cause is claimed, whether the state is known or not."""
    accused = {
        one.name: told[one.name].causes[0].cause
        for one in GOOD
        if told[one.name].causes[0].cause not in ("none", "unknown")
    }
    assert accused == {}


def test_a_verdict_tells_wrong_from_unknown() -> None:
    """The judge itself: the right class first, among three, none at all, another."""
    failed = next(one for one in CASES if one.cause == "gpu_oom")
    good = diagnosed(failed, entries())
    assert verdict(failed, good) == "right"
    other = next(one for one in CASES if one.cause == "glibc_mismatch")
    assert verdict(other, good) == "wrong"
    with patch.object(judges, "reading", lambda _: None):  # else its sentence is read
        assert verdict(other, diagnosed(other, {}, lambda _: None)) == "unknown"
