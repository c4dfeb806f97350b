"""A launcher that was given another's options: read by the one that takes them, or refused with the line."""

from __future__ import annotations

import functools
import os

import pytest
import tomllib
from maple_agents.base.slots import Origin, Refused, Slot, Slots
from maple_agents.request.script.foreign_script import read
from maple_agents.templates.cluster import Cluster
from maple_agents.write.carry import judgement
from maple_agents.write.carry.carry import carry
from maple_agents.write.clusters import cluster
from maple_agents.write.values import Carried

CASES = os.path.normpath(os.path.join(os.path.dirname(__file__), "..", "..", "..", "cases", "carry"))
HEADS = {
    "nersc-perlmutter": """#SBATCH -A m1234_g
#SBATCH -C gpu
#SBATCH -q regular
#SBATCH -N 2
#SBATCH -t 1:00:00
#SBATCH --gpus-per-node=4
#SBATCH --ntasks-per-node=1
export H=$(scontrol show hostnames | head -n 1)
""",
    "tacc-lonestar6": """#SBATCH -J train
#SBATCH -p gpu-a100
#SBATCH -N 2
#SBATCH --ntasks-per-node=1
#SBATCH -t 06:00:00
export H=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
""",
    "alcf-polaris": """#PBS -A OldProject
#PBS -q prod
#PBS -l select=10:system=polaris
#PBS -l place=scatter
#PBS -l walltime=01:00:00
#PBS -l filesystems=home:eagle
cd $PBS_O_WORKDIR
export H=$(head -n 1 $PBS_NODEFILE)
""",
}
NODES = {"nersc-perlmutter": 2, "tacc-lonestar6": 2, "alcf-polaris": 10}
GPUS = {"nersc-perlmutter": 4, "tacc-lonestar6": 3, "alcf-polaris": 4, "ncsa-delta": 4, "alcf-aurora": 12}
THERE = {
    "ncsa-delta": {"account": "abc", "partition": "gpuA100x4"},
    "alcf-aurora": {"account": "abc", "filesystems": "flare", "queue": "capacity"},
}
TORCHRUN = (
    "torchrun --nnodes=%d --nproc_per_node=%d --rdzv_backend=c10d --rdzv_endpoint=$H:29500 train.py --seed=17 'a b'"
)
with open(os.path.join(CASES, "another_launchers_words.toml"), "rb") as _file:
    LINES = [(one["here"], one["line"], one["start"]) for one in tomllib.load(_file)["line"]]


@functools.cache
def _cluster(site_id: str) -> Cluster:
    return cluster(site_id)


def _script(here: str, line: str) -> bytes:
    whole = line.replace("{T}", TORCHRUN % (NODES[here], GPUS[here]))
    return ("#!/bin/bash\n%s%s\n" % (HEADS[here], whole)).encode()


def _said(there: str) -> Slots:
    values = {**THERE[there], "walltime": "00:30:00"} if there in THERE else {}
    return Slots(Slot(name, value, Origin("option")) for name, value in values.items())  # type: ignore[arg-type]


@pytest.mark.parametrize(("here", "line", "start"), LINES, ids=[line.replace(" {T}", "") for _, line, _ in LINES])
def test_another_launchers_words_are_read_by_it_or_refused(here: str, line: str, start: str) -> None:
    """At home and on other clusters one world forms with the user's own words, or one line tells which is not sure."""
    foreign = read(_script(here, line))
    for there in (here, *THERE):
        if not start:
            with pytest.raises(Refused, match="^line 1?[0-9]: .*not sure what they start"):
                carry(foreign, _cluster(there), _said(there))
            continue
        made = carry(foreign, _cluster(there), _said(there))
        assert isinstance(made, Carried) and not made.unchanged
        state = judgement.state_of(made.script, foreign, _cluster(there))
        assert state is not None and not state.proven()
        [step] = state.plan.steps
        assert step.program[-3:] == (b"train.py", b"--seed=17", b"a b") and step.links[-1].name == start
        assert not any(": unknown option" in one for one in step.unknown)
        [group] = step.groups
        assert (group.nodes, group.world_size) == (NODES[here], NODES[here] * GPUS[there])


@pytest.mark.parametrize("option", ["--frobnicate 7", "--frobnicate=7", "--frobnicate"])
def test_an_option_that_nobody_knows_is_the_users_own_at_home(option: str) -> None:
    """A newer launcher may have it: a script of this very cluster stays; elsewhere it goes along only if it is sure."""
    source = _script("nersc-perlmutter", "srun %s {T}" % option)
    made = carry(read(source), _cluster("nersc-perlmutter"))
    assert isinstance(made, Carried) and made.script == source and made.unchanged
    if option.endswith(" 7"):
        assert "not sure what they start" in " ".join(made.advice)
        with pytest.raises(Refused, match="line 10: .*--frobnicate"):
            carry(read(source), _cluster("ncsa-delta"), _said("ncsa-delta"))
    else:
        away = carry(read(source), _cluster("ncsa-delta"), _said("ncsa-delta"))
        assert isinstance(away, Carried) and b"frobnicate" not in away.script


@pytest.mark.parametrize("run", ["bash node.sh", "bash ./node.sh", "sh node.sh"])
def test_the_lost_launcher_goes_in_front_of_what_runs_the_written_script(run: str) -> None:
    """A script that the job writes itself is started on each node, not the agent in it on one."""
    with open(os.path.join(CASES, "written_by_the_job.sh"), "rb") as file:
        source = file.read().replace(b"bash node.sh", run.encode())
    foreign = read(source)
    made = carry(foreign, _cluster("tacc-lonestar6"))
    assert isinstance(made, Carried)
    assert b"\nibrun -np 2 %s\n" % run.encode() in made.script
    state = judgement.state_of(made.script, foreign, _cluster("tacc-lonestar6"))
    assert state is not None and not state.proven()
    [group] = [group for step in state.plan.steps for group in step.groups]
    assert (group.nodes, group.world_size) == (2, 6)
    assert b"train.py --name it\\'s-mine --out runs/a\\ b" in made.script


@pytest.mark.parametrize("there", THERE)
def test_a_line_that_nobody_can_read_is_not_left_behind(there: str) -> None:
    """One launch line that is understood does not let another go along in its old words."""
    source = _script(
        "alcf-polaris", "mpiexec -n 10 --frobnicate 7 python prepare.py\nmpiexec -n 40 --ppn 4 python t.py"
    )
    with pytest.raises(Refused, match="^line 10: .*not known what it starts"):
        carry(read(source), _cluster(there), _said(there))
