"""What ranks said of themselves on a real GPU (one NVIDIA H200, torch 2.11, NCCL 2.28.9), judged."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from maple_agents.verify.exchange.launch_lines import Line
from maple_agents.verify.judge.comparison import Names
from maple_agents.verify.judge.outcome import judged
from maple_agents.verify.judge.scenes import Scene
from maple_agents.verify.judge.verdicts import Kind, Verdict
from maple_agents.verify.run.facts import fact_of
from maple_agents.verify.run.runs import Stage, runs_of
from maple_agents.verify.run.watch import Until

from tests.agents.verify.planned import state

RECORDED = Path(__file__).parents[2] / "cases" / "mini-apps-on-gpu.jsonl"
HEAD = b"#!/bin/bash\n#SBATCH --nodes=1 --ntasks=1 --gpus-per-node=%d\n"
ROWS = [json.loads(line) for line in RECORDED.read_text().splitlines()]


def verdict(name: str, gpus: int = 1, wants_gpus: bool = True) -> Verdict:
    """Return the verdict on a recorded run, of a script that asks for so many GPUs."""
    facts = [fact for row in ROWS if row["run"] == name and (fact := fact_of(row["facts"])) is not None]
    assert facts
    line = b"torchrun --standalone --nproc-per-node=%d train.py\n" % len(facts)
    step = state(line, HEAD % gpus).plan.steps[0]
    (run,) = runs_of(Line(step.line, "line", True, (step,)), (Stage(facts[0].miniapp, 60.0),), facts)
    scene = Scene(Until.REPORTED, None, Names((facts[0].host,), "7"), "", 60.0, wants_gpus=wants_gpus)
    return judged([run], scene)


@pytest.mark.parametrize("name", ["ddp-1", "fsdp-1", "accelerate_ddp-1", "three_d-1", "probe-1", "dry-2"])
def test_what_ran_on_the_gpu_passes(name: str) -> None:
    assert verdict(name).result.value == "passed"


@pytest.mark.parametrize("name", ["ddp-2", "fsdp-2", "accelerate_ddp-2", "ddp-4"])
def test_ranks_that_nccl_refuses_for_their_common_gpu_are_the_cause(name: str) -> None:
    """A launch mistake: the program has none."""
    (reason,) = verdict(name).reasons
    assert reason.kind is Kind.GPU and "take the same GPU" in reason.says and "each sees 1 GPU," in reason.says
    assert len(reason.ranks) == int(name[-1])


@pytest.mark.parametrize("name", ["ddp-1-gpu-hidden", "ddp-1-gpu-3-named"])
def test_a_gpu_that_is_hidden_is_missed(name: str) -> None:
    assert [reason.kind for reason in verdict(name).reasons] == [Kind.GPU]


def test_an_interface_that_is_not_there_is_told() -> None:
    (reason,) = verdict("ddp-1-interface-ib7").reasons
    assert reason.kind is Kind.NETWORK and "no socket interface found" in reason.says
    assert "NCCL_SOCKET_IFNAME" in reason.remedy


def test_ranks_on_cpus_pass_where_no_gpu_is_wanted() -> None:
    assert verdict("ddp-2-on-cpu", wants_gpus=False).result.value == "passed"
