"""The same day on PBS, by doubles of qsub and qstat: what is submitted runs as PBS starts it, and its hook is heard."""

from __future__ import annotations

import json
import os
import re
import shlex
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
from maple_daemon.install import trials
from maple_daemon.install.release.layout import Release

from tests.daemon.leftovers import goes_with_us
from tests.doubles.pbs_hooks import EPILOGUE, HookJob, run_hook
from tests.doubles.stand import Seen, compiled
from tests.packaging.first_day.walk import Walk
from tests.pbs_lab.qmgr import Manager
from tests.pbs_lab.sites import shape_of_site

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
        self._taken: dict[str, bytes] = {}
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
        """Return the job's id and the script that qsub was handed; where it *runs*, once its hook was heard."""
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
            "Submit_arguments": " ".join(self._words()), "comment": "Job run at Sun Nov 22 at 10:00 on (x1) and failed",
            "ctime": began, "stime": began, "obittime": int(time.time()),
        }  # fmt: skip
        self.jobs[found[0]] = told
        self._tell()
        self._taken[found[0]] = taken
        if runs:
            self.ends_job(found[0])
        return found[0], taken

    def ends_job(self, job: str) -> None:
        """Let the hooks hear of a job's end."""
        self._ends(HookJob(**{**self.jobs[job], "id": job}), job, self._taken[job])

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
    server = Manager(walk.folder + "/qmgr", shape_of_site(SITE))
    for line in re.findall(r"(?m)^    (qmgr .*)$", said):
        assert server.typed(shlex.split(line)[1:], "", walk.work) == ("", "", 0), line
    assert server.hooks["maple"] == {"event": "jobobit,execjob_epilogue", "alarm": "5"}
    assert Path(server.hooks_of("jobobit")[0]).read_text() == Path(walk.prefix, "hooks/maple_job_end.py").read_text()
    walk.starts_service()


def test_3_front_and_command_agree(walk: PbsWalk) -> None:
    """The same script, the same site, and the same answer; the user's file is the user's."""
    job, taken = walk.submits("train.sh", FAN_OUT, runs=False)
    told = json.loads(walk.types("maple", "check", "--json", "train.sh", code=1))
    assert (told["site"], told["site_known_by"]) == (SITE, f"installed below {walk.prefix}")
    lines = [line for line in taken.decode().splitlines() if not line.startswith("# maple:")]
    assert lines == told["repaired"]["script"].splitlines() and taken != FAN_OUT
    assert Path(walk.work, "train.sh").read_bytes() == FAN_OUT
    walk.history_tells("", "the hooks of PBS tell a job's id when it ends")  # kept behind the answer
    walk.ends_job(job)
    walk.history_tells("train.sh", "completed")
    assert "MPL301" in walk.types("maple", "show", job)


def test_3a_a_mode_holds_at_once_for_front_service_and_command(walk: PbsWalk) -> None:
    """Whoever switches repair off can be sure of it."""
    assert "goes by them" in walk.admin("mode", "observe")
    assert walk.submits("train.sh", FAN_OUT, runs=False)[1] == FAN_OUT
    said = walk.types("maple", "check", "train.sh", code=1)
    assert "mode repair would submit:" in said and "fixed automatically" not in said
    assert "submitted as written, because the mode is observe" in said
    assert "goes by them" in walk.admin("mode", "repair")
    assert walk.submits("train.sh", FAN_OUT, runs=False)[1] != FAN_OUT


def test_3b_a_script_from_words_says_where_it_goes_and_why(walk: PbsWalk) -> None:
    """A queue among others that take the job, one that nobody knows, none that takes it, and none that is named."""
    ask = "DDP train.py on %s, project abcd, eagle%s"
    assert "the only queue for ordinary jobs that takes it" in walk.types("maple", "new", ask % ("2 nodes, 1 hour", ""))
    said = walk.types("maple", "new", ask % ("4 nodes, 1 hour", ", queue nosuch"))
    assert "queue nosuch: Maple does not know it at alcf-polaris (known: debug," in " ".join(said.split())
    said = " ".join(walk.run("maple", "new", ask % ("30 nodes, 12 hours", ""))[1].split())
    assert (
        "no queue of alcf-polaris takes the job; prod: 30 nodes for 12:00:00, and none of the queues behind it" in said
    )
    Path(walk.work, "routed.sh").write_bytes(FAN_OUT.replace(b"#PBS -q debug\n", b""))
    said = " ".join(walk.types("maple", "new", "--from", "routed.sh").split())
    assert "No queue is named: the scheduler's default decides. At alcf-polaris there are debug," in said
    assert re.search(r"(?m)^train.sh: 2 nodes, 4 GPUs a node, in debug$", walk.types("maple", "plan", "train.sh"))


def test_4_a_job_fails_and_is_explained(walk: PbsWalk) -> None:
    """By its full id and by its number; history finds it by its name, and knows how it ended."""
    job, taken = walk.submits("silent.sh", FAILS)
    assert taken == FAILS
    for name in (job, job.partition(".")[0]):
        said = walk.run("maple-fix", name)[1]
        assert "a_module_of_nobody" in said and f"site: {SITE} (" in said, said
        assert "exit code 1" in said and "Job run at" not in said  # which PBS says of every job
    walk.history_tells("silent.sh", "failed")
    assert "no run of silent.sh is known that completed" in walk.run("maple", "forecast", "silent.sh")[1]


def test_4a_what_the_script_does_already_is_no_advice(walk: PbsWalk) -> None:
    """It goes to the folder of submission; where it does not, that is the first thing to look at."""
    home = 'cd "$PBS_O_WORKDIR" first'
    job, _ = walk.submits("there.sh", HEAD + b"python3 gone.py\n")
    assert "gone.py" in (said := walk.run("maple-fix", job)[1]) and home not in said
    job, _ = walk.submits("home.sh", HEAD.replace(b'cd "$PBS_O_WORKDIR"\n', b"") + b"python3 gone.py\n")
    assert "PBS_O_WORKDIR" in walk.run("maple-fix", job)[1]


def test_4b_the_doctor_names_what_the_site_wants_of_a_job(walk: PbsWalk) -> None:
    """In the words of its facts."""
    says = trials._wanted(Release(Path(walk.prefix, "current")), "qsub")
    assert "-A <project>" in says and "-l filesystems=<a>:<b>" in says


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


def test_5a_an_upgrade_and_its_roll_back(walk: PbsWalk) -> None:
    """The words of the first day again; what was set stays."""
    before = os.readlink(walk.prefix + "/current")
    walk.admin("install", "--bin", walk.prefix + "/bin", "--site", SITE, "--no-compiler")
    assert os.readlink(walk.prefix + "/current") != before
    assert Path(walk.prefix, "hooks/maple_job_end.py").exists()
    walk.admin("rollback")
    assert os.readlink(walk.prefix + "/current") == before


def test_6_uninstall_leaves_no_trace(walk: PbsWalk) -> None:
    """Submitting goes on as before the day."""
    assert walk.service is not None
    walk.service.send_signal(signal.SIGTERM)
    assert walk.service.wait(60) == 0
    assert "qmgr -c 'delete hook maple'" in walk.admin("uninstall")
    assert not os.path.exists(walk.prefix + "/bin/qsub") and not os.path.exists(walk.prefix + "/current")
    assert walk.submits("after.sh", FAN_OUT, runs=False)[1] == FAN_OUT
