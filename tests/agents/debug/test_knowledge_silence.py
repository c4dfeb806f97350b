"""A job that was ended while its log was silent may have hung: the sentence says so, the class is the scheduler's."""

from __future__ import annotations

from pathlib import Path

import pytest
from maple_agents.debug.diagnosing import diagnose
from maple_agents.debug.knowledge import anchors, entries
from maple_agents.debug.reading import read
from maple_agents.debug.values import Case, Cause, Ended, LogFile
from maple_submit_filter.site import GENERIC_SLURM

ENDED = "slurmstepd: error: *** JOB 77 ON n1 CANCELLED AT 2026-01-10T15:27:25%s ***\n"
STEPS = "".join(f"step {n} | loss {3 - n / 100:.3f}\n" for n in range(30))


def first(tmp_path: Path, text: str, state: str) -> Cause:
    path = tmp_path / "job.out"
    path.write_text(text, "utf-8")
    digest = read((LogFile(str(path), "both"),), anchors(entries()))
    return diagnose(Case(Ended(id="1", state=state), "slurm", GENERIC_SLURM), digest, None, entries()).causes[0]


@pytest.mark.parametrize("text", ["", "starting\n", "starting\n" + ENDED % " DUE TO TIME LIMIT"])
def test_a_silent_log_at_the_time_limit_may_be_of_a_hang(tmp_path, text):
    """More time is no cure that may be offered for it."""
    told = first(tmp_path, text, "timeout")
    assert told.cause == "time_limit" and "silent" in told.says and "hung" in told.says
    assert all(fix.how != "raise-walltime" for fix in entries()[told.entry].fixes)


def test_a_silent_log_that_was_cancelled_may_be_of_a_hang(tmp_path):
    """Nobody waits for ever: a hang is cancelled as often as it is timed out."""
    told = first(tmp_path, "starting\n" + ENDED % "", "cancelled")
    assert told.cause == "cancelled_by_user" and "silent" in told.says


@pytest.mark.parametrize("state, text", [("timeout", STEPS + ENDED % " DUE TO TIME LIMIT"), ("cancelled", STEPS)])
def test_a_log_of_training_is_not_called_silent(tmp_path, state, text):
    """Where training is seen, the time was too short, or somebody ended it."""
    assert "silent" not in first(tmp_path, text, state).says
