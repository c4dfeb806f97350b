"""Several runs in one file: what an earlier job or an earlier start wrote is told apart, attempts are not."""

from __future__ import annotations

from pathlib import Path

import pytest
from maple_agents.diagnose.read import read
from maple_agents.diagnose.values import LogFile

STEPS = "".join(f"step {n} | loss {9 - n / 10:.2f}\n" for n in range(30))
BROKEN = 'Traceback (most recent call last):\n  File "/w/t.py", line 11, in <module>\n    import x\nImportError: x\n'
OTHER = 'Traceback (most recent call last):\n  File "/w/t.py", line 88, in <module>\n    main()\nValueError: y\n'
DIED = "srun: error: gpu14: tasks 0-1: Exited with exit code 1\n"
PREEMPTED = "slurmstepd: error: *** JOB 4711 ON r002 CANCELLED AT 2025-09-25T10:25:59 DUE TO PREEMPTION ***\n"


def runs(folder: Path, text: str) -> dict[str, int]:
    """Return of which run each exception is, by its name; other events are left out."""
    (folder / "job.log").write_text(text)
    found = read([LogFile(str(folder / "job.log"), "both")])
    return {event.exception: event.run for event in found.events if event.exception}


BANNER = "==== job {} on gpu{} at Tue Apr  1 09:00:12 CEST 2025 ====\n"
SEVERAL = {
    "another job": BANNER.format(771203, 14) + BROKEN + DIED + BANNER.format(771377, 2) + STEPS + OTHER + DIED,
    "requeued": "restart count: 0\n" + STEPS + BROKEN + PREEMPTED + "restart count: 1\nfrom step 2300\n" + OTHER,
    "killed by PBS": "### start on gpu07\n" + BROKEN + "=>> PBS: job killed: walltime 14435 exceeded limit 14400\n"
    "### start on gpu03\n" + OTHER,
    "another job of PBS": "start 551.pbs\n" + BROKEN + "start 598.pbs\n" + OTHER,
}  # fmt: skip


@pytest.mark.parametrize("name", SEVERAL)
def test_a_later_run_is_told_apart(tmp_path: Path, name: str) -> None:
    """What the first run died of is of run 0, what the last one died of is of run 1."""
    assert runs(tmp_path, SEVERAL[name]) == {"ImportError": 0, "ValueError": 1}


def test_it_is_told_apart_in_the_middle_of_a_long_log(tmp_path: Path) -> None:
    """A banner behind the first end is seen among a hundred thousand lines."""
    long = STEPS * 2000
    text = BANNER.format(771203, 14) + long + BROKEN + DIED + BANNER.format(771377, 2) + long + OTHER + long
    assert runs(tmp_path, text) == {"ImportError": 0, "ValueError": 1}


def test_what_every_run_says_is_of_the_last(tmp_path: Path) -> None:
    """The same failure again is one event, of the last run that said it; three jobs make runs 0, 1 and 2."""
    text = "".join(BANNER.format(number, 1) + BROKEN + DIED for number in (771203, 771377, 771400))
    assert runs(tmp_path, text) == {"ImportError": 2}


ONE = {
    "attempts of a script": "[attempt 1] Mon 20:11:01\n" + BROKEN + DIED + "[attempt 2] Mon 21:40:22\n" + OTHER,
    "the same job said twice": BANNER.format(771203, 14) + BROKEN + DIED + BANNER.format(771203, 2) + OTHER,
    "numbers of samples": "job 1 of 9\n" + BROKEN + "job 2 of 9\n" + OTHER,
    "nothing went wrong before": BANNER.format(771203, 14) + BANNER.format(771377, 2) + BROKEN + OTHER,
    "torn off and not begun again": "start of it\n" + BROKEN + PREEMPTED + "a trap says goodbye\n" + OTHER,
}  # fmt: skip


@pytest.mark.parametrize("name", ONE)
def test_one_run_is_one(tmp_path: Path, name: str) -> None:
    """A script that tries again is one job: its first failure may be the cause."""
    assert set(runs(tmp_path, ONE[name]).values()) == {0}
