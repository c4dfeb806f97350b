"""A lab's shell has `maple` on PATH, and Maple in front of sbatch where that is wanted."""

from __future__ import annotations

import os
import subprocess
import sys

from tests.lab import shell
from tests.lab.sites import ROOT

LOOK = "command -v maple; command -v sbatch; maple --version; command -v torchrun; printenv MAPLE"


def looked(*words: str) -> list[str]:
    """Return what a shell in a lab finds."""
    command = [sys.executable, os.path.join(ROOT, "tests/lab/shell.py"), "--site", "ncsa-delta", "--nodes", "1"]
    done = subprocess.run([*command, *words, "--", "sh", "-c", LOOK], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return done.stdout.splitlines()


def test_maple_is_on_path_and_sbatch_is_the_lab_s_own() -> None:
    """And nothing that lies beside `maple` hides a stand-in."""
    maple, sbatch, version, torchrun = looked()
    assert maple.endswith("/maple/bin/maple") and version.startswith("maple ")
    assert os.path.dirname(sbatch) not in (os.path.dirname(maple), os.path.dirname(sys.executable))
    assert os.path.dirname(torchrun) != os.path.dirname(sys.executable)


def test_with_maple_the_front_is_found_first() -> None:
    """As on a site where it was installed."""
    maple, sbatch, *_ = looked("--maple")
    assert os.path.dirname(sbatch) == os.path.dirname(maple)


def test_make_hands_the_wish_on() -> None:
    """`make lab MAPLE=1` is --maple, and the shell's own MAPLE is no mode called 1."""

    def recipe(*words: str) -> str:
        return subprocess.run(["make", "-n", "-C", ROOT, "-o", "setup", "lab", *words], capture_output=True, text=True,
                              check=True).stdout  # fmt: skip

    assert "--maple" in recipe("MAPLE=1") and "env -u MAPLE" in recipe("MAPLE=1")
    assert "--maple" not in recipe() + recipe("MAPLE=off")
    assert shell.COMMANDS[0] == "maple"
