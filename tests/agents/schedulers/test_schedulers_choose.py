"""Which adapter a machine gets."""

from __future__ import annotations

import shutil

import pytest
from maple_agents.ask.schedulers import SchedulerError, choose
from maple_agents.ask.schedulers.pbs.commands import PbsCommands
from maple_agents.ask.schedulers.pbs.libpbs import Pbs
from maple_agents.ask.schedulers.slurm.commands import SlurmCommands


@pytest.fixture
def machine(tmp_path, built_libpbs):
    """Return a function that makes a machine with commands, and maybe a libpbs, and gives its environment."""

    def make(*commands: str, library: object = None) -> dict[str, str]:
        (tmp_path / "bin").mkdir()
        for name in commands:
            (tmp_path / "bin" / name).write_text("#!/bin/sh\n")
            (tmp_path / "bin" / name).chmod(0o755)
        conf = tmp_path / "pbs.conf"
        if library is not None:
            (tmp_path / "pbs" / "lib").mkdir(parents=True)
            target = tmp_path / "pbs" / "lib" / "libpbs.so.0"
            shutil.copy(built_libpbs, target) if library is True else target.write_bytes(b"no library")
            conf.write_text("PBS_EXEC=%s/pbs\nPBS_SERVER=pbs01\n" % tmp_path)
        return {"PATH": str(tmp_path / "bin"), "PBS_CONF_FILE": str(conf)}

    return make


def test_a_pbs_machine_is_asked_through_its_library(machine):
    found = choose(environ=machine("qstat", "qsub", library=True))
    assert isinstance(found, Pbs) and found.name == "pbs" and "libpbs.so.0" in found.via


def test_a_library_that_cannot_be_used_gives_way_to_the_commands(machine):
    assert isinstance(choose(environ=machine("qstat", "qsub", library=False)), PbsCommands)


def test_a_library_that_was_named_is_used_or_refused(machine, tmp_path):
    environ = machine("qstat", library=True)
    with pytest.raises(SchedulerError, match="cannot be loaded"):
        choose("pbs", environ=environ, libpbs=str(tmp_path / "absent.so"))


def test_a_machine_with_qstat_alone_is_asked_through_it(machine):
    assert isinstance(choose(environ=machine("qstat", "qsub")), PbsCommands)


def test_a_slurm_machine_with_pbs_wrappers_is_a_slurm_machine(machine):
    found = choose(environ=machine("squeue", "scontrol", "sbatch", "qsub", "qstat"))
    assert isinstance(found, SlurmCommands) and found.name == "slurm"


def test_what_the_site_says_decides_where_both_are_here(machine):
    environ = machine("squeue", "scontrol", "qstat", library=True)
    assert isinstance(choose("slurm", environ=environ), SlurmCommands)
    assert isinstance(choose("pbs", environ=environ), Pbs)


@pytest.mark.parametrize("wanted", [None, "pbs", "slurm"])
def test_nothing_here_is_one_line_that_says_what_to_do(machine, wanted):
    with pytest.raises(SchedulerError, match="run this where jobs are submitted") as caught:
        choose(wanted, environ=machine())
    assert "\n" not in str(caught.value)


def test_an_unknown_scheduler_is_a_mistake_of_ours(machine):
    with pytest.raises(ValueError, match="lsf"):
        choose("lsf", environ=machine())
