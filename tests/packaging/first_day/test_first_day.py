"""The first day with Maple, as an administrator and a user walk it by the READMEs alone, on a real Slurm.

Install, submit, fail, fix, curate, apply, upgrade, roll back, uninstall: each step types what people type, and finds
what the one before left.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from maple_agents import sites

from tests.daemon.leftovers import goes_with_us
from tests.lab import Lab
from tests.lab.sites import shape_of_site
from tests.wanted import up

SITE = "ncsa-delta"
COMMANDS = os.path.dirname(sys.executable)
JOB_ENDED = """#!/bin/sh
[ ! -x {0}/hooks/job_ended ] || {0}/hooks/job_ended
"""
FAN_OUT = b"""#!/bin/bash
#SBATCH --account=abcd-delta-gpu
#SBATCH --partition=gpuA100x4
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=4
#SBATCH --gpus-per-node=4
#SBATCH --mem=1G
#SBATCH --time=00:10:00
export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
srun torchrun --nnodes=2 --nproc-per-node=4 --rdzv-backend=c10d --rdzv-endpoint=$MASTER_ADDR:29500 train.py
"""
FAILS = b"""#!/bin/bash
#SBATCH --account=abcd-delta-gpu
#SBATCH --partition=gpuA100x4
#SBATCH --gpus-per-node=1
#SBATCH --mem=1G
#SBATCH --time=00:10:00
#SBATCH --output=silent-%j.out
srun --ntasks=1 python -c 'import a_module_of_nobody'
"""


class HookedLab(Lab):
    """A lab whose administrator has put the lines into Slurm's configuration that `install --hooks` prints."""

    prefix = ""

    def _write(self, programs: Mapping[str, str]) -> None:
        super()._write(programs)
        etc = Path(self.directory, "etc")
        own = (etc / "job-ended").read_text().partition("\n")[2]
        self._file("etc/job-ended", JOB_ENDED.format(self.prefix) + own, 0o755)
        self._file("etc/cli_filter.lua", f'dofile("{self.prefix}/hooks/cli_filter.lua")\n')
        self._file("etc/hooked.conf", (etc / "slurm.conf").read_text() + "\nCliFilterPlugins=lua\n")


class Walk:
    """One cluster with one user, who is its administrator too."""

    def __init__(self, folder: str) -> None:
        self.folder, self.prefix = folder, folder + "/opt/maple"
        self.home, self.work = folder + "/home", folder + "/work"
        for one in (self.home, self.work, folder + "/opt"):
            os.mkdir(one)
        lab = HookedLab(shape_of_site(SITE))
        lab.prefix = self.prefix
        self.lab = up(lab)
        self.service: subprocess.Popen[bytes] | None = None
        self.conf = "slurm.conf"

    def environment(self) -> dict[str, str]:
        """A shell of this day: the front first, once it is there."""
        own = {"HOME": self.home, "XDG_CACHE_HOME": self.home + "/.cache", "XDG_STATE_HOME": self.home + "/state"}
        made = self.lab.environment(True, XDG_RUNTIME_DIR=self.folder, MAPLE_ETC=self.folder + "/etc",
                                    MAPLE_DOUBLE_DEADLINE="3", **own)  # fmt: skip
        made["SLURM_CONF"] = f"{self.lab.directory}/etc/{self.conf}"
        made["PATH"] = ":".join((self.prefix + "/bin", made["PATH"]))
        return made

    def run(self, *words: str) -> tuple[int, str]:
        """Return the exit code of a command and what it prints, both streams."""
        program = [os.path.join(COMMANDS, words[0]) if words[0].startswith("maple") else words[0], *words[1:]]
        done = subprocess.run(program, env=self.environment(), cwd=self.work, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=180)  # fmt: skip
        assert "Traceback" not in done.stdout
        return done.returncode, done.stdout

    def types(self, *words: str, code: int = 0) -> str:
        """Return what a command prints that ends with *code*."""
        found, said = self.run(*words)
        assert found == code, said
        return said

    def admin(self, command: str, *words: str, code: int = 0) -> str:
        return self.types("maple", "admin", command, "--prefix", self.prefix, *words, code=code)

    def starts_service(self) -> None:
        """Start what the units would."""
        words = [os.path.join(COMMANDS, "maple-daemon"), "--config", self.prefix + "/daemon.toml"]
        log = open(self.folder + "/service.log", "ab")  # noqa: SIM115
        self.service = subprocess.Popen(words, env=self.environment(), stdout=log, stderr=log)
        until = time.monotonic() + 60
        while "listening" not in Path(log.name).read_text():
            assert time.monotonic() < until and self.service.poll() is None, Path(log.name).read_text()
            time.sleep(0.05)

    def submits(self, name: str, script: bytes) -> tuple[int, str]:
        """Return the job's number, once it has ended, and what sbatch said."""
        Path(self.work, name).write_bytes(script)
        said = self.types("sbatch", name)
        found = re.search(r"Submitted batch job (\d+)", said)
        assert found, said
        self.lab.wait(int(found[1]), 120)
        return int(found[1]), said

    def ends(self) -> None:
        if self.service is not None and self.service.poll() is None:
            self.service.send_signal(signal.SIGTERM)
            self.service.wait(60)
        self.lab.stop()


@pytest.fixture(scope="module")
def walk() -> Iterator[Walk]:
    """The day; its steps are the tests below, in their order."""
    folder = tempfile.mkdtemp(prefix="maple-day-", dir="/tmp")
    goes_with_us(folder)
    os.chmod(folder, 0o755)
    made = Walk(folder)
    yield made
    made.ends()
    shutil.rmtree(folder)


def test_1_before_maple_a_command_says_which_site_this_is(walk: Walk) -> None:
    """Nothing is installed: the name of the cluster tells, or nothing does, and that is said."""
    Path(walk.work, "train.sh").write_bytes(FAN_OUT)
    said = walk.types("maple", "check", "train.sh", code=1)
    assert "MPL301" in said and re.search(r"^site: \S+ \((detected|not described)", said, re.MULTILINE)


def test_2_install_with_service_and_hooks(walk: Walk) -> None:
    """One command; it prints the lines for Slurm, and the one that starts the service, which works as it stands."""
    said = walk.admin(
        "install", "--bin", walk.prefix + "/bin", "--site", SITE, "--daemon", "--hooks", "--spool",
        walk.folder + "/spool/events", "--service-uid", str(os.getuid()), "--socket", walk.folder + "/sock",
        "--units", walk.folder + "/units",
    )  # fmt: skip
    assert f"JobCompLoc={walk.prefix}/hooks/job_ended" in said and "CliFilterPlugins=lua" in said
    settings, front = Path(walk.prefix, "daemon.toml"), Path(walk.prefix, "current/etc/front.conf")
    settings.write_text(re.sub(r"(?m)^store = .*$", f'store = "{walk.folder}/memory.db"', settings.read_text()))
    front.write_text(front.read_text() + "helper_ms=20000\nsocket_ms=20000\n")  # a busy machine is no stumble
    walk.conf = "hooked.conf"
    walk.starts_service()


def test_3_doctor_sees_a_job_through(walk: Walk) -> None:
    """From the front to the hook that hears of its end."""
    said = walk.admin("doctor", "--job", "--", "--account=abcd-delta-gpu", "--partition=gpuA100x4", "--gpus-per-node=1",
                      "--mem=1G", code=0)  # fmt: skip
    assert re.search(r"ok +hooks +job \d+: the service heard of its id and of its end", said), said


def test_4_front_and_command_agree(walk: Walk) -> None:
    """The same script, the same site, and the same answer; the user's file is the user's."""
    job, _ = walk.submits("train.sh", FAN_OUT)
    assert "MPL301" in walk.types("maple", "show", str(job))
    told = json.loads(walk.types("maple", "check", "--json", "train.sh", code=1))
    assert told["site"] == SITE and told["site_known_by"] == f"installed below {walk.prefix}"
    submitted = walk.types("maple", "show", str(job), "--script")
    lines = [line for line in submitted.splitlines() if not line.startswith("# maple:")]
    assert lines == told["repaired"]["script"].splitlines()
    assert Path(walk.work, "train.sh").read_bytes() == FAN_OUT


def test_5_a_job_fails_and_is_explained(walk: Walk) -> None:
    """By its number; history finds it by its name, and knows how it ended."""
    job, _ = walk.submits("silent.sh", FAILS)
    assert "a_module_of_nobody" in walk.run("maple-fix", str(job))[1]
    until = time.monotonic() + 60
    while "failed" not in (found := walk.types("maple", "history", "silent.sh")):
        assert time.monotonic() < until, found
        time.sleep(0.5)


def test_6_facts_are_curated_and_applied(walk: Walk) -> None:
    """In a file of the site's own; the service reads them at once, and doctor agrees."""
    own = Path(walk.folder, "etc", "site_configs")
    own.mkdir(parents=True)
    text = Path(sites.path(SITE)).read_text()
    (own / f"{SITE}.toml").write_text(re.sub(r"(?m)^max_nodes = \d+", "max_nodes = 3", text, count=1))
    walk.types("maple", "site", "lint", SITE)
    said = walk.types("maple", "site", "apply", SITE)
    assert "revision 1 of ncsa-delta is in force" in said and "decides by them" in said
    assert "the service decides as the release does" in walk.admin("doctor")


def test_7_an_upgrade_keeps_them_and_both_roll_back(walk: Walk) -> None:
    """Facts and releases, each on its own; the service decides as the front does at the end of each."""
    words = ("--bin", walk.prefix + "/bin", "--site", SITE)
    before = os.readlink(walk.prefix + "/current")
    walk.admin("install", *words, "--no-compiler")
    assert os.readlink(walk.prefix + "/current") != before
    assert "*    1" in walk.types("maple", "site", "revisions")
    walk.admin("rollback")
    assert os.readlink(walk.prefix + "/current") == before
    assert "decides by them" in walk.types("maple", "site", "rollback")
    assert "*    0" in walk.types("maple", "site", "revisions")


def test_8_uninstall_leaves_no_trace(walk: Walk) -> None:
    """Submitting goes on as before the day."""
    assert walk.service is not None
    walk.service.send_signal(signal.SIGTERM)
    assert walk.service.wait(60) == 0
    walk.conf = "slurm.conf"
    walk.admin("uninstall")
    assert not os.path.exists(walk.prefix + "/bin/sbatch") and not os.path.exists(walk.prefix + "/current")
    walk.submits("after.sh", FAILS)
