"""`maple check` of another scheduler's script: the script written for this site is on offer, whole."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import pytest
from maple_agents.base.slots import Lacking, Missing, Refused
from maple_agents.write.carry import carry

from tests.submit_filter.test_written_for import OF_PBS, OF_SLURM

POLARIS = ("--", "-A", "AlphaTrain", "-l", "filesystems=home:eagle")
DELTA = ("--", "--account=abcd-delta-gpu", "--partition=gpuA100x4")
PROGRAM = "torchrun --nnodes=2 --nproc-per-node=4"


@pytest.fixture
def answered(maple, tmp_path):
    """Return a function that has a script checked for a site and returns the JSON."""

    def call(source, site, words=()):
        (tmp_path / "job.sh").write_bytes(source)
        return json.loads(maple("check", "job.sh", "--site", site, "--json", *words).out)

    return call


@pytest.mark.parametrize(
    ("source", "site", "words", "directive", "launcher"),
    [
        (OF_SLURM, "alcf-polaris", POLARIS, "#PBS -l select=2\n", "mpiexec"),
        (OF_PBS, "ncsa-delta", DELTA, "#SBATCH --nodes=2\n", "srun"),
    ],
)
def test_the_script_written_for_the_site_is_on_offer_and_not_applied(
    answered, source, site, words, directive, launcher
):
    """It is clean itself, starts the same program, and nothing is done unasked."""
    found = answered(source, site, words)
    assert (found["verdict"], found["repaired"]) == ("findings", None)
    offered = found["offered"]
    assert sorted(offered) == ["argv", "diff", "edits", "script"]
    assert directive in offered["script"]
    launch = offered["script"].splitlines()[-1]
    assert launch.startswith(launcher) and PROGRAM in launch and launch.endswith("train.py")
    assert "MPL104" in [one["because"] for one in offered["edits"]]
    assert answered(offered["script"].encode(), site, words)["findings"] == []


def test_what_is_missing_for_it_is_asked_for_once(answered):
    """The account of the other site is none of this one."""
    found = answered(OF_PBS, "ncsa-delta")
    assert found["offered"] is None
    assert [one["asks_for"] for one in found["findings"] if one["asks_for"]] == ["account"]
    found = answered(OF_SLURM, "alcf-polaris")
    asked = [one["asks_for"] for one in found["findings"] if one["asks_for"]]
    assert sorted(asked) == ["account", "filesystems"]


def test_no_small_edit_is_on_offer_for_a_job_that_nobody_meant(answered, monkeypatch):
    """Without its directives the job has one node; a launch line for one node is not what its author wants."""
    found = answered(OF_SLURM, "alcf-polaris", (*POLARIS, "-q", "prod"))
    assert found["offered"] is None
    assert any(one["code"] == "MPL104" and "at least 10" in one["why"] for one in found["held_back"])


@pytest.mark.parametrize(
    ("gives", "held", "asks"),
    [
        (Refused("line 4: cannot be carried"), "line 4: cannot be carried", None),
        (ValueError("a wrong site file"), "a wrong site file", None),
        (Lacking((Missing("qos", "say it with --qos"),)), None, "qos"),
    ],
)
def test_whatever_carrying_says_the_findings_stand(answered, monkeypatch, gives, held, asks):
    """The reason is held back, or the slot asked for."""

    def stand_in(*_):
        if isinstance(gives, Exception):
            raise gives
        return gives

    monkeypatch.setattr(carry, "carry", stand_in)
    found = answered(OF_PBS, "ncsa-delta", DELTA)
    assert found["offered"] is None and found["verdict"] == "findings"
    whys = [one["why"] for one in found["held_back"] if one["code"] == "MPL104"]
    assert whys == (["it cannot be written for this site: " + held] if held else [])
    assert asks in [one["asks_for"] for one in found["findings"]]


def test_a_new_script_that_is_wrong_itself_is_not_offered(answered, monkeypatch):
    """What the submit path contradicts is no help."""
    right = carry.carry

    def worse(*asked):
        made = right(*asked)
        return made._replace(script=made.script.replace(b"--nnodes=2", b"--nnodes=5"))

    monkeypatch.setattr(carry, "carry", worse)
    found = answered(OF_PBS, "ncsa-delta", DELTA)
    assert found["offered"] is None
    assert any("MPL303" in one["why"] for one in found["held_back"])


def test_people_are_shown_the_difference_and_what_was_assumed(maple, tmp_path):
    """And which command writes it."""
    (tmp_path / "job.sh").write_bytes(OF_SLURM)
    said = maple("check", "job.sh", "--site", "alcf-polaris", *POLARIS).out
    for text in ("written anew, if you take it:", "+#PBS -l select=2", "-#SBATCH", "queue ", "maple new --from job.sh"):
        assert text in said


def test_other_scripts_import_nothing_of_it(tmp_path):
    """A wrong script of the own scheduler costs what it did."""
    (tmp_path / "job.sh").write_bytes(OF_SLURM.replace(b"--nnodes=2", b"--nnodes=3"))
    code = (
        "import sys; from maple_agents.cli.main import run\n"
        "code = run(['check', 'job.sh', '--site', 'ncsa-delta', '--json'])\n"
        "print(code, [one for one in sys.modules if one.startswith(('maple_agents.write', 'pydantic'))])"
    )
    words, env = [sys.executable, "-c", code], {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    for _ in range(2):  # the first checks the site's file, and keeps what it found
        done = subprocess.run(words, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.splitlines()[-1] == "1 []"


def test_an_account_of_the_site_s_own_form_is_taken_along(answered):
    """Nobody has to say again what the script says; one of another form is asked for."""
    source = re.sub(rb"#PBS -A \S+", b"#PBS -A abcd-delta-gpu", OF_PBS)
    found = answered(source, "ncsa-delta", ("--", "--partition=gpuA100x4"))
    assert "#SBATCH --account=abcd-delta-gpu\n" in found["offered"]["script"]
    assert "account" not in [one["asks_for"] for one in found["findings"]]
