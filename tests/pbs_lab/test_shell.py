"""A lab by one command: PBS's commands are typed in it; with Maple the front, service and hooks are there."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.lab.sites import ROOT
from tests.pbs_lab import PbsLab, shell
from tests.pbs_lab.qmgr import Manager
from tests.pbs_lab.server import served
from tests.pbs_lab.shape import PAIR
from tests.pbs_lab.sites import shape_of_site

HEAD = "#!/bin/bash\n#PBS -A proj\n#PBS -q debug\n#PBS -l select=1:system=polaris,walltime=00:05:00,filesystems=home\n"
# The service writes what it heard a moment later.
HEARD = "for n in $(seq 40); do maple history 2>&1 | grep failed && break; sleep 1; done; maple history"


def typed(site: str, script: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Return what a shell in a lab of that site did."""
    command = [sys.executable, os.path.join(ROOT, "tests/lab/shell.py"), "--site", site, *words]
    return subprocess.run([*command, "--", "sh", "-c", f"cd; {script}"], capture_output=True, text=True, timeout=180)


def test_jobs_are_submitted_seen_and_ended() -> None:
    """By the commands of PBS, with the words of its answers."""
    with PbsLab(PAIR) as lab, served(lab):
        folder = f"{lab.directory}/home"

        def sh(script: str) -> str:
            done = subprocess.run(
                ["sh", "-c", script], env=lab.environment(), cwd=folder, capture_output=True, text=True, timeout=60
            )
            return done.stdout + done.stderr

        assert sh("echo 'exit 7' | qsub -W block=true; echo $?") == "0.pbs01\n7\n"
        assert "Exit_status = 7" in sh("qstat -x -f 0") and "Job has finished" in sh("qstat -f 0")
        assert sh("qsub -W block=true -j oe -- /bin/echo 'a  b'; cat STDIN.o1") == "1.pbs01\na  b\n"
        assert "must be a terminal" in sh("mkfifo f; exec 3<>f; timeout 20 qsub -I <&3")  # it reads no script
        assert "usage" in sh("qsub --") and sh("qsub --version") == "pbs_version = 23.06.06\n"
        waits = "echo sleep 60 | qsub; for n in $(seq 100); do qstat | grep -q ' R ' && break; sleep .1; done; qdel 2; "
        assert sh(waits + "for n in $(seq 100); do qstat -x -f 2 | grep Exit_status && break; sleep .1; done").endswith(
            "Exit_status = 271\n"
        )
        assert "terminated by" in sh("qstat -x -f 2")
        assert sh("echo sleep 60 | qsub -l walltime=1 -W block=true; echo $?") == "3.pbs01\n227\n"
        assert "walltime 8 exceeded limit 1" in sh("cat STDIN.e3")


def test_of_several_c_only_the_last_is_done(tmp_path) -> None:  # type: ignore[no-untyped-def]
    """As OpenPBS's qmgr does."""
    manager = Manager(str(tmp_path / "hooks"), PAIR)
    words = ["-c", "create hook x event=jobobit", "-c", "import hook x application/x-python default a.py"]
    assert "hook not found" in manager.typed(words, "", str(tmp_path))[1]


def test_maple_is_there_and_knows_the_site() -> None:
    """By the server's name; it stands in front only where that is wanted."""
    done = typed("alcf-polaris", f"printf '%s' '{HEAD}true\n' > job.sh; command -v qsub; maple check job.sh")
    assert done.stdout.splitlines()[0].endswith("/bin/qsub") and "/maple/bin/" not in done.stdout, done
    assert "site: alcf-polaris (detected: PBS_SERVER" in done.stdout, done


def test_with_maple_the_service_hears_of_jobs_and_their_ends() -> None:
    """By the hooks, brought into force by the lines that `install` prints."""
    done = typed("alcf-polaris", f"printf '%s' '{HEAD}mpiexec -n 1 python nobody.py\n' > job.sh; qsub job.sh; {HEARD}",
                 "--maple")  # fmt: skip
    assert "0.pbs01" in done.stdout and "failed" in done.stdout, done


def test_a_right_launch_line_is_verified() -> None:
    """As the welcome proposes; the job of it is run like any other."""
    launch = 'mpiexec -n 4 --ppn 4 --cpu-bind none bash -c "exec python train.py"'
    done = typed("alcf-polaris", f"printf '%s' '{HEAD}cd $PBS_O_WORKDIR\n{launch}\n' > job.sh; maple verify job.sh "
                 "--mini-app dry")  # fmt: skip
    assert "job.sh: passed (dry, 4 ranks, job 0.pbs01" in done.stdout, done


@pytest.mark.parametrize("site", ["alcf-polaris", "alcf-aurora", "generic-pbs"])
def test_the_welcome_fits_a_narrow_terminal(site: str) -> None:
    """With Maple and without."""
    for front in (True, False):
        assert [line for line in shell.welcome(shape_of_site(site), front).splitlines() if len(line) > 80] == []
