"""What was found at a job's end stands in the history, in `maple show`, and in the line after the failure."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from maple_agents.ask.memory.service import Failure, failures_line
from maple_agents.cli import main
from maple_agents.cli.history.history_page import cause
from maple_agents.diagnose.at_end import keep
from maple_agents.diagnose.values import Case, Cause, Diagnosis, Ended
from maple_submit_filter.site.facts import GENERIC_SLURM
from maple_submit_filter.types.job_records import Outcome, Record

WHY = "No disk space is left in /scratch"


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Job 4711 was diagnosed at its end, and 4712 could not be."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    for job, name, says in (("4711", "disk_quota_or_full", WHY + "."), ("4712", "unknown", "not in what was read")):
        case = Case(Ended(job, "failed", 1), "slurm", GENERIC_SLURM)
        keep(Diagnosis(case, (Cause("e", name, says, 6.0, 0.8),)), time.time())


def record(job: str, state: str = "failed") -> Record:
    ended = Outcome(job, state, 1, "test")
    return Record("r", "v", 1, 0.0, "h", 1, 1, "repair", "clean", (), "memory", job=job, outcome=ended)


def test_the_history_says_why_a_job_failed() -> None:
    """Not of one that ran well under the same id, and not what nobody knows."""
    assert cause(record("4711")) == WHY
    assert [cause(record("4711", "completed")), cause(record("4712")), cause(record("4713"))] == ["", "", ""]
    assert cause(record("4711")._replace(outcome=None)) == ""


def test_the_line_after_the_failure_says_it_too() -> None:
    """In place of the exit code."""
    line = failures_line([Failure("4711", "train.sh", "failed", 1, None, 131.0)], main._cause)
    assert line == "maple: job 4711 (train.sh) failed after 0:02:11: %s; maple-fix 4711" % WHY
    assert ": exit code 1;" in failures_line([Failure("4712", "train.sh", "failed", 1)], main._cause)
