"""The piece of a log that is shown where no cause is known: short, and about what happened."""

from __future__ import annotations

import pytest
from maple_agents.diagnose.diagnosis import MOST, excerpt
from maple_agents.diagnose.values import Digest, Event, LogFile, Place, Severity, Stream


def shown(log: str, telling: int = 0, unit: int = 1) -> list[int]:
    """Return the numbers of the lines that are shown of *log*; *telling*: the line of its one error, 0 for none.

    *unit*: how many lines the error has, the telling one the last.
    """
    lines = tuple(log.strip("\n").split("\n"))
    events: tuple[Event, ...] = ()
    if telling:
        at = tuple(range(telling - unit + 1, telling + 1)) if unit > 1 else ()
        rows = tuple(lines[one - 1] for one in at)
        events = (Event(Place("a", telling), lines[telling - 1], Severity.ERROR, rows, at),)
    stream = Stream(LogFile("a", "both"), 0, len(lines), lines[:20], lines[-40:], max(1, len(lines) - 39))
    return [one.line for one in excerpt(Digest((stream,), events), (), {})]


TABLE = """
train.py FAILED
---------------
Failures:
  <NO_OTHER_FAILURES>
---------------
Root Cause (first observed failure):
[0]:
  rank      : 0 (local_rank: 0)
  exitcode  : -11 (pid: 6421)
  error_file: <N/A>
  traceback : Signal 11 (SIGSEGV) received by PID 6421
===============
"""
STEPS = "\n".join("step %d loss 2.%d" % (at, at) for at in range(30))

CASES = {
    "a table without its rules and empty rows": (TABLE, 0, 1, [1, 8, 9, 11]),
    "steps are one line": (STEPS + "\nAborted (core dumped)", 0, 1, [30, 31]),
    "a line alone has those before it": ("a\nb\nc\nd\nmake: *** [run] Error 1\nbye", 5, 1, [2, 3, 4, 5]),
    "what is announced comes too": ("x\n-- It ended with this error:\nTraceback\n  a\nError: 'b'", 2, 1,
                                    [1, 2, 3, 4, 5]),
    "a traceback is whole": ("zero\nTraceback (most recent):\n  File \"a\"\n    f()\nKeyError: 1\nafter", 5, 4,
                             [2, 3, 4, 5]),
    "the telling line stays, even where it is a rule": ("a\n-----", 2, 1, [1, 2]),
    "nothing but rules": ("----\n====", 0, 1, [2]),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_what_is_shown(name: str) -> None:
    """By the numbers of its lines."""
    log, telling, unit, lines = CASES[name]
    assert shown(log, telling, unit) == lines


def test_it_is_short_whatever_the_log_is() -> None:
    """A hundred different lines, a traceback of a hundred, one that announces: never more than so many rows."""
    words = ["alpha", "beta", "gamma", "delta", "eps"]
    log = "\n".join("%s %s %s" % (one, two, three) for one in words for two in words for three in words)
    for telling, unit in ((0, 1), (60, 1), (120, 100), (125, 30)):
        found = shown(log, telling, unit)
        assert 0 < len(found) <= MOST
        assert not telling or telling in found
    announced = log.replace("alpha alpha beta", "it ends so:")
    assert 2 in shown(announced, 2) and len(shown(announced, 2)) <= MOST


def test_nothing_of_nothing() -> None:
    """No log, no lines, blank lines."""
    assert excerpt(Digest(), (), {}) == ()
    assert shown("\n \n\t\n") == []
