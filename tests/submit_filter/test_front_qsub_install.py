"""An installation on a PBS cluster stands in for qsub: installed, examined, rolled back and taken away."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import maple_submit_filter
import pytest
from click.testing import CliRunner, Result
from maple_daemon.cli.admin import admin
from maple_daemon.install import settings
from maple_daemon.install.release import build, layout, sources

from tests.doubles.stand import ASKED_OF_QSUB, FRONT, Seen, Stand, compiled
from tests.doubles.stand import build as built


class Cluster:
    """A PBS cluster in a folder: the double of qsub, and a prefix before it on PATH."""

    def __init__(self, root: Path, double: str) -> None:
        self.root, self.prefix = root, root / "maple"
        self.bin, self.real = self.prefix / "bin", root / "pbs" / "bin" / "qsub"
        self.real.parent.mkdir(parents=True)
        shutil.copy(double, self.real)
        (root / "job.sh").write_bytes(ASKED_OF_QSUB)
        self.path = "%s:%s:/usr/bin:/bin" % (self.bin, self.real.parent)

    def admin(self, *words: str) -> Result:
        """Run `maple admin`."""
        return CliRunner().invoke(admin, [words[0], "--prefix", str(self.prefix), *words[1:]])

    def install(self, *words: str, site: str = "alcf-polaris") -> Result:
        """Install for a site."""
        return self.admin("install", "--bin", str(self.bin), "--site", site, *words)

    def states(self) -> dict[str, list[str]]:
        """What the doctor says, by state."""
        checks = json.loads(self.admin("doctor", "--json").output)
        return {state: [one["name"] for one in checks if one["state"] == state] for state in ("ok", "note", "wrong")}

    def qsub(self, *words: str, stdin: bytes = b"", **environment: str) -> subprocess.CompletedProcess[bytes]:
        """Run qsub as a shell would find it."""
        env = {"PATH": self.path, "HOME": str(self.root), "RECORD": str(self.root / "record"), **environment}
        line = ["/bin/sh", "-c", 'qsub "$@"', "sh", *(words or ("job.sh",))]
        return subprocess.run(line, env=env, cwd=self.root, input=stdin, capture_output=True, timeout=60)

    def submitted(self, *words: str, **how: Any) -> Seen:
        """Run qsub, and return what the real one saw."""
        done = self.qsub(*words, **how)
        return Seen((self.root / "record").read_bytes(), done.stdout, done.stderr, done.returncode)


@pytest.fixture(scope="module")
def double(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The double of qsub."""
    return compiled("qsub", str(tmp_path_factory.mktemp("double")))


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, double: str) -> Cluster:
    """Nothing is installed yet."""
    return cluster_in(tmp_path, monkeypatch, double)


def cluster_in(folder: Path, monkeypatch: pytest.MonkeyPatch, double: str) -> Cluster:
    """A cluster to install on. The front is the one that the tests have built already."""

    def make_front(new: build.Build) -> None:
        shutil.copyfile(built(), new.release.front) if new.sources.compiler else MAKE_FRONT(new)

    monkeypatch.setattr(build.Build, "make_front", make_front)
    made = Cluster(folder, double)
    monkeypatch.setenv("PATH", made.path)
    monkeypatch.delenv("MAPLE", raising=False)
    return made


MAKE_FRONT = build.Build.make_front


@pytest.mark.parametrize("words", [(), ("--no-compiler",), ("--copy",)], ids=str)
def test_an_installation_on_a_pbs_cluster_stands_before_qsub(cluster: Cluster, words: tuple[str, ...]) -> None:
    """The doctor finds it whole, and a submission is answered by the helper and reaches the real qsub."""
    if "--copy" in words:
        cluster.prefix.joinpath("bin").mkdir(parents=True)
    result = cluster.install(*words)
    assert result.exit_code == 0, result.output
    found = cluster.states()
    assert found["wrong"] == [] and "qsub" in found["ok"] and "sbatch" not in sum(found.values(), [])
    assert "self-test" in found["ok"] + found["note"]
    seen = cluster.qsub()
    assert (seen.returncode, seen.stdout) == (0, b"7.pbs01\n")


WRONG = b"""#!/bin/bash
#PBS -N wrong
#PBS -A proj
#PBS -q debug
#PBS -l select=2:system=polaris
#PBS -l place=scatter
#PBS -l walltime=00:30:00
#PBS -l filesystems=home:eagle
cd $PBS_O_WORKDIR
export MASTER_ADDR=localhost MASTER_PORT=29500
mpiexec -n 8 --ppn 4 bash -c 'RANK=$PMI_RANK WORLD_SIZE=$PMI_SIZE LOCAL_RANK=$PMI_LOCAL_RANK python train.py'
"""


@pytest.fixture(scope="module", params=[(), ("--no-compiler",)], ids=["compiled here", "built before"])
def installed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, double: str) -> Cluster:
    """An installation that waits for its helper however busy the machine is: made once, nothing of it is changed."""
    with pytest.MonkeyPatch.context() as patch:
        made = cluster_in(tmp_path_factory.mktemp("installed"), patch, double)
        assert made.install(*request.param).exit_code == 0
    release = layout.Release((made.prefix / "current").resolve())
    release.config.write_bytes(settings.text({**settings.values(release), "helper_ms": "30000"}))
    return made


@pytest.fixture
def patient(installed: Cluster) -> Cluster:
    """That installation, with the wrong script as it was."""
    (installed.root / "job.sh").write_bytes(WRONG)
    (installed.root / "record").unlink(missing_ok=True)
    return installed


def test_a_wrong_script_is_repaired_on_its_way(patient: Cluster) -> None:
    """Master and ranks on two nodes: the copy has the name, the settings and every line but one of the original."""
    bare, seen = patient.submitted(MAPLE="off"), patient.submitted()
    lines, repaired = WRONG.splitlines(), seen.script.splitlines()
    assert bare.script == WRONG and bare.lines(b"set") == seen.lines(b"set") and bare[1:] == seen[1:]
    assert [old for old, new in zip(lines, repaired) if old != new] == [lines[-2]]
    assert b"localhost" not in repaired[-3] and repaired[-1].endswith(b"; MAPLE=off qsub ... submits as written")
    assert seen.values(b"argv")[1].endswith(b"/job.sh") and (patient.root / "job.sh").read_bytes() == WRONG


def test_a_wrong_script_on_standard_input_is_repaired_as_well(patient: Cluster) -> None:
    """And a repaired one is submitted as it is."""
    seen = patient.submitted("-", stdin=WRONG)
    assert b"localhost" not in seen.script and seen.script.startswith(WRONG[: WRONG.index(b"export")])
    (patient.root / "job.sh").write_bytes(seen.script)
    again = patient.submitted()
    assert again.script == seen.script and again.values(b"argv")[1] == b"job.sh"


@pytest.mark.parametrize("words", [("-I", "job.sh"), ("-W", "interactive=true", "job.sh")], ids=str)
def test_an_interactive_job_s_script_is_left_alone(patient: Cluster, words: tuple[str, ...]) -> None:
    """It never runs."""
    assert patient.submitted(*words).script == WRONG


def test_the_self_test_runs_the_front_as_qsub(cluster: Cluster) -> None:
    """A helper that knows no PBS script would be found out, and so would a front that knows no qsub."""
    cluster.install()
    release = layout.Release((cluster.prefix / "current").resolve())
    from maple_daemon.install import trials

    assert trials.commands(release) == ["qsub"]
    values = settings.values(release)
    release.config.write_bytes(settings.text({**values, "helper": "/proc/nowhere"}))
    release.config.chmod(0o644)
    assert trials.dry_run(release).state == "wrong"


def test_the_real_qsub_that_is_gone_is_found(cluster: Cluster) -> None:
    """By its own name."""
    cluster.install()
    cluster.real.unlink()
    assert cluster.states()["wrong"] == ["qsub"]


def test_a_rollback_and_the_removal_leave_the_real_qsub(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """Step by step."""
    monkeypatch.setattr(maple_submit_filter, "__version__", "0.0.1")
    assert cluster.install().exit_code == 0
    monkeypatch.setattr(maple_submit_filter, "__version__", "0.0.2")
    assert cluster.install().exit_code == 0
    assert cluster.admin("rollback").exit_code == 0
    assert (cluster.prefix / "current").resolve().name.startswith("0.0.1-")
    assert cluster.qsub().stdout == b"7.pbs01\n" and cluster.states()["wrong"] == []
    assert cluster.admin("uninstall").exit_code == 0
    assert not os.path.lexists(cluster.bin / "qsub") and cluster.qsub().stdout == b"7.pbs01\n"


def test_a_cluster_that_changes_its_scheduler_changes_its_command(cluster: Cluster) -> None:
    """The front for sbatch goes where one for qsub comes."""
    shutil.copy(cluster.real, cluster.real.with_name("sbatch"))
    assert cluster.install(site="ncsa-delta").exit_code == 0
    assert (cluster.bin / "sbatch").is_symlink()
    assert cluster.install(site="generic-pbs").exit_code == 0
    assert (cluster.bin / "qsub").is_symlink() and not os.path.lexists(cluster.bin / "sbatch")
    assert cluster.states()["wrong"] == []


def test_without_a_qsub_on_path_the_installation_is_refused(cluster: Cluster, monkeypatch: Any) -> None:
    """In one line that names it."""
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    result = cluster.install()
    assert result.exit_code == 2 and "no qsub was found on PATH" in result.output


def test_every_part_of_the_front_is_built_by_an_installation(tmp_path: Path) -> None:
    """The parts are read from the front's own Makefile, those for qsub among them."""
    from maple_daemon.install.release.interpreter import compile_front, variable

    assert {"words_sbatch.c", "words_qsub.c"} <= set(variable(Path(FRONT), "PARTS"))
    found = sources.sources("generic-pbs").compiler
    assert found
    compile_front(found, Path(FRONT), tmp_path / "prefix", tmp_path / "front")
    one = Stand(str(tmp_path / "stand"), str(tmp_path / "front"), compiled("qsub", str(tmp_path)), "qsub")
    one.helper("fixes")
    one.write("job.sh", ASKED_OF_QSUB)
    assert one.run(True, ["job.sh"]).script == ASKED_OF_QSUB + b"# fixed\n"
