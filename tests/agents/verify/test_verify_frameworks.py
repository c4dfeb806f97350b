"""Verifications with the real torchrun, accelerate, deepspeed and MPICH on two nodes, over gloo; nothing is a stand-in.

The whole table, by strategy, launcher and number of nodes, is `make bench-verify`.
"""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.agents.verify.in_lab import Ran, all_ran
from tests.agents.verify.launches import case, environment
from tests.miniapps.started import frameworks

CORE = {
    "ddp by srun torchrun": case("ddp", "srun torchrun", 2),
    "fsdp by srun direct": case("fsdp", "srun direct", 2),
    "accelerate_ddp by accelerate": case("accelerate_ddp", "accelerate", 2),
    "zero3 by deepspeed": case("zero3", "deepspeed", 2),
    "three_d by mpiexec": case("three_d", "mpiexec", 2),
}


@pytest.fixture(scope="module")
def core(lab, tmp_path_factory) -> Mapping[str, Ran]:
    """Each strategy by the launcher that is usual for it, verified."""
    frameworks()
    return all_ran(lab, CORE, tmp_path_factory.mktemp("core"), environment(lab))


@pytest.mark.parametrize("name", CORE)
def test_each_strategy_passes_by_its_usual_launcher_and_came_as_planned(core, name):
    made = core[name].made
    assert (made.verdict.result.value, made.verdict.reasons, made.verdict.differences) == ("passed", (), ())
    assert core[name].left == ("job.sh",)
    (run,) = made.runs
    assert run.stage.app == name.split()[0] and len(run.facts) == 4 == run.due
    assert {(fact.told["backend"], fact.group_world) for fact in run.facts} == {("gloo", 4)}
