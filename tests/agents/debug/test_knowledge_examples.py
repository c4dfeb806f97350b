"""The words of the knowledge base tried on texts as they stand in logs, read as a job's logs are read."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
import tomllib
from maple_agents.diagnose.diagnosis import diagnose
from maple_agents.diagnose.read import read
from maple_agents.diagnose.recognise.matches import matches
from maple_agents.diagnose.values import Case, Cause, Digest, Ended, LogFile
from maple_agents.templates.knowledge import anchors, entries
from maple_agents.templates.knowledge.entries import Entry
from maple_submit_filter.site.facts import GENERIC_SLURM

KNOWN = entries()
EXAMPLES = tomllib.loads((Path(__file__).parent / "knowledge" / "examples.toml").read_text("utf-8"))
TEXTS = [(name, says, text) for name, row in EXAMPLES.items() for says in ("yes", "no") for text in row.get(says, [])]
YES = [(name, text) for name, says, text in TEXTS if says == "yes"]
SURE = 6.0  # the score of words that say a cause by themselves


@pytest.fixture(scope="module")
def digests(tmp_path_factory) -> dict[str, Digest]:
    """Each text as the log of a job of its own: in one job what is said twice is one event."""
    folder, literals = tmp_path_factory.mktemp("examples"), anchors(KNOWN)
    return {text: _read(folder / str(number), text, literals) for number, (_, _, text) in enumerate(TEXTS)}


def _read(path: Path, text: str, literals: tuple[bytes, ...]) -> Digest:
    path.write_text(text + "\n", "utf-8")
    return read((LogFile(str(path), "both"),), literals)


def first(digest: Digest, known: Mapping[str, Entry] = KNOWN, state: str = "failed") -> Cause:
    case = Case(Ended(id="1", state=state), "slurm", GENERIC_SLURM)
    return diagnose(case, digest, None, known).causes[0]


def test_every_entry_has_an_example():
    """All that is known by words is tried on a text that it is for, and on nothing that there is not."""
    known_by_words = {name for name, entry in KNOWN.items() if entry.match and not name.startswith("plan-")}
    assert known_by_words == set(EXAMPLES)


@pytest.mark.parametrize("name, text", YES, ids=lambda one: one[:50])
def test_the_words_are_found(name, text, digests):
    """An entry is found in its texts as they come out of a log; harmless ones may not even be worth an event."""
    if KNOWN[name].role == "harmless":
        assert any(re.search(pattern, line) for pattern in KNOWN[name].match for line in text.splitlines())
    else:
        assert name in {one.entry for one in matches(digests[text].events, KNOWN)}


@pytest.mark.parametrize("name, text", [row[::2] for row in TEXTS if row[1] == "no"], ids=lambda one: one[:50])
def test_other_words_are_not_taken(name, text, digests):
    """What another cause says, or a good run, is not this entry's."""
    assert name not in {one.entry for one in matches(digests[text].events, KNOWN)}


@pytest.mark.parametrize("name, text", YES, ids=lambda one: one[:50])
def test_no_other_class_is_named(name, text, digests):
    """A text alone gives its own class or none; what only follows and what is harmless gives none."""
    entry, cause = KNOWN[name], first(digests[text])
    if entry.role in ("cause", "symptom"):
        assert cause.cause in (entry.cause, "unknown")
    elif entry.role == "harmless":
        assert first(digests[text], state="unknown").cause in ("none", "unknown")
    if entry.role == "cause" and not entry.confirms and entry.weight == "strong":
        assert cause.cause == entry.cause


def test_harmless_words_are_no_words_of_causes(digests):
    """No harmless entry takes a line that tells a cause."""
    taken = [
        (name, one.entry)
        for name, text in YES
        if KNOWN[name].role in ("cause", "symptom")
        for one in matches(digests[text].events, KNOWN)
        if KNOWN[one.entry].role == "harmless"
    ]
    assert taken == []


def test_a_class_that_is_not_known_is_not_called_another(digests):
    """With all entries of a class away, none of its texts is surely of another class, and few are at all.

    The class itself may still be named as likely: by lines that are like the text's.
    """
    table: dict[str, Counter[str]] = {}
    for name, text in YES:
        entry = KNOWN[name]
        if entry.role in ("cause", "symptom"):
            rest = {other: one for other, one in KNOWN.items() if one.cause != entry.cause}
            cause = first(digests[text], rest)
            assert cause.cause in ("unknown", entry.cause) or cause.score < SURE, (name, cause)
            table.setdefault(entry.cause, Counter())[cause.cause] += 1
    _show(table)
    wrong = sum(count for own, row in table.items() for cause, count in row.items() if cause not in ("unknown", own))
    assert wrong <= 0.03 * sum(sum(row.values()) for row in table.values())


def _show(table: Mapping[str, Counter[str]]) -> None:
    print("\nclass left out: what its own texts are called then")
    for name, row in sorted(table.items()):
        print("  %-50s %s" % (name, ", ".join("%s %d" % one for one in row.most_common())))


def test_a_death_after_the_first_changes_nothing(digests):
    """A cause stays the first one where every consequence stands behind it."""
    after = [text for name, text in YES if KNOWN[name].role == "follows"]
    for name in ("module-missing", "gpu-oom", "port-in-use", "slurm-oom-kill", "code-error-builtin", "no-space-left"):
        cause = digests[EXAMPLES[name]["yes"][0]]
        tail = tuple(event for text in after for event in digests[text].events)
        assert first(replace(cause, events=cause.events + tail)).cause == KNOWN[name].cause, name
