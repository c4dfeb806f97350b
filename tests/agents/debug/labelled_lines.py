"""Telling lines with the class they tell of: what the second voter of a diagnosis learns from.

They come from the cases of `tests/cases/diagnosis/`, the texts that entries are tried on, the sets once blind, and the
messages that programs have in their sources (`vocabulary/`: a line each, "class | message", below "= program release").
Lines that only follow a death are "follows", as are the errors of logs that don't show the cause; frightening lines of
good runs are "none". *thread*: what a line must not be judged by is of the same one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import tomllib
from maple_agents.diagnose.read import cleaned
from maple_agents.diagnose.recognise.neighbours import FOLLOWS, masked
from maple_agents.diagnose.values import Severity
from maple_agents.templates.knowledge import entries

from tests.agents.debug import blind_logs
from tests.agents.debug.corpus import ROOT, Known, known_cases, material

VOCABULARY = Path(__file__).with_name("vocabulary")
EXAMPLES = ROOT / "tests/agents/debug/knowledge/examples.toml"


class Labelled(NamedTuple):
    """A line with its class. *thread*: the public thread, case or entry it is of."""

    text: str
    cause: str
    thread: str


@cache
def all_lines() -> tuple[Labelled, ...]:
    """Return all labelled lines; of those that are the same once masked, in one thread, the first."""
    rows = [*_of_cases(), *_of_examples(), *_of_sets(), *of_sources()]
    once = {(masked(one.text), one.cause, one.thread): one for one in reversed(rows) if masked(one.text).strip()}
    return tuple(reversed(once.values()))


def thread(case: Known) -> str:
    """Return what a case's words may be kin to: its public thread, else the first words of its name."""
    said = tomllib.loads((case.folder / "expected.toml").read_text("utf-8")).get("from", "")
    wide = case.group in ("site", "blind", "good", "unknown", "hang")
    return said or "-".join(case.name.split("-")[: 3 if wide else 1])


def _of_cases() -> Iterator[Labelled]:
    for case in known_cases():
        if case.kind in ("good", "unknown"):
            yield from _errors(case, "none" if case.kind == "good" else FOLLOWS)
        for places, label in ((case.evidence, case.cause), (case.cascade, FOLLOWS)):
            if label not in ("none", "unknown"):
                yield from (Labelled(text, label, thread(case)) for text in _texts(case, places))


def _texts(case: Known, places: frozenset[tuple[str, int]]) -> Iterator[str]:
    for name, line in sorted(places):
        if name in {Path(log).name for log in case.logs}:
            path = next(case.folder / log for log in case.logs if Path(log).name == name)
            lines = path.read_bytes().split(b"\n")
            yield from [cleaned(lines[line - 1])] if 0 < line <= len(lines) else []


def _errors(case: Known, label: str) -> Iterator[Labelled]:
    events = material(case)[1].events
    yield from (Labelled(one.text, label, thread(case)) for one in events if one.severity >= Severity.ERROR)


def _of_examples() -> Iterator[Labelled]:
    known = entries()
    for name, row in tomllib.loads(EXAMPLES.read_text("utf-8")).items():
        label = {"follows": FOLLOWS, "harmless": "none"}.get(known[name].role, known[name].cause)
        for text in row.get("yes", []) if label != "unknown" else []:
            lines = [one for one in text.splitlines() if any(re.search(said, one) for said in known[name].match)]
            yield from (Labelled(line, label, "entry " + name) for line in lines[:2])


def of_sources() -> Iterator[Labelled]:
    """Yield the messages of programs, as their sources have them."""
    for path in sorted(VOCABULARY.glob("*.txt")):
        source = ""
        for line in path.read_text("utf-8").splitlines():
            if line.startswith("= "):
                source = line[2:]
            elif line:
                label, _, text = line.partition(" | ")
                yield Labelled(cleaned(text.encode()), label, "source " + source)


def _of_sets() -> Iterator[Labelled]:
    for path in blind_logs.sets():
        for row in blind_logs.judged(path, lambda _: None):
            case, label = row.case, _label(row)
            lines = [line for line in case["log"].splitlines() if any(words in line for words in case["telling"])]
            if label != "unknown":
                yield from (Labelled(line, label, case["source"] or case["name"]) for line in dict.fromkeys(lines[:6]))


def _label(row: blind_logs.Judged) -> str:
    """Return the class of a case's lines: of several that count as right the one that the entries name, else none."""
    if row.case["verdict"] == "good":
        return "none"
    right = row.case["class"]
    named = next((one.cause for one in row.told.causes if one.cause in right), "unknown")
    return str(right[0]) if len(right) == 1 else named
