"""`maple verify` as a person calls it: what it prints, how it exits, and that a signal leaves nothing behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from maple_agents.verify.run.workplace import PREFIX

from tests.agents.verify.in_lab import Case, script
from tests.json_shapes import fits
from tests.lab import Lab

MAPLE = str(Path(sys.executable).with_name("maple"))
RIGHT = Case("srun python3 train.py\n", 1, 2)
STUCK = Case("srun bash -c 'test $SLURM_PROCID = 1 && sleep 300; python3 train.py'\n", 1, 2)


class Called:
    """The command in a folder of its own, on a lab."""

    def __init__(self, lab: Lab, folder: Path) -> None:
        self.lab, self.folder = lab, folder
        self.env = lab.environment(
            MAPLE_ROLE="plain", XDG_STATE_HOME=str(folder / "state"), XDG_CACHE_HOME=str(folder / "cache")
        )
        self.running: list[subprocess.Popen[str]] = []

    def start(self, case: Case, port: int, *words: str) -> subprocess.Popen[str]:
        """Start it on a case."""
        (self.folder / "job.sh").write_bytes(script(case, port))
        argv = [MAPLE, "verify", "job.sh", "--site", "generic-slurm", "--mini-app", "dry", *words]
        one = subprocess.Popen(
            argv, cwd=self.folder, env=self.env, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, start_new_session=True,
        )  # fmt: skip
        self.running.append(one)
        return one

    def call(self, case: Case, port: int, *words: str) -> tuple[int, str, str]:
        """Run it to its end."""
        one = self.start(case, port, *words)
        out, err = one.communicate(timeout=120)
        return one.returncode, out, err

    def folders(self) -> list[Path]:
        """Return the folders of verifications beside the script."""
        return sorted(self.folder.glob(PREFIX + "*"))

    def until_ranks_report(self) -> None:
        """Wait until a rank of the job has written its file."""
        deadline = time.monotonic() + 60
        while not list(self.folder.glob(PREFIX + "*/facts/*/*.json")):
            assert time.monotonic() < deadline, "no rank reported"
            time.sleep(0.05)

    def jobs(self) -> list[str]:
        """Return the jobs of this folder that are in the queue."""
        said = self.lab.run(["squeue", "-h", "-t", "PENDING,RUNNING", "-o", "%i %Z"]).stdout
        return [line for line in said.splitlines() if line.endswith(str(self.folder))]


@pytest.fixture
def called(lab, tmp_path) -> Iterator[Called]:
    """The command; what a test leaves running is ended."""
    made = Called(lab, tmp_path)
    yield made
    for one in made.running:
        if one.poll() is None:
            os.killpg(one.pid, signal.SIGKILL)
        one.communicate()


def test_a_passed_script_is_shown_as_a_table_and_exits_with_0(called):
    code, out, err = called.call(RIGHT, 29000)
    assert (code, err) == (0, "")
    assert "gpu-node-" in out and out.splitlines()[-2].startswith("job.sh: passed (dry, 2 ranks, job ")
    assert out.splitlines()[-1] == "site: generic-slurm (--site)"
    assert called.folders() == [] and called.jobs() == []


def test_the_json_has_one_shape_and_the_record_the_same_verdict(called):
    code, out, err = called.call(RIGHT, 29010, "--json")
    told = json.loads(out)
    fits("verify", told)
    assert (code, err) == (0, "")
    assert set(told) == {
        "name", "site", "site_known_by", "scheduler", "job", "nodes", "miniapps", "result", "reasons", "warnings",
        "differences",
        "compared", "aside", "steps", "seconds", "kept", "record",
    }  # fmt: skip
    assert [rank["rank"] for rank in told["steps"][0]["ranks"]] == [0, 1]
    record = json.loads(Path(told["record"]).read_text())
    assert record["result"] == told["result"] == "passed" and record["inputs"]["site"] == "generic-slurm"
    assert record["frameworks"]["python"]


def test_a_failed_script_says_what_to_do_and_exits_with_1(called):
    code, out, _ = called.call(
        Case("srun bash -c 'RANK=0 WORLD_SIZE=2 python3 train.py'\n", 1, 2), 29020, "--time", "20"
    )
    assert code == 1
    assert "line 5: duplicate ranks: rank 0 came more than once" in out and "\nhelp: " in out


FANNED_OUT = Case("srun -n 2 --ntasks-per-node=2 torchrun --nproc-per-node=2 train.py\n", 1, 2)


def test_a_failed_script_says_how_its_fix_is_taken_and_apply_takes_it(called):
    """As `maple-fix` does: a copy beside the script, which is not written unasked."""
    copy = called.folder / "job.maple.sh"
    code, out, _ = called.call(FANNED_OUT, 29024, "--time", "20")
    assert code == 1 and "maple verify --apply job.sh writes the fixed copy" in out and not copy.exists()
    code, out, err = called.call(FANNED_OUT, 29027, "--time", "20", "--apply")
    assert code == 1 and "written: " in err and "--apply" not in out
    assert copy.read_text() != (called.folder / "job.sh").read_text()
    assert copy.read_text().replace("srun ", "").count("torchrun") == 1


def test_kept_is_kept_and_said(called):
    code, out, _ = called.call(RIGHT, 29030, "--keep")
    (folder,) = called.folders()
    assert code == 0 and str(folder) in out and (folder / "line-5.py").exists() and (folder / "job/job.sh").exists()


def test_a_script_without_a_launch_line_exits_with_3_and_says_why(called):
    code, out, err = called.call(Case("echo hello\n"), 29040)
    assert (code, out) == (3, "") and err.startswith("maple: no line starts a program") and err.count("\n") == 1
    assert called.folders() == []


def test_a_request_that_cannot_be_submitted_exits_with_1_in_the_schedulers_words(called):
    code, out, _ = called.call(RIGHT._replace(nodes=999), 29050)
    assert code == 1 and "More processors requested" in out


def test_a_launch_template_that_passed_counts_as_verified_on_its_site(lab_of, tmp_path, monkeypatch):
    """Until then a replacement by it is only offered."""
    from maple_agents.ask import sites

    from tests.lab.sites import shape_of_site

    made = Called(lab_of(shape_of_site("ncsa-delta")), tmp_path)
    argv = ["verify", "--site", "ncsa-delta", "--template", "torchrun-over-srun", "--mini-app", "dry", "--json", "--"]
    said = subprocess.run(
        [MAPLE, *argv, "--account=abcd", "--partition=gpuA100x4"], cwd=tmp_path, env=made.env, capture_output=True,
        text=True, timeout=120, check=False,
    )  # fmt: skip
    assert (said.returncode, said.stderr) == (0, "")
    (told,) = json.loads(said.stdout)
    fits("verify", [told])
    assert (told["result"], len(told["steps"][0]["ranks"])) == ("passed", 8)
    for name in ("XDG_STATE_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, made.env[name])
    assert [one.name for one in sites.load("ncsa-delta").launch_templates if one.verified] == ["torchrun-over-srun"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_cancels_the_job_and_takes_the_folder_along(called, number):
    one = called.start(STUCK, 29060 + number, "--time", "100")
    called.until_ranks_report()
    one.send_signal(number)
    out, err = one.communicate(timeout=60)
    assert one.returncode == 128 + number and "Traceback" not in err
    assert called.folders() == [] and called.jobs() == []


def test_what_kill_9_leaves_the_next_one_clears(called):
    one = called.start(STUCK, 29100, "--time", "100")
    called.until_ranks_report()
    one.kill()
    one.wait(20)
    (left,) = called.folders()
    assert called.jobs()
    code, _, _ = called.call(RIGHT, 29110)
    assert code == 0 and called.folders() == []
    deadline = time.monotonic() + 40
    while called.jobs() and time.monotonic() < deadline:
        time.sleep(0.1)
    assert called.jobs() == [] and not left.exists()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["verify"], "no SCRIPT is named"),
        (["verify", "absent.sh"], "absent.sh: no such file"),
        (["verify", "--site", "generic-slurm"], "there is no launch template"),
        (["verify", "--site", "ncsa-delta", "--template", "no-such"], "there is no launch template no-such"),
        (["verify", "--site", "ncsa-delta", "--template", "python-over-ibrun"], "is not for ncsa-delta"),
        (["verify", "--mini-app", "nothing", "x"], "--mini-app nothing: there is no such value"),
        (["verify", "--site", "ncsa-delta", "--apply"], "there is no script to fix"),
    ],
)
def test_what_cannot_be_asked_is_one_line_and_exits_with_2(maple, words, says):
    said = maple(*words)
    assert (said.code, said.out) == (2, "") and says in said.err and said.err.count("\n") == 1
