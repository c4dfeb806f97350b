"""On a real Slurm: the epilogue leaves a diagnosis for the owner of a job that failed, and of no other job."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sysconfig
import time
from collections.abc import Callable, Iterator, Mapping

import pytest

from tests.lab import GPU2X2, Lab
from tests.wanted import up

ROOT = os.path.abspath(__file__).partition("/tests/")[0]
USER = 65534  # nobody: in the epilogue's eyes a user as every other; root is none
PYTHON = """#!/bin/sh
# The interpreter of the installation, which this user can read.
shift 2
echo "$1" >>%s
exec /usr/bin/python3 -I -c 'import runpy, sys
sys.path[:0] = %s
runpy.run_module(sys.argv.pop(1), run_name="__main__", alter_sys=True)' "$@"
"""
PATHS = [ROOT + "/submit_filter", ROOT + "/agents", ROOT + "/daemon", sysconfig.get_path("purelib")]
CANCELS = "#!/bin/bash\nscancel $SLURM_JOB_ID\nsleep 60\n"
FAILS = "#!/bin/bash\n#SBATCH -N 2\nsrun -N1 -n1 /usr/bin/python3 -c 'import nosuchmodule'\n"


class EndingLab(Lab):
    """A lab whose administrator has switched the diagnosis at job end on."""

    def _write(self, programs: Mapping[str, str]) -> None:
        super()._write(programs)
        etc, home = self.directory + "/etc/", self.directory + "/home"
        os.chmod(self.directory, 0o711)
        os.mkdir(home, 0o700)
        os.chown(home, USER, USER)
        with open(ROOT + "/packaging/slurm/epilog_maple", encoding="utf-8") as file:
            text = file.read()
        entry = 'getent passwd "$uid"'  # nobody has no home of his own
        assert entry in text
        text = text.replace(entry, "echo nobody:x:%d:%d::%s:/bin/sh" % (USER, USER, home))
        self._file("etc/epilog_maple", text, 0o755)
        self._file("etc/python", PYTHON % (self.directory + "/runs", json.dumps(PATHS)), 0o755)
        self._file("runs", "")
        os.chown(self.directory + "/runs", USER, USER)
        commands = os.path.dirname(shutil.which("scontrol") or "")
        self._file("etc/diagnose.conf", "PYTHON=%spython\nSLURM_BIN=%s\n" % (etc, commands))
        with open(etc + "slurm.conf", encoding="utf-8") as file:
            bare = file.read()
        self._file("etc/slurm.conf", bare + "\nEpilog=%sepilog_maple\n" % etc)


@pytest.fixture(scope="module")
def lab() -> Iterator[EndingLab]:
    """One for all tests here."""
    made = up(EndingLab(GPU2X2))
    yield made
    made.stop()


@pytest.fixture
def work(lab: EndingLab) -> Iterator[str]:
    """A folder of the user's, a home in which nothing lies, and an interpreter that was not started yet."""
    os.truncate(lab.directory + "/runs", 0)
    folder = lab.directory + "/work"
    os.mkdir(folder)
    os.chown(folder, USER, USER)
    yield folder
    shutil.rmtree(folder)
    for name in os.listdir(lab.directory + "/home"):
        path = os.path.join(lab.directory, "home", name)
        os.unlink(path) if os.path.islink(path) else shutil.rmtree(path)


def ran(lab: EndingLab, work: str, script: str, uid: int = USER) -> str:
    """Run a job as a user, and return its id when its nodes are free again: the epilogue has ended."""
    with open(work + "/job.sh", "w", encoding="utf-8") as file:
        file.write(script)
    command = ["setpriv", "--reuid=%d" % uid, "--regid=%d" % uid, "--clear-groups", "sbatch", "--parsable"]
    done = subprocess.run(
        [*command, "job.sh"], env=lab.environment(), cwd=work, capture_output=True, text=True, timeout=60, check=True
    )
    job = done.stdout.strip()
    until(lab, lambda: job not in listed(lab, "squeue", "-h", "-o", "%A"))
    return job


def until(lab: EndingLab, true: Callable[[], bool], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, lab.logs()
        time.sleep(0.1)


def listed(lab: EndingLab, *words: str) -> list[str]:
    done = subprocess.run(words, env=lab.environment(), capture_output=True, text=True, timeout=60, check=True)
    return done.stdout.split()


def runs(lab: EndingLab) -> int:
    """How often the interpreter was started."""
    with open(lab.directory + "/runs", encoding="utf-8") as file:
        return len(file.readlines())


def found(lab: EndingLab) -> dict[str, str]:
    """Every file below the user's home, with what it holds."""
    files = {}
    for folder, _, names in os.walk(lab.directory + "/home"):
        for name in names:
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                files[os.path.relpath(os.path.join(folder, name), lab.directory + "/home")] = file.read()
    return files


def test_a_job_that_failed_leaves_its_diagnosis_to_its_owner(lab: EndingLab, work: str) -> None:
    """Once, though two nodes ran the epilogue; as that user, for nobody else; and the nodes stay in service."""
    job = ran(lab, work, FAILS)
    name = ".local/state/maple/diagnoses/%s.json" % job
    files = found(lab)
    assert [one for one in files if "diagnoses" in one] == [name]
    assert runs(lab) == 1
    told = json.loads(files[name])["told"]
    assert told["cause"]["class"] == "missing_python_module" and (told["state"], told["exit_code"]) == ("failed", 1)
    assert told["evidence"][0]["text"] == "ModuleNotFoundError: No module named 'nosuchmodule'"
    path = os.path.join(lab.directory, "home", name)
    seen = os.stat(path)
    assert (seen.st_uid, seen.st_gid, stat.S_IMODE(seen.st_mode)) == (USER, USER, 0o600)
    for folder in (os.path.dirname(path), os.path.dirname(os.path.dirname(path))):
        assert (os.stat(folder).st_uid, stat.S_IMODE(os.stat(folder).st_mode)) == (USER, 0o700)
    assert set(listed(lab, "sinfo", "-h", "-o", "%t")) == {"idle"}


@pytest.mark.parametrize(
    "script",
    ["#!/bin/bash\necho well\n", FAILS + "exit 0\n", CANCELS],
    ids=["well", "well in the end", "cancelled"],
)
def test_a_job_that_ran_well_or_was_cancelled_leaves_nothing(lab: EndingLab, work: str, script: str) -> None:
    """Not even a folder."""
    ran(lab, work, script)
    assert found(lab) == {} and os.listdir(lab.directory + "/home") == [] and runs(lab) == 0


def test_nothing_is_done_for_root_or_where_it_is_not_switched_on(lab: EndingLab, work: str) -> None:
    """A settings file that others may write switches nothing on."""
    ran(lab, work, FAILS, uid=0)
    assert found(lab) == {}
    conf = lab.directory + "/etc/diagnose.conf"
    os.chmod(conf, 0o666)
    ran(lab, work, FAILS)
    assert found(lab) == {}
    os.chmod(conf, 0o644)
    os.rename(conf, conf + ".off")
    ran(lab, work, FAILS)
    os.rename(conf + ".off", conf)
    assert found(lab) == {} and runs(lab) == 0


def test_links_in_the_user_s_home_lead_nowhere(lab: EndingLab, work: str) -> None:
    """And the job's end is the same, and the node's."""
    target = lab.directory + "/target"
    os.mkdir(target)
    os.chown(target, USER, USER)
    state = lab.directory + "/home/.local/state"
    os.makedirs(state)
    os.symlink(target, state + "/maple")
    for folder in (lab.directory + "/home/.local", state):
        os.chown(folder, USER, USER)
    ran(lab, work, FAILS)
    assert os.listdir(target) == []
    assert set(listed(lab, "sinfo", "-h", "-o", "%t")) == {"idle"}
    os.rmdir(target)
