"""Each way to break a launch line, on a real Slurm: the right verdict within the deadline, and nothing left behind."""

from __future__ import annotations

import os
from collections.abc import Mapping

import pytest
from maple_agents.ask.schedulers import SchedulerError

from tests.agents.verify.in_lab import C10D, OWN, Case, Ran, all_ran, jobs

TORCHRUN = "srun torchrun --nnodes=2 --nproc_per_node=2 " + C10D + " train.py\n"
LISTEN = (
    'python3 -c \'import os,socket,time; s=socket.socket(); s.bind(("", int(os.environ["MASTER_PORT"])));'
    ' s.listen(); open("taken","w"); time.sleep(60)\' &\nuntil [ -e taken ]; do sleep 0.1; done; rm taken\n'
)
EARLY = OWN.split(" WORLD")[0]

# name -> (kind of the first reason, words that it must say, the case)
BROKEN = {
    "four torchruns on two nodes": ("FAN_OUT", "4 times on 2 nodes", Case(TORCHRUN, tasks=2)),
    "two torchruns on one node": (
        "GPU", "take the same GPU", Case("srun torchrun --standalone --nproc_per_node=2 train.py\n", 1, 2),
    ),
    "the rank expanded too early": (
        "DUPLICATE", "4 processes carry rank 0",
        Case('export WORLD_SIZE=4\nsrun bash -c "RANK=$SLURM_PROCID LOCAL_RANK=0 python3 train.py"\n'),
    ),
    "a world too large": (
        "WORLD", "world size is 8, but 4", Case(f"srun bash -c '{EARLY} WORLD_SIZE=8 python3 train.py'\n"),
    ),
    "a world too small": (
        "WORLD", "world size is 2, but 4", Case(f"srun bash -c '{EARLY} WORLD_SIZE=2 python3 train.py'\n"),
    ),
    "only one node is started": (
        "RENDEZVOUS", "no rank started", Case(TORCHRUN.replace("srun", "srun -N1 -n1"), tasks=1),
    ),
    "a node that never comes": (
        "NODE", "so ranks 2-3 of 4 are missing; ranks 0-1 waited",
        Case(f"srun bash -c 'test $SLURM_NODEID = 1 && sleep 90; {OWN} python3 train.py'\n"),
    ),
    "each node its own master": (
        "MASTER", "different addresses", Case(f"srun bash -c 'MASTER_ADDR=$(hostname) {OWN} python3 train.py'\n"),
    ),
    "localhost on two nodes": (
        "MASTER", "at localhost", Case(f"export MASTER_ADDR=localhost\nsrun bash -c '{OWN} python3 train.py'\n"),
    ),
    "the master on another node than rank 0": (
        "MASTER", "but rank 0 is on",
        Case(
            "export MASTER_ADDR=$(scontrol show hostnames $SLURM_JOB_NODELIST | tail -n1)\n"
            f"srun bash -c '{OWN} python3 train.py'\n"
        ),
    ),
    "a master that does not exist": (
        "MASTER", "no-such-host", Case(f"export MASTER_ADDR=no-such-host\nsrun bash -c '{OWN} python3 train.py'\n"),
    ),
    "a port that is taken": (
        "PORT", "cannot listen on port", Case(LISTEN + f"srun bash -c '{OWN} python3 train.py'\n"),
    ),
    "two worlds on a port": (
        "PORT", "both meet at",
        Case(
            f"srun -n4 --overlap bash -c 'test $SLURM_PROCID = 3 && sleep 20; {OWN} python3 train.py' &\n"
            f"sleep 2\nsrun -n4 --overlap bash -c '{OWN} python3 evaluate.py' &\nwait\n"
        ),
    ),
    "a GPU hidden": (
        "GPU", "sees GPUs 0",
        Case("srun bash -c 'CUDA_VISIBLE_DEVICES=0 torchrun --standalone --nproc_per_node=2 train.py'\n", 1, 1),
    ),
    "a Python that is not there": (
        "INTERPRETER", "python3.99: command not found", Case(f"srun bash -c '{OWN} python3.99 train.py'\n"),
    ),
    "a module that is missing": (
        "MODULE", "No module named 'torch'", Case(f"srun bash -c '{OWN} python3 train.py'\n", app="ddp"),
    ),
    "an empty rank": ("RANK", "set and empty", Case("srun bash -c 'RANK=$NOBODY WORLD_SIZE=4 python3 train.py'\n")),
    "a hostfile of another cluster": (
        "NODE", "nothing started on",
        Case(
            "echo elsewhere slots=2 > hosts\nsrun bash -c 'deepspeed --hostfile=hosts --no_ssh"
            " --node_rank=$SLURM_NODEID --master_addr=$MASTER_ADDR train.py'\nrm hosts\n", 2, 1,
        ),
    ),
    "a rank that ends before it begins": (
        "MISSING", "rank 2 of 4", Case(f"srun bash -c 'test $SLURM_PROCID = 2 && exit 3; {OWN} python3 train.py'\n"),
    ),
    "a rank that is killed": (
        "KILLED", "rank 3",
        Case(
            f"srun bash -c 'test $SLURM_PROCID = 2 && sleep 30; {OWN} python3 train.py &"
            " test $SLURM_PROCID = 3 || { wait; exit; };"
            " until ls .maple-verify-*/facts/*/*rank3* >/dev/null 2>&1; do sleep 0.1; done;"
            " pkill -9 -P $$; wait'\n"
        ),
    ),
    "all ranks killed at once": (
        "KILLED", "Killed", Case(f"srun bash -c '{OWN} exec timeout -s KILL 0.01 python3 train.py'\n"),
    ),
    "a script that is busy with something else": (
        "NOTHING", "within 12 s", Case(f"sleep 300\nsrun bash -c '{OWN} python3 train.py'\n", seconds=12),
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def broken(lab, tmp_path_factory) -> Mapping[str, Ran]:
    """Every case, verified."""
    cases = {name: case for name, (_, _, case) in BROKEN.items()}
    return all_ran(lab, cases, tmp_path_factory.mktemp("broken"))


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_broken_is_said(broken, name):
    kind, words, _ = BROKEN[name]
    verdict = broken[name].made.verdict
    assert verdict.result.value == "failed"
    assert broken[name].kinds[0] == kind, verdict.reasons
    first = verdict.reasons[0]
    assert words in first.says and first.remedy and first.line


@pytest.mark.parametrize("name", BROKEN)
def test_nothing_is_left_of_a_broken_one(broken, name):
    assert broken[name].left == ("job.sh",)


def test_every_job_is_over(broken, lab):
    assert not jobs(lab)


def test_no_process_of_a_mini_app_lives_on(broken):
    living = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/cmdline", "rb") as file:
                    words = file.read()
            except OSError:
                continue
            if b"/broken0/" in words and b".maple-verify-" in words:
                living.append(words)
    assert not living


def test_what_the_scheduler_refuses_is_told_in_its_own_words(lab, tmp_path):
    from tests.agents.verify.in_lab import ran

    one = ran(lab, Case("srun python3 train.py\n", nodes=999), tmp_path, 29400)
    assert one.kinds == ["REFUSED"] and "More processors requested" in one.made.verdict.reasons[0].says
    assert one.left == ("job.sh",)


def test_a_job_that_does_not_start_in_time_is_unclear_and_gone(lab, tmp_path):
    from maple_agents.ask.schedulers.slurm.commands import SlurmCommands
    from maple_agents.verify.verification import Wanted, verify
    from maple_submit_filter.site.facts import GENERIC_SLURM

    from tests.agents.verify.in_lab import left, script, submission

    source = script(Case("srun python3 train.py\n"), 29410)
    (tmp_path / "job.sh").write_bytes(source)
    environ = lab.environment(MAPLE_ROLE="plain", XDG_STATE_HOME=str(tmp_path / "state"))
    wanted = Wanted(submission(source, tmp_path), GENERIC_SLURM, ("--hold",), "dry", 10, 3, False, environ)
    made = verify(wanted, SlurmCommands(environ=environ))
    assert made.verdict.result.value == "unclear" and made.verdict.reasons[0].kind.name == "QUEUE"
    assert left(tmp_path) == ("job.sh",) and not jobs(lab)


def test_a_scheduler_that_is_not_there_is_no_verdict(lab, tmp_path):
    from maple_agents.ask.schedulers.slurm.commands import SlurmCommands
    from maple_agents.verify.verification import Wanted, verify
    from maple_submit_filter.site.facts import GENERIC_SLURM

    from tests.agents.verify.in_lab import left, script, submission

    source = script(Case("srun python3 train.py\n"), 29420)
    (tmp_path / "job.sh").write_bytes(source)
    wanted = Wanted(submission(source, tmp_path), GENERIC_SLURM, environ={"HOME": str(tmp_path)})
    with pytest.raises(SchedulerError, match="cannot be run"):
        verify(wanted, SlurmCommands("/nowhere"))
    assert left(tmp_path) == ("job.sh",)
