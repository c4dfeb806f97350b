"""Labelled requests of `tests/cases/requests`, and what is compared of each."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import tomllib
from maple_agents.request.words import read, refusal

FOLDER = Path(__file__).resolve().parents[2] / "cases" / "requests"


class Case(NamedTuple):
    """A request and what it says. *slots* of a request that is open are those that are clear all the same."""

    file: str
    says: str
    slots: dict[str, int | str]
    wishes: frozenset[str]
    open: bool
    refused: bool

    def __str__(self) -> str:
        return "%s-%s" % (self.file, " ".join(self.says.split())[:60])


def cases() -> list[Case]:
    """Return every labelled request, in the order of the files."""
    found = []
    for path in sorted(FOLDER.glob("*.toml")):
        for one in tomllib.loads(path.read_text(encoding="utf-8"))["case"]:
            wishes = frozenset(one.get("wishes", ()))
            slots, is_open, refused = one["slots"], one.get("open", False), one.get("refused", False)
            found.append(Case(path.stem, one["says"], slots, wishes, is_open, refused))
    return found


def differences(case: Case) -> list[str]:
    """Return what is read otherwise than the case says, in words."""
    asked = read(case.says)
    if case.refused:
        return [] if refusal(case.says) else ["not refused"]
    found = [] if refusal(case.says) is None else ["refused"]
    got = asked.slots.as_json()
    found += ["%s: %r" % (name, value) for name, value in got.items() if case.slots.get(name) != value]
    found += ["no %s" % name for name in case.slots if name not in got and not case.open]
    wrong = (*asked.contradictions, *asked.doubts, *(asked.undescribed or ()))
    found += [] if bool(wrong) == case.open else ["contradictions: %s" % (wrong,)]
    return found + ([] if asked.wishes == case.wishes else ["wishes: %s" % sorted(asked.wishes)])
