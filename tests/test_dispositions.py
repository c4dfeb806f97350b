"""Programs under test get their signals, also where the tests themselves were started without."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
KNOWN = sum(1 << (number - 1) for number in signal.valid_signals() - {signal.SIGPIPE, signal.SIGXFSZ})
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
    assert done.returncode == 0, done.stderr
    assert int(sets["SigBlk:"], 16) & KNOWN == 0  # two more are the C library's own
    assert int(sets["SigIgn:"], 16) & KNOWN == 0


def held_back() -> dict[str, int]:
    """The signals that a program started by this process would have blocked, and ignored."""
    done = subprocess.run(["/bin/sh", "-c", "exec grep -E '^Sig(Blk|Ign)' /proc/self/status"], capture_output=True,
                          text=True, check=True)  # fmt: skip
    return {name: int(bits, 16) & KNOWN for name, bits in (line.split() for line in done.stdout.splitlines())}


def test_what_a_test_starts_gets_every_signal() -> None:
    """However the tests were started: see below."""
    assert held_back() == {"SigBlk:": 0, "SigIgn:": 0}


def test_the_tests_may_be_started_from_a_shell_that_ignores_signals() -> None:
    """`nohup make test`, and `make test &` in a script: every test is given its signals back, in one place."""

    def without() -> None:
        for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)

    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", __file__, "-k", "what_a_test_starts"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, preexec_fn=without, timeout=120)
    assert done.returncode == 0 and "1 passed" in done.stdout, done.stdout


PYTEST = """#!/bin/sh
# Stands for pytest: the half with the labs is told folders, the other one which of them to leave out.
case "$*" in
*--ignore=*) half=computes ;;
*) half=labs ;;
esac
. "./$half.sh"
"""


def halves(folder: Path, labs: str, computes: str) -> subprocess.CompletedProcess[str]:
    """Both halves, by what each is to do."""
    (folder / "tests").mkdir()
    shutil.copy(os.path.join(ROOT, "tests", "halves.sh"), folder / "tests")
    for name, text in (("pytest", PYTEST), ("labs.sh", labs), ("computes.sh", computes)):
        (folder / name).write_text(text)
    (folder / "pytest").chmod(0o755)
    words = ["/bin/sh", str(folder / "tests" / "halves.sh")]
    return subprocess.run(words, env={**os.environ, "PYTEST": "./pytest"}, capture_output=True, text=True, timeout=60,
                          start_new_session=True)  # fmt: skip


@pytest.mark.parametrize(("labs", "computes", "code"), [(0, 0, 0), (1, 0, 1), (0, 1, 1)])
def test_all_tests_have_passed_where_both_halves_have(labs: int, computes: int, code: int, tmp_path: Path) -> None:
    """And what the half in the background said is shown as well."""
    done = halves(tmp_path, f"echo one; exit {labs}", f"echo other; exit {computes}")
    assert (done.returncode, done.stdout.split()) == (code, ["one", "other"])


def test_who_interrupts_the_tests_ends_both_halves(tmp_path: Path) -> None:
    """A shell has what it starts in the background ignore SIGINT, which would leave that half running."""
    waits = "trap 'echo interrupted; exit 2' INT; touch waits; for _ in $(seq 300); do sleep 0.1; done; echo never"
    ends = "until [ -e waits ]; do sleep 0.05; done; kill -INT $PPID; exit 2"
    done = halves(tmp_path, ends, waits)
    assert done.returncode == 130
    assert (tmp_path / "build" / "other-half.log").read_text() == "interrupted\n"
