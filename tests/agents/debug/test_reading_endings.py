"""What stands behind the line that says that all is done: the last words of threads are no failure, others are."""

from __future__ import annotations

from pathlib import Path

import pytest
from maple_agents.debug.diagnosing import diagnose
from maple_agents.debug.knowledge import anchors, entries
from maple_agents.debug.reading import digesting, read
from maple_agents.debug.values import Case, Digest, Ended, LogFile, Severity
from maple_submit_filter.site import GENERIC_SLURM

DONE = "".join(f"step {n} | loss {3 - n / 100:.3f}\n" for n in range(20)) + "Training completed in 1:02:11\n"
THREAD = "Exception in thread Thread-4 (_pin_memory_loop):\n"
FRAMES = (
    'Traceback (most recent call last):\n  File "/a/threading.py", line 1045, in _bootstrap_inner\n    self.run()\n'
)
RESET = "ConnectionResetError: [Errno 104] Connection reset by peer\n"
MEMORY = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n"


def told(tmp_path: Path, text: str) -> Digest:
    path = tmp_path / "job.out"
    path.write_text(text, "utf-8")
    return read((LogFile(str(path), "both"),), anchors(entries()))


def cause(digest: Digest) -> str:
    case = Case(Ended(id="1", state=None), "slurm", GENERIC_SLURM)
    return diagnose(case, digest, None, entries()).causes[0].cause


def test_a_thread_ends_no_program(tmp_path):
    """Python's exit status does not know of what a thread raised: the run that was done before is good."""
    digest = told(tmp_path, DONE + THREAD + FRAMES + RESET)
    assert digest.ended_well.startswith("Training completed")
    assert cause(digest) == "none"


@pytest.mark.parametrize("behind", [FRAMES + RESET, "RuntimeError: broken\n", THREAD + FRAMES + RESET + "Killed\n"])
def test_other_errors_behind_it_are_not_excused(tmp_path, behind):
    """The main program, or the word that a process was killed, may well have failed the job."""
    digest = told(tmp_path, DONE + behind)
    assert digest.ended_well == ""
    assert cause(digest) != "none"


def test_a_thread_that_says_a_cause_is_heard(tmp_path):
    """What is a sure cause wherever it is said is not called a good run."""
    assert cause(told(tmp_path, DONE + THREAD + FRAMES + MEMORY)) == "gpu_oom"


@pytest.mark.parametrize("day", ["317", "1117"])
def test_a_month_of_one_digit_is_a_month(tmp_path, day):
    """torch writes the month without a zero; its W is a warning whatever the words are."""
    line = "[rank3]:[W%s 07:43:17.123456789 TCPStore.cpp:125] [c10d] recvValue failed: failed to recv, got 0 bytes\n"
    event = told(tmp_path, line % day).events[0]
    assert (event.severity, event.ranks) == (Severity.WARNING, frozenset({3}))


def test_a_search_is_built_once(tmp_path):
    """The same anchors give the same automaton, others another one."""
    assert digesting._search((b"anchored",)) is digesting._search((b"anchored",))
    assert digesting._search((b"anchored",)) is not digesting._search((b"another one",))
