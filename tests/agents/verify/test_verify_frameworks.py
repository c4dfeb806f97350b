"""Verifications with the real torchrun, accelerate, deepspeed and MPICH on two nodes, over gloo; nothing is a stand-in.

The whole table, by strategy, launcher and number of nodes, is `make bench-verify`.
"""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.agents.verify.in_lab import Case, Ran, all_ran, jobs
from tests.agents.verify.launches import LINES, case, environment
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


# Lines on which the real launchers hang, or do the wrong thing without a word. name -> (kind, words, case)
BROKEN = {
    "torchrun on one node of two": (
        "RENDEZVOUS",
        "no rank started within 25 s: torchrun still waits for its other nodes",
        Case(LINES["srun torchrun"][1].format(nodes=2).replace("srun", "srun -N1 -n1"), 2, 1, "ddp", 25),
    ),
    "two torchruns on each node": (
        "FAN_OUT",
        "torchrun was started 4 times on 2 nodes",
        Case(LINES["srun torchrun"][1].format(nodes=2), 2, 2, "ddp", 90),
    ),
    "accelerate that starts one process": (
        "RANK",
        "2 processes do not know who they are: RANK is not set",
        Case(LINES["accelerate"][1].format(nodes=2, ranks=4).replace("--multi_gpu ", ""), 2, 1, "accelerate_ddp", 90),
    ),
    "a master on each node": (
        "MASTER",
        "different addresses",
        Case(LINES["srun direct"][1].replace("RANK=", "MASTER_ADDR=$(hostname) RANK=", 1), 2, 2, "ddp", 40),
    ),
}


@pytest.fixture(scope="module")
def broken(lab, tmp_path_factory) -> Mapping[str, Ran]:
    """Every broken line, verified."""
    frameworks()
    cases = {name: case for name, (_, _, case) in BROKEN.items()}
    return all_ran(lab, cases, tmp_path_factory.mktemp("hangs"), environment(lab))


@pytest.mark.parametrize("name", BROKEN)
def test_what_the_real_launchers_do_in_silence_is_said_within_the_deadline(broken, name, lab):
    kind, words, _ = BROKEN[name]
    assert broken[name].kinds[0] == kind, broken[name].made.verdict.reasons
    assert words in broken[name].made.verdict.reasons[0].says
    assert broken[name].left == ("job.sh",) and not jobs(lab)
