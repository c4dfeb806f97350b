"""PBS's hook, in a double of its interpreter: a bounded process of the owner's for a job that failed, and no other."""

from __future__ import annotations

import os
import pwd
import re
import time
from pathlib import Path
from typing import Any

import pytest

from tests.doubles.pbs_hooks import HookJob, run_hook

HOOK = os.path.abspath(__file__).partition("/tests/")[0] + "/packaging/pbs/maple_job_diagnosis.py"
NOBODY = pwd.getpwnam("nobody")
INTERPRETER = """#!/bin/sh
{ echo "$@"; id -u; id -g; id -G; pwd; ulimit -v; ulimit -t; ulimit -c; nice; env | sort; } >%s/seen 2>&1
"""
HANGS = "#!/bin/sh\nsleep 100 &\necho $! >%s/seen\nwait\n"

pytestmark = pytest.mark.skipif(os.getuid() != 0, reason="the hook runs as root")


class Job(HookJob):
    """A job at execjob_epilogue."""

    def __init__(self, **more: Any) -> None:
        super().__init__(**{"euser": "nobody", "Job_Owner": "nobody@login1", **more})

    def stdout_file(self) -> str:
        """Where its output lies."""
        return "/var/spool/pbs/spool/30.pbs01.OU"

    def stderr_file(self) -> str:
        """The same of its errors."""
        return "/var/spool/pbs/spool/30.pbs01.ER"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder that the owner may write in, with an interpreter that tells what it sees."""
    made = Path("/tmp") / ("maple-hook-%d-%s" % (os.getpid(), tmp_path.name[-12:]))
    made.mkdir(mode=0o777)
    made.chmod(0o777)
    yield made  # type: ignore[misc]
    for one in made.iterdir():
        one.unlink()
    made.rmdir()


def run(folder: Path, job: object, python: str = INTERPRETER, seconds: float = 30, on: bool = True) -> list[str]:
    """Run the hook; it accepts the job's end whatever happens. Returns what it logged."""
    (folder / "python").write_text(python % folder)
    (folder / "python").chmod(0o755)
    assert re.search(r'^PYTHON = ""', Path(HOOK).read_text(encoding="utf-8"), re.MULTILINE), "it is off as it comes"
    switched = {"PYTHON": str(folder / "python")} if on else {}
    heard = run_hook(HOOK, job, {"SECONDS": seconds, **switched})
    assert heard.accepted == 1
    return heard.logged


def test_the_process_is_the_owner_s_and_bounded(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No group of root's, nothing of the environment, and the owner's logs by name."""
    monkeypatch.setenv("LD_PRELOAD_OF_SOMEBODY", "x")
    groups_before = os.getgroups()
    os.setgroups([0, 4])
    try:
        assert run(folder, Job()) == []
    finally:
        os.setgroups(groups_before)
    words, uid, gid, groups, cwd, memory, processor, core, priority, *variables = (
        (folder / "seen").read_text().splitlines()
    )
    assert words == (
        "-I -m maple_agents.diagnose.at_end 30.pbs01 --exit 3"
        " /var/spool/pbs/spool/30.pbs01.OU /var/spool/pbs/spool/30.pbs01.ER"
    )
    assert (int(uid), int(gid), groups) == (NOBODY.pw_uid, NOBODY.pw_gid, str(NOBODY.pw_gid))
    assert (cwd, memory, processor, core, priority) == ("/", "262144", "20", "0", "19")
    names = {line.partition("=")[0] for line in variables}
    assert names - {"PWD", "OLDPWD", "SHLVL", "_"} == {"HOME", "PATH", "LC_ALL"}


@pytest.mark.parametrize(
    "job",
    [
        {"Exit_status": 0}, {"Exit_status": 143}, {"Exit_status": 271}, {"Exit_status": 265}, {"Exit_status": None},
        {"euser": "root"},
        {"euser": "no-such-user", "Job_Owner": "no-such-user@x"}, {"primary": False}, {"id": "30; id"},
    ],
    ids=str,
)  # fmt: skip
def test_no_process_is_started_for_any_other_job(folder: Path, job: dict[str, Any]) -> None:
    """It ran well, was cancelled perhaps, is root's or a stranger's, or another node tells of it."""
    assert run(folder, Job(**job)) == []
    assert not (folder / "seen").exists()


def test_it_is_off_as_it_comes(folder: Path) -> None:
    """Nothing is started."""
    run(folder, Job(), on=False)
    assert not (folder / "seen").exists()


def test_what_takes_too_long_is_killed_with_its_children(folder: Path) -> None:
    """And the end is accepted."""
    logged = run(folder, Job(), HANGS, seconds=1)
    assert logged == ["maple: a job was not diagnosed: TimeoutExpired"]
    child = int((folder / "seen").read_text())
    end = time.monotonic() + 10
    while os.path.exists("/proc/%d" % child) and "Z" not in status(child):
        assert time.monotonic() < end
        time.sleep(0.05)


def status(pid: int) -> str:
    try:
        with open("/proc/%d/stat" % pid, encoding="ascii") as file:
            return file.read().rpartition(")")[2].split()[0]
    except OSError:
        return "Z"


def test_whatever_fails_the_end_is_accepted(folder: Path) -> None:
    """An interpreter that is not there; a job that tells nothing."""
    assert run(folder, Job(), "#!/proc/nowhere/%s\n") == ["maple: a job was not diagnosed: FileNotFoundError"]
    assert run(folder, object()) == ["maple: a job was not diagnosed: AttributeError"]
