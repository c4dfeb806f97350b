"""The completion scripts as each shell really uses them: typed, a TAB, and what stands at the prompt then."""

from __future__ import annotations

import os
import pty
import re
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parents[2] / "packaging" / "completion"
COMMANDS = os.path.dirname(sys.executable)
LINES = [
    ("maple che", "check"),
    ("maple check --site ncsa-deltaa", "ncsa-deltaai"),
    ("maple explain MPL30", "MPL301"),
    ("maple-fix slurm-7", "slurm-7.out"),
    ("maple-daemon --fore", "--foreground"),
]
ON_A_TERMINAL = {  # the words that start it, and what a user's own start file has
    "bash": (("--norc", "-i"), "for one in {0}/bash/*; do source $one; done"),
    "zsh": (("-f", "-i"), "fpath=({0}/zsh $fpath); autoload -Uz compinit; compinit -u -D"),
}


def environment(folder: Path) -> dict[str, str]:
    """A user's, on a machine where Maple's commands are on PATH."""
    return {
        "PATH": f"{COMMANDS}:/usr/bin:/bin", "HOME": str(folder), "TERM": "dumb", "LANG": "C.UTF-8", "PS1": "> ",
        "COLUMNS": "200", "MAPLE_SOCKET": "/proc/nowhere/socket",
    }  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where a log lies."""
    (tmp_path / "slurm-7.out").touch()
    return tmp_path


def said(folder: Path, *words: str) -> str:
    """Return what a shell prints."""
    done = subprocess.run(
        words, env=environment(folder), cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60
    )
    assert done.stderr == "", done.stderr
    return done.stdout


@pytest.mark.skipif(not shutil.which("fish"), reason="there is no fish")
@pytest.mark.parametrize(("line", "offered"), LINES)
def test_fish(folder: Path, line: str, offered: str) -> None:
    """From the folder where fish looks for them."""
    found = said(folder, "fish", "-c", f"set -p fish_complete_path {SCRIPTS}/fish; complete -C '{line}'")
    assert offered in [one.partition("\t")[0] for one in found.splitlines()]


@pytest.mark.skipif(not shutil.which("fish"), reason="there is no fish")
def test_fish_says_the_whole_sentence(folder: Path) -> None:
    """A comma in it is no end; each command says what it does, and not half of it."""
    found = said(folder, "fish", "-c", f"set -p fish_complete_path {SCRIPTS}/fish; complete -C 'maple admin '")
    told = dict(one.split("\t") for one in found.splitlines())
    assert told["doctor"].startswith("Check every link, file, permission and program")
    assert [one for one in told.values() if one.endswith(("...", ","))] == []


@pytest.mark.parametrize("shell", ON_A_TERMINAL)
def test_on_a_terminal(folder: Path, shell: str) -> None:
    """Each by its own completion system."""
    if not shutil.which(shell):
        pytest.skip("there is no %s" % shell)
    words, begins = ON_A_TERMINAL[shell]
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(folder)
        os.execvpe(shell, [shell, *words], environment(folder))
    try:
        typed(terminal, begins.format(SCRIPTS) + "; echo rea''dy\n", "ready")
        for line, offered in LINES:
            typed(terminal, line + "\t", offered if offered.startswith("MPL") else offered + " ")
    finally:
        os.close(terminal)
        os.waitpid(child, 0)


def typed(terminal: int, words: str, until: str) -> None:
    """Type, and wait until that is shown, which is not what was typed; then wipe the line."""
    assert until not in words
    os.write(terminal, words.encode())
    shown, end = "", time.monotonic() + 60
    while until not in shown:
        assert time.monotonic() < end, shown
        if select.select([terminal], [], [], 0.2)[0]:
            shown += re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", os.read(terminal, 65536).decode("utf-8", "replace"))
        elif words.endswith("\t") and until.startswith("MPL"):
            os.write(terminal, b"\t")  # bash lists at the second
    os.write(terminal, b"\x15")
    time.sleep(0.5)  # what is typed meanwhile is no TAB of a user to zsh
