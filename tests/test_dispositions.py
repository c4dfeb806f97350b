"""Programs under test get their signals, also where the tests themselves were started without."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
STARTED = f"""
import signal, subprocess, sys, os
sys.path.insert(0, {ROOT!r})
from tests.dispositions import give_back
give_back()
os.kill(os.getpid(), signal.SIGHUP)
subprocess.run(["/bin/sh", "-c", "exec grep -E '^Sig(Blk|Ign)' /proc/self/status"])
"""


@pytest.mark.parametrize("ignored", [("HUP",), ("INT", "QUIT"), ("HUP", "INT", "TERM", "USR1", "CHLD")], ids="+".join)
def test_what_was_ignored_reaches_what_is_started_and_not_the_tests(ignored: tuple[str, ...]) -> None:
    """SIGHUP is sent to the one that gave back: it lives on where it was to ignore it."""
    numbers = {getattr(signal, f"SIG{name}") for name in ignored} | {signal.SIGHUP}

    def without() -> None:
        for number in numbers:
            signal.signal(number, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR2})

    done = subprocess.run([sys.executable, "-c", STARTED], capture_output=True, text=True, preexec_fn=without,
                          restore_signals=False, timeout=60)  # fmt: skip
    sets = dict(line.split() for line in done.stdout.splitlines())
    known = sum(1 << (number - 1) for number in signal.valid_signals() - {signal.SIGPIPE, signal.SIGXFSZ})
    assert done.returncode == 0, done.stderr
    assert int(sets["SigBlk:"], 16) & known == 0  # two more are the C library's own
    assert int(sets["SigIgn:"], 16) & known == 0
