"""What is decided of any script takes a bounded number of steps: counted, so that the answer is the same everywhere."""

from __future__ import annotations

import sys
from types import FrameType

import pytest
from maple_submit_filter.answer import decision
from maple_submit_filter.play.scene import MOST_COMMANDS
from maple_submit_filter.repair import effort
from maple_submit_filter.repair.search import State
from maple_submit_filter.site.facts import GENERIC_SLURM

from tests.submit_filter.repeated import END, HEAD, KINDS, script, submission

LONG = 60_000
LARGEST = 2 * MOST_COMMANDS  # of one play: the command that goes beyond the bound is played to its end


def calls(source: bytes) -> int:
    """How many functions are called for a decision."""
    count = 0

    def counted(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(counted)
    try:
        decision.decide(submission(source), GENERIC_SLURM, None)
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("kind", KINDS)
def test_twice_as_much_takes_twice_as_long(kind: str) -> None:
    """And not four times, whatever stands there again and again."""
    calls(HEAD + END)  # what is imported or remembered is no part of it
    empty = calls(HEAD + END + b"# another\n")
    short, long = (calls(script(kind, size)) - empty for size in (1500, 3000))
    assert long <= 3.5 * max(short, 20_000), (short, long)  # a value is put together of 256 pieces at most: not yet


@pytest.mark.parametrize(
    "kind", ["folders", "a list that grows", "steps", "agents", "calls", "exports", "words that grow"]
)
def test_tries_end_where_their_effort_is_spent(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """No play is longer than its bound, and no more of them begin than there is effort for."""
    plays: list[int] = []

    def played(self: effort.Effort, state: State | None) -> State | None:
        plays.append(state.plan.commands if state is not None else 0)
        return counted(self, state)

    counted = effort.Effort.played
    monkeypatch.setattr(effort.Effort, "played", played)
    decided = decision.decide(submission(script(kind, LONG)), GENERIC_SLURM, None)
    assert decided.plan is not None and max([decided.plan.commands, *plays]) <= LARGEST
    assert sum(plays[:-1]) <= effort.MOST_TRIED


def test_what_could_not_be_tried_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """The script goes as it is written, and the decision says why."""
    source = script("comments", 500)
    assert decision.decide(submission(source), GENERIC_SLURM, None).verdict == "repaired"
    monkeypatch.setattr(effort, "MOST_TRIED", -1)
    decided = decision.decide(submission(source), GENERIC_SLURM, None)
    assert (decided.verdict, decided.repaired) == ("findings", None)
    assert effort.SPENT in [why for _, why in decided.held_back]
