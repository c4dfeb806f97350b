"""The loop of fix, run and read again, as values: what is tried next, and when it is over."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from ..read.templates import template
from ..values import Cure, Diagnosis


class End(StrEnum):
    """Why no further round was made. The words are stable: they stand in JSON."""

    RAN = "ran"
    SAME = "same symptom"
    NOTHING_LEFT = "nothing left"
    USED_UP = "rounds used up"
    NOT_TRIED = "could not be tried"


@dataclass(frozen=True, slots=True)
class Attempt:
    """A fix that was tried. *how*: "job" or "mini-app"; *state*: how that ended; *after*: what was read of it."""

    number: int
    cure: Cure
    copy: str
    how: str
    job: str
    state: str
    after: Diagnosis

    @property
    def ran(self) -> bool:
        """Return whether nothing went wrong any more."""
        return self.after.causes[0].cause == "none"


@dataclass(frozen=True, slots=True)
class Story:
    """What came of all rounds. *why*: what was in the way where something could not be tried, else ""."""

    attempts: tuple[Attempt, ...]
    end: End
    why: str = ""


class NotTried(Exception):
    """A fix could not be run, or what came of it not be read; one line says why."""


Try = Callable[[Diagnosis, Cure, int], Attempt]
Symptom = tuple[str, str]
Copy = tuple[object, object]


def story(first: Diagnosis, rounds: int, attempt: Try) -> Story:
    """Try one fix after the other, each on what the one before made of the script, at most *rounds* times.

    *attempt* runs the diagnosis' fix as the round of that number, and raises `NotTried`.
    """
    made: list[Attempt] = []
    now, seen, tried = first, {symptom(first)}, {submitted(first)}
    for number in range(1, rounds + 1):
        cure = untried(now, tried)
        if cure is None:
            return Story(tuple(made), End.NOTHING_LEFT)
        tried.add(result(cure, now))
        try:
            made.append(attempt(now, cure, number))
        except NotTried as error:
            return Story(tuple(made), End.NOT_TRIED, str(error))
        now = made[-1].after
        if made[-1].ran:
            return Story(tuple(made), End.RAN)
        if symptom(now) in seen:
            return Story(tuple(made), End.SAME)
        seen.add(symptom(now))
    return Story(tuple(made), End.USED_UP)


def untried(diagnosis: Diagnosis, tried: set[Copy]) -> Cure | None:
    """Return the best fix that gives a script or command line that was not submitted yet, None for none."""
    return next((one for one in diagnosis.cures if changes(one) and result(one, diagnosis) not in tried), None)


def changes(cure: Cure) -> bool:
    """Return whether a fix changes what is submitted, and passed its checks."""
    return (cure.script is not None or cure.argv is not None) and not cure.held_back


def submitted(diagnosis: Diagnosis) -> Copy:
    """Return what was submitted."""
    asked = diagnosis.case.asked
    return (asked.script, _options(asked.argv, asked.path)) if asked is not None else (None, None)


def result(cure: Cure, diagnosis: Diagnosis) -> Copy:
    """Return what a fix would submit; under which name the script goes does not count."""
    script, argv = submitted(diagnosis)
    path = diagnosis.case.asked.path if diagnosis.case.asked is not None else b""
    return (
        cure.script if cure.script is not None else script,
        _options(cure.argv, path) if cure.argv is not None else argv,
    )


def _options(argv: tuple[bytes, ...], path: bytes) -> tuple[bytes, ...]:
    return tuple(word for word in argv[1:] if word != path)


def symptom(diagnosis: Diagnosis) -> Symptom:
    """Return by what a failure is known again: its class, and its first line of evidence with numbers masked."""
    first = diagnosis.causes[0]
    lines = first.evidence or diagnosis.excerpt
    return first.cause, template(lines[0].text) if lines else ""
