"""A lab's shell has `maple` on PATH, and Maple in front of sbatch where that is wanted."""

from __future__ import annotations

import os
import subprocess
import sys

from tests.lab import shell
from tests.lab.sites import ROOT, shape_of_site, slurm_sites

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


WHO = "printenv HOME MAKEFLAGS MAKELEVEL XDG_STATE_HOME; echo; maple check job.sh; rm job.sh"
JOB = "printf '#!/bin/bash\\n#SBATCH --time=1\\nsrun hostname\\n' > ~/job.sh; cd ~; "


# The service writes what it heard a moment later.
REMEMBERED = "for n in 1 2 3 4 5 6 7 8 9; do maple history 2>&1 | grep '1 version' && break; sleep 1; done"


def ran(*words: str, script: str) -> subprocess.CompletedProcess[str]:
    """Return what a command in a lab did; its caller is make, with folders of its own."""
    command = [sys.executable, os.path.join(ROOT, "tests/lab/shell.py"), "--site", "ncsa-delta", "--nodes", "1"]
    environment = {**os.environ, "MAKEFLAGS": "w", "MAKELEVEL": "1", "XDG_STATE_HOME": "/nowhere"}
    return subprocess.run([*command, *words, "--", "sh", "-c", JOB + script], capture_output=True, text=True,
                          check=False, env=environment)  # fmt: skip


def test_the_shell_is_on_the_site_and_has_a_home_of_its_own() -> None:
    """Of who called it nothing is left."""
    done = ran(script=WHO)
    before, _, after = done.stdout.partition("\n\n")
    assert before.endswith("/home") and "\n" not in before and before != os.path.expanduser("~")
    assert "site: ncsa-delta (detected: ClusterName in " in after, done


def test_with_maple_the_service_remembers_what_was_submitted() -> None:
    """And it ends with the lab."""
    done = ran("--maple", script="sbatch -A a-delta-gpu -p gpuA100x4 --gpus-per-node=1 --mem=1g job.sh; " + REMEMBERED +
               "; maple check job.sh; echo; ps -eo pid,args | grep [m]aple-daemon.*$(dirname ~)/")  # fmt: skip
    assert "Submitted batch job" in done.stdout and "installed below" in done.stdout, done
    assert "1 version" in done.stdout, done
    pid = int(done.stdout.split("\n\n")[-1].split()[0])
    assert not os.path.exists(f"/proc/{pid}")


def test_the_welcome_fits_a_narrow_terminal() -> None:
    """For every site, with Maple and without."""
    for site in slurm_sites():
        for front in (True, False):
            told = shell.welcome(shape_of_site(site, 4), site, front)
            assert [line for line in told.splitlines() if len(line) > shell.WIDE] == []


def test_make_hands_the_wish_on() -> None:
    """`make lab MAPLE=1` is --maple, and the shell's own MAPLE is no mode called 1."""

    def recipe(*words: str) -> str:
        return subprocess.run(["make", "-n", "-C", ROOT, "-o", "setup", "lab", *words], capture_output=True, text=True,
                              check=True).stdout  # fmt: skip

    assert "--maple" in recipe("MAPLE=1") and "env -u MAPLE" in recipe("MAPLE=1")
    assert "--maple" not in recipe() + recipe("MAPLE=off")
    assert shell.COMMANDS[0] == "maple"
