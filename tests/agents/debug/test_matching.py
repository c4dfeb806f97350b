"""Words of an entry are sought in what a log says, not in the names of files and the code that a traceback shows."""

from __future__ import annotations

import pytest
from maple_agents.diagnose.rank.proof import telling_lines
from maple_agents.diagnose.recognise.matches import Match, matches
from maple_agents.diagnose.values import Event, Evidence, Place, Severity
from maple_agents.templates.knowledge.entry_shapes import entry as entry_of

UNIT = (
    "Traceback (most recent call last):",
    '  File "/env/site-packages/accelerate/api.py", line 8, in http_get',
    "    return requests.retry(http)",
    "           ^^^^^^^^^^^^^^^^^^^^",
    "OSError: [Errno 122] Disk quota exceeded",
)


def found(unit: tuple[str, ...], **more: object) -> bool:
    entry = entry_of(
        {"cause": "disk_quota_or_full", "says": "full", "match": ["quota exceeded"], "sources": ["here"], **more}
    )
    event = Event(
        Place("/x", 5), unit[-1], Severity.ERROR, unit, tuple(range(1, len(unit) + 1)), "OSError", ("/env/api.py", 8)
    )
    return bool(matches([event], {"full": entry}))


@pytest.mark.parametrize("prefix", ["", "[rank3]: ", "3: ", "(pid=7) "])
def test_a_path_of_a_library_rules_nothing_out(prefix):
    """A frame in accelerate/api.py is no word of an API, with whatever stands before each line."""
    assert found(tuple(prefix + line for line in UNIT), without=["http|api|retry"])


def test_a_word_of_the_message_rules_it_out():
    """Also of a second line of it, and of the exceptions before it."""
    assert not found((*UNIT[:4], "OSError: http: quota exceeded"), without=["http"])
    assert not found(("OSError: over http", *UNIT), without=["http"])


def test_another_language_says_the_same():
    """What bash and the C library say in the user's language is known by its English; shown is what was said."""
    entry = entry_of(
        {"cause": "launcher_not_found", "says": "x", "match": ["line 7: (?P<name>\\w+): command not found"],
         "sources": ["here"]}
    )  # fmt: skip
    said = "job.sh: Zeile 7: torchrun: Kommando nicht gefunden."
    found = matches([Event(Place("/x", 1), said, Severity.ERROR)], {"missing": entry})
    assert [(one.evidence.text, one.values) for one in found] == [(said, {"name": "torchrun"})]


@pytest.mark.parametrize("joined, holds", [(4, True), (2, False), (1, False)])
def test_numbers_that_were_caught_are_compared(joined, holds):
    """More came than the group has: four of two; two of two, and one of two, are other stories."""
    line = f"OSError: world 2, joined {joined}, quota exceeded"
    assert (
        found((line,), match=[r"world (?P<world>\d+), joined (?P<joined>\d+)"], where=["{joined} > {world}"]) == holds
    )


def test_a_comparison_is_of_two_names():
    """What compares nothing is told when the entry is read."""
    with pytest.raises(ValueError, match="compares no two numbers"):
        found(UNIT, where=["{joined} exceeds 2"])


def test_an_exception_is_shown_with_the_words_that_it_announces():
    """The matched line first, then the exception's, then what stands below it; no more of it than that."""
    unit = (
        "    int(None)",
        "pydantic.ValidationError: 1 validation error for Config",
        "Value error, 16 of 8 GPUs",
        "are there",
        "more",
    )
    event = Event(Place("/x", 2), unit[1], Severity.ERROR, unit, (1, 2, 3, 4, 5), "pydantic.ValidationError")
    match = Match("config", event, 0, Evidence("/x", 1, unit[0]))
    assert [line.text for line in telling_lines(match)] == list(unit[:4])
