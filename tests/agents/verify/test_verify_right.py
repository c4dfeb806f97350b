"""Right launch lines of many forms, on a real Slurm: each passes, and every value that the plan knew is what came."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.agents.verify.in_lab import C10D, OWN, Case, Ran, all_ran, jobs

TORCHRUN = "srun torchrun --nnodes={nodes} --nproc_per_node=2 " + C10D
ACCELERATE = (
    "accelerate launch --multi_gpu --num_machines {nodes} --num_processes {ranks} --main_process_ip $MASTER_ADDR "
    "--main_process_port $MASTER_PORT --machine_rank $SLURM_NODEID"
)
HOSTS = "for h in $(scontrol show hostnames); do echo $h slots=2; done > hosts\n"
DEEPSPEED = "--hostfile=hosts --no_ssh --node_rank=$SLURM_NODEID --master_addr=$MASTER_ADDR --master_port=$MASTER_PORT"
FORMS = {
    "srun python": (2, "srun python3 -u train.py --lr 1\n"),
    "srun bash -c": (2, f"srun bash -c '{OWN} exec python3 train.py'\n"),
    "torchrun": (1, TORCHRUN + " train.py --lr 1\n"),
    "accelerate": (1, f"srun bash -c '{ACCELERATE} train.py'\n"),
    "deepspeed": (1, HOSTS + f"srun bash -c 'deepspeed {DEEPSPEED} train.py --deepspeed ds.json'\nrm hosts\n"),
}
CASES = {
    f"{form} on {nodes}": Case(text.format(nodes=nodes, ranks=2 * nodes), nodes, tasks, seconds=60)
    for nodes in (1, 2, 4)
    for form, (tasks, text) in FORMS.items()
    if nodes != 4 or form in ("srun python", "torchrun")
} | {
    "a program in a variable": Case('PROGRAM="train.py --lr 1"\nsrun python3 $PROGRAM\n', seconds=60),
    "a module": Case("srun python3 -m package.train --lr 1\n", seconds=60),
    "a module of torchrun": Case(TORCHRUN.format(nodes=2) + " -m package.train --lr 1\n", 2, 1, seconds=60),
    "a here-document": Case("srun python3 << END\nimport torch\nEND\n", 1, 2, seconds=60),
    "a binary": Case("srun ./lammps -in in.lj\n", 1, 2, seconds=60),
    "a loop": Case("for seed in 1 2; do srun python3 train.py --seed $seed; done\n", 1, 2, seconds=60),
    "helpers beside it": Case("python3 prepare.py\nsrun python3 train.py\npython3 collect.py\n", 1, 2, seconds=60),
    "probe": Case("srun python3 train.py\n", app="probe", seconds=60),
}


@pytest.fixture(scope="module")
def right(lab, tmp_path_factory) -> Mapping[str, Ran]:
    """Every case, verified."""
    return all_ran(lab, CASES, tmp_path_factory.mktemp("right"))


@pytest.mark.parametrize("name", CASES)
def test_a_right_launch_line_passes_and_came_as_planned(right, name):
    verdict = right[name].made.verdict
    assert (verdict.result.value, verdict.reasons, verdict.differences) == ("passed", (), ())
    assert verdict.known >= 0.7 * verdict.values > 0
    (run, *_) = right[name].made.runs
    assert len(run.facts) == run.due


@pytest.mark.parametrize("name", CASES)
def test_nothing_is_left_beside_the_script(right, name):
    assert right[name].left == ("job.sh",)


def test_no_job_is_left(right, lab):
    assert not jobs(lab)


def test_each_run_of_a_loop_is_judged_for_itself(right):
    runs = right["a loop"].made.runs
    assert [(run.step.line, len(run.facts)) for run in runs] == [(5, 2), (5, 2)]


def test_helpers_stand_aside(right):
    made = right["helpers beside it"].made
    assert made.aside == (5, 7) and [run.step.line for run in made.runs] == [6]


def test_traffic_flows_between_all_ranks(right):
    (run,) = right["torchrun on 2"].made.runs
    assert {fact.group_world for fact in run.facts} == {4}
    assert all(set(fact.rates()) == {"all_reduce", "all_gather"} for fact in run.facts)


def test_a_probe_compares_who_each_process_is_and_lets_nobody_meet(right):
    (run,) = right["probe"].made.runs
    assert run.stage.app == "probe" and not any(fact.rates() for fact in run.facts)
