"""The same day on PBS, by doubles of qsub and qstat: what is submitted runs as PBS starts it, and its hook is heard."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from maple_agents.ask import sites

from tests.daemon.leftovers import goes_with_us
from tests.doubles.pbs_hooks import EPILOGUE, HookJob, run_hook
from tests.doubles.stand import Seen, compiled
from tests.packaging.first_day.walk import Walk

SITE = "alcf-polaris"
QSTAT = Path(__file__).parents[2] / "doubles" / "qstat.py"
HEAD = b"""#!/bin/bash
#PBS -A proj
#PBS -q debug
#PBS -l select=2:system=polaris
#PBS -l place=scatter
#PBS -l walltime=00:30:00
#PBS -l filesystems=home:eagle
cd "$PBS_O_WORKDIR"
"""
FAN_OUT = (
    HEAD
    + b"""HEAD=$(head -n 1 "$PBS_NODEFILE")
mpiexec -n 8 --ppn 4 torchrun --nnodes=2 --nproc-per-node=4 --rdzv-backend=c10d --rdzv-endpoint=$HEAD:29500 train.py
"""
)
FAILS = HEAD + b"python3 -c 'import a_module_of_nobody'\n"


class PbsWalk(Walk):
    """The scheduler is a qsub that takes everything, a qstat that knows what was told to it, and our hands."""

    def __init__(self, folder: str) -> None:
        super().__init__(folder)
        self.jobs: dict[str, dict[str, Any]] = {}
        self.bin = Path(folder, "pbs")
        self.bin.mkdir()
        double = compiled("qsub", folder)
        script = (
            "#!/bin/sh\n"
            'test "$1" = --version && exec echo pbs_version = 23.06.06\n'
            f'RECORD={folder}/record QSUB_SETUP={folder}/setup exec {double} "$@"\n'
        )
        (self.bin / "qsub").write_text(script)
        shutil.copy(QSTAT, self.bin / "qstat")
        for one in ("qsub", "qstat"):
            (self.bin / one).chmod(0o755)
        self._tell()

    def login(self) -> dict[str, str]:
        """Nothing but PBS's commands and the system's."""
        return {
            "PATH": f"{self.bin}:/usr/bin:/bin", "LANG": "C.UTF-8", "USER": "root", "LOGNAME": "root",
            "QSTAT_JOBS": f"{self.folder}/jobs.json",
        }  # fmt: skip

    def _tell(self) -> None:
        Path(self.folder, "jobs.json").write_text(json.dumps(self.jobs))
        Path(self.folder, "setup").write_text(
            "number=%d\nhost_resources=system\njob_resources=filesystems\n" % (len(self.jobs) + 7)
        )

    def submits(self, name: str, script: bytes, runs: bool = True) -> tuple[str, bytes]:
        """Return the job's id, once it has ended and its hook was heard, and the script that qsub was handed."""
        Path(self.work, name).write_bytes(script)
        said = self.types("qsub", name)
        began = int(Path(self.folder, "record").stat().st_mtime)  # when qsub ran, however busy the machine was before
        found = re.search(r"^(\d+)\.pbs01$", said, re.MULTILINE)
        assert found, said
        taken = Seen(Path(self.folder, "record").read_bytes(), b"", b"", 0).script
        out, err = (f"{self.work}/{name}.{kind}{found[1]}" for kind in "oe")
        code = self._runs(taken, found[0], out, err) if runs else 0
        told = {
            "Job_Name": name, "job_state": "F", "Exit_status": code, "queue": "debug", "Job_Owner": "root@login1",
            "euser": "root", "Output_Path": "login1:" + out, "Error_Path": "login1:" + err, "substate": 92,
            "Variable_List": {"PBS_O_WORKDIR": self.work}, "exec_host": "x1/0*64+x2/0*64",
            "Submit_arguments": " ".join(self._words()), "ctime": began, "stime": began, "obittime": int(time.time()),
        }  # fmt: skip
        self.jobs[found[0]] = told
        self._tell()
        self._ends(HookJob(**{**told, "id": found[0]}), found[0], taken)
        return found[0], taken

    def _ends(self, job: HookJob, name: str, script: bytes) -> None:
        """Run the hook as both events do: on the node that has the script, then on the server."""
        hook = Path(self.prefix, "hooks", "maple_job_end.py")
        if not hook.exists():
            return
        kept = Path(self.folder, "mom", "mom_priv", "jobs", name + ".SC")
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_bytes(script)
        conf = Path(self.folder, "pbs.conf")
        conf.write_text(f"PBS_HOME={self.folder}/mom\n")
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("PBS_CONF_FILE", str(conf))
            run_hook(str(hook), job, {}, kind=EPILOGUE)
            run_hook(str(hook), job, {})

    def _words(self) -> list[str]:
        argv = Seen(Path(self.folder, "record").read_bytes(), b"", b"", 0).values(b"argv")
        return [one.decode() for one in argv[1:]]

    def _runs(self, script: bytes, job: str, out: str, err: str) -> int:
        """Run the script as PBS does: from the home folder, by a login's environment."""
        nodes = Path(self.folder, "nodes")
        nodes.write_text("x1\nx2\n")
        own = {"PBS_O_WORKDIR": self.work, "PBS_JOBID": job, "PBS_NODEFILE": str(nodes), "HOME": self.home}
        with open(out, "wb") as output, open(err, "wb") as errors:
            return subprocess.run(["bash", "-s"], input=script, env={**self.login(), **own}, cwd=self.home,
                                  stdout=output, stderr=errors, timeout=60).returncode  # fmt: skip


@pytest.fixture(scope="module")
def walk() -> Iterator[PbsWalk]:
    """The day; its steps are the tests below, in their order."""
    folder = tempfile.mkdtemp(prefix="maple-day-", dir="/tmp")
    goes_with_us(folder)
    os.chmod(folder, 0o755)
    made = PbsWalk(folder)
    yield made
    made.ends()
    shutil.rmtree(folder)


def test_1_before_maple_a_command_says_which_site_this_is(walk: PbsWalk) -> None:
    """The scheduler's command tells that it is a PBS, and no more."""
    Path(walk.work, "train.sh").write_bytes(FAN_OUT)
    said = walk.run("maple", "check", "train.sh")[1]
    assert "site: generic-pbs (not described yet" in said


def test_2_install_with_service_and_hooks(walk: PbsWalk) -> None:
    """The lines for qmgr are printed; a script that is wrong is mended from then on, and a right one is not touched."""
    said = walk.installs(SITE)
    assert f"import hook maple application/x-python default {walk.prefix}/hooks/maple_job_end.py" in said
    assert "set hook maple event += execjob_epilogue" in said
    walk.starts_service()


def test_3_front_and_command_agree(walk: PbsWalk) -> None:
    """The same script, the same site, and the same answer; the user's file is the user's."""
    job, taken = walk.submits("train.sh", FAN_OUT, runs=False)
    told = json.loads(walk.types("maple", "check", "--json", "train.sh", code=1))
    assert (told["site"], told["site_known_by"]) == (SITE, f"installed below {walk.prefix}")
    lines = [line for line in taken.decode().splitlines() if not line.startswith("# maple:")]
    assert lines == told["repaired"]["script"].splitlines() and taken != FAN_OUT
    assert Path(walk.work, "train.sh").read_bytes() == FAN_OUT
    walk.history_tells("train.sh", "completed")
    assert "MPL301" in walk.types("maple", "show", job)


def test_4_a_job_fails_and_is_explained(walk: PbsWalk) -> None:
    """By its full id and by its number; history finds it by its name, and knows how it ended."""
    job, taken = walk.submits("silent.sh", FAILS)
    assert taken == FAILS
    for name in (job, job.partition(".")[0]):
        said = walk.run("maple-fix", name)[1]
        assert "a_module_of_nobody" in said and f"site: {SITE} (" in said, said
    walk.history_tells("silent.sh", "failed")


def test_5_facts_are_curated_applied_and_taken_back(walk: PbsWalk) -> None:
    """In a file of the site's own; the service reads them at once, and doctor agrees."""
    own = Path(walk.folder, "etc", "site_configs")
    own.mkdir(parents=True)
    text = Path(sites.path(SITE)).read_text()
    (own / f"{SITE}.toml").write_text(re.sub(r"(?m)^max_nodes = \d+", "max_nodes = 3", text, count=1))
    said = walk.types("maple", "site", "apply", SITE)
    assert f"revision 1 of {SITE} is in force" in said and "decides by them" in said
    assert "the service decides as the release does" in walk.run("maple", "admin", "doctor", "--prefix", walk.prefix)[1]
    assert "decides by them" in walk.types("maple", "site", "rollback")


def test_6_uninstall_leaves_no_trace(walk: PbsWalk) -> None:
    """Submitting goes on as before the day."""
    assert walk.service is not None
    walk.service.send_signal(signal.SIGTERM)
    assert walk.service.wait(60) == 0
    walk.admin("uninstall")
    assert not os.path.exists(walk.prefix + "/bin/qsub") and not os.path.exists(walk.prefix + "/current")
    assert walk.submits("after.sh", FAN_OUT, runs=False)[1] == FAN_OUT
