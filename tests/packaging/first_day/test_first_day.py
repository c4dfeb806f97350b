"""The first day with Maple, as an administrator and a user walk it by docs/administration.md alone, on a real Slurm.

Install, submit, fail, fix, curate, apply, upgrade, roll back, uninstall: each step types what people type, and finds
what the one before left.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from maple_agents.ask import sites

from tests.daemon.leftovers import goes_with_us
from tests.lab import Lab
from tests.lab.sites import shape_of_site
from tests.packaging.first_day.walk import Walk
from tests.wanted import up

SITE = "ncsa-delta"
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


class SlurmWalk(Walk):
    """On a lab in the shape of a site."""

    def __init__(self, folder: str) -> None:
        super().__init__(folder)
        lab = HookedLab(shape_of_site(SITE))
        lab.prefix = self.prefix
        self.lab = up(lab)
        self.conf = "slurm.conf"

    def login(self) -> dict[str, str]:
        """With the configuration that is in force."""
        made = self.lab.environment(True, MAPLE_DOUBLE_DEADLINE="3")
        return {**made, "SLURM_CONF": f"{self.lab.directory}/etc/{self.conf}"}

    def submits(self, name: str, script: bytes) -> tuple[int, str]:
        """Return the job's number, once it has ended, and what sbatch said."""
        Path(self.work, name).write_bytes(script)
        said = self.types("sbatch", name)
        found = re.search(r"Submitted batch job (\d+)", said)
        assert found, said
        self.lab.wait(int(found[1]), 120)
        return int(found[1]), said

    def ends(self) -> None:
        """The cluster too."""
        super().ends()
        self.lab.stop()


@pytest.fixture(scope="module")
def walk() -> Iterator[SlurmWalk]:
    """The day; its steps are the tests below, in their order."""
    folder = tempfile.mkdtemp(prefix="maple-day-", dir="/tmp")
    goes_with_us(folder)
    os.chmod(folder, 0o755)
    made = SlurmWalk(folder)
    yield made
    made.ends()
    shutil.rmtree(folder)


def test_1_before_maple_a_command_says_which_site_this_is(walk: SlurmWalk) -> None:
    """Nothing is installed: the name of the cluster tells, or nothing does, and that is said."""
    Path(walk.work, "train.sh").write_bytes(FAN_OUT)
    said = walk.types("maple", "check", "train.sh", code=1)
    assert "MPL301" in said and re.search(r"^site: \S+ \((detected|not described)", said, re.MULTILINE)


def test_2_install_with_service_and_hooks(walk: SlurmWalk) -> None:
    """One command; it prints the lines for Slurm, and the one that starts the service, which works as it stands."""
    said = walk.installs(SITE)
    assert f"JobCompLoc={walk.prefix}/hooks/job_ended" in said and "CliFilterPlugins=lua" in said
    walk.conf = "hooked.conf"
    walk.starts_service()


def test_3_doctor_sees_a_job_through(walk: SlurmWalk) -> None:
    """From the front to the hook that hears of its end."""
    said = walk.admin("doctor", "--job", "--", "--account=abcd-delta-gpu", "--partition=gpuA100x4", "--gpus-per-node=1",
                      "--mem=1G", code=0)  # fmt: skip
    assert re.search(r"ok +hooks +job \d+: the service heard of its id and of its end", said), said


def test_4_front_and_command_agree(walk: SlurmWalk) -> None:
    """The same script, the same site, and the same answer; the user's file is the user's."""
    job, _ = walk.submits("train.sh", FAN_OUT)
    assert "MPL301" in walk.types("maple", "show", str(job))
    told = json.loads(walk.types("maple", "check", "--json", "train.sh", code=1))
    assert told["site"] == SITE and told["site_known_by"] == f"installed below {walk.prefix}"
    submitted = walk.types("maple", "show", str(job), "--script")
    lines = [line for line in submitted.splitlines() if not line.startswith("# maple:")]
    assert lines == told["repaired"]["script"].splitlines()
    assert Path(walk.work, "train.sh").read_bytes() == FAN_OUT


def test_5_a_job_fails_and_is_explained(walk: SlurmWalk) -> None:
    """By its number; history finds it by its name, and knows how it ended."""
    job, _ = walk.submits("silent.sh", FAILS)
    assert "a_module_of_nobody" in walk.run("maple-fix", str(job))[1]
    walk.history_tells("silent.sh", "failed")
    Path(walk.work, "refused.sh").write_bytes(FAILS.replace(b"gpuA100x4", b"nosuch"))
    assert "invalid partition" in walk.types("sbatch", "refused.sh", code=1)
    walk.history_tells("refused.sh", "because: Invalid partition name specified; maple-fix ")
    assert "refused by sbatch" in walk.types("maple", "history")
    said = walk.types("maple-fix", "last")
    assert "your last submission was refused" in said and "allocation failure: Invalid partition name specified" in said


def test_6_facts_are_curated_and_applied(walk: SlurmWalk) -> None:
    """In a file of the site's own; the service reads them at once, and doctor agrees."""
    own = Path(walk.folder, "etc", "site_configs")
    own.mkdir(parents=True)
    text = Path(sites.path(SITE)).read_text()
    (own / f"{SITE}.toml").write_text(re.sub(r"(?m)^max_nodes = \d+", "max_nodes = 3", text, count=1))
    walk.types("maple", "site", "lint", SITE)
    said = walk.types("maple", "site", "apply", SITE)
    assert "revision 1 of ncsa-delta is in force" in said and "decides by them" in said
    assert "the service decides as the release does" in walk.admin("doctor")


def test_7_an_upgrade_keeps_them_and_both_roll_back(walk: SlurmWalk) -> None:
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


def test_8_uninstall_leaves_no_trace(walk: SlurmWalk) -> None:
    """Submitting goes on as before the day."""
    assert walk.service is not None
    walk.service.send_signal(signal.SIGTERM)
    assert walk.service.wait(60) == 0
    walk.conf = "slurm.conf"
    walk.admin("uninstall")
    assert not os.path.exists(walk.folder + "/spool")
    assert not os.path.exists(walk.prefix + "/bin/sbatch") and not os.path.exists(walk.prefix + "/current")
    walk.submits("after.sh", FAILS)
