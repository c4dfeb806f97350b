"""Programs under test get their signals, also where the tests themselves were started without."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

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
# Stands for pytest: what a part is to do stands in a file of its name, for most nothing.
for word; do part=$word; done
echo "$*" >>words
[ ! -e "$(echo "$part" | tr / -).sh" ] || . "./$(echo "$part" | tr / -).sh"
"""


def parts(folder: Path, does: Mapping[str, str] = MappingProxyType({})) -> subprocess.CompletedProcess[str]:
    """Run all parts, by what each is to do."""
    (folder / "tests").mkdir()
    shutil.copy(os.path.join(ROOT, "tests", "parts.sh"), folder / "tests")
    for name, text in (("pytest", PYTEST), *((part.replace("/", "-") + ".sh", text) for part, text in does.items())):
        (folder / name).write_text(text)
    (folder / "pytest").chmod(0o755)
    words = ["/bin/sh", str(folder / "tests" / "parts.sh")]
    return subprocess.run(words, env={**os.environ, "PYTEST": "./pytest"}, capture_output=True, text=True, timeout=60,
                          start_new_session=True)  # fmt: skip


@pytest.mark.parametrize(("labs", "computes", "code"), [(0, 0, 0), (1, 0, 1), (0, 1, 1)])
def test_all_tests_have_passed_where_every_part_has(labs: int, computes: int, code: int, tmp_path: Path) -> None:
    """And what a part that failed said is shown at the end, of the others the last line."""
    done = parts(
        tmp_path, {"tests/lab": f"echo much; echo one; exit {labs}", "tests": f"echo more; echo other; exit {computes}"}
    )
    assert done.returncode == code
    assert ("much" in done.stdout, "more" in done.stdout) == (bool(labs), bool(computes))
    assert {"one", "other"} <= set(done.stdout.replace(":", " ").split())


def test_a_part_that_never_ran_has_not_passed(tmp_path: Path) -> None:
    """A lane that was killed leaves the part that it ran to nobody."""
    done = parts(tmp_path, {"tests/daemon": "kill -KILL $PPID"})
    assert done.returncode == 1


def test_every_test_is_in_one_part(tmp_path: Path) -> None:
    """However folders come and go."""
    assert parts(tmp_path).returncode == 0
    asked = [line.split()[2:] for line in (tmp_path / "words").read_text().splitlines()]
    for path in Path(ROOT, "tests").rglob("test_*.py"):
        name = path.relative_to(ROOT).as_posix()
        those = [
            words[-1]
            for words in asked
            if name.startswith(words[-1] + "/")
            and not any(name.startswith(word.removeprefix("--ignore=") + "/") for word in words[:-1])
        ]
        assert len(those) == 1, (name, those)
    assert all(Path(ROOT, words[-1]).is_dir() for words in asked)


def test_who_interrupts_the_tests_ends_every_part(tmp_path: Path) -> None:
    """A shell has what it starts in the background ignore SIGINT, which would leave them running."""
    waits = "trap 'echo interrupted; exit 2' INT; touch waits; for _ in $(seq 300); do sleep 0.1; done; echo never"
    ends = "until [ -e waits ]; do sleep 0.05; done; kill -INT $(cut -d ' ' -f 4 /proc/$PPID/stat); sleep 30"
    done = parts(tmp_path, {"tests/submit_filter": waits, "tests/reality": ends})
    assert done.returncode == 130
    assert (tmp_path / "build" / "tests" / "tests-submit_filter.running").read_text() == "interrupted\n"
