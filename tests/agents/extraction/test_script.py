"""Scripts of any cluster are read for what they say, and nothing is made up."""

from __future__ import annotations

import glob
import os

import pytest
from maple_agents.base.slots import Refused
from maple_agents.request.script.foreign_script import read
from maple_agents.request.script.parts import Foreign

from tests.reality.corpus import laid

RIGHT = sorted(
    path
    for kind in ("right", os.path.join("pbs", "right"))
    for path in glob.glob(os.path.join(laid(), kind, "*", "*.sh"))
)
UNREAD = ("tutorial-with-node-script.sh",)  # its nodes are reached by names that nobody knows
LATER = {"openmpi-ppr.sh": "aist-abci3"}  # asks for a queue of that cluster, and is older than its site file
TORCHRUN = b"""#!/bin/bash
#SBATCH -A m4567_g -C gpu -q regular
#SBATCH --nodes=4 --ntasks-per-node=1 --gpus-per-node=4
#SBATCH -t 1-06:00:00
module load pytorch
export NCCL_SOCKET_IFNAME=hsn0
export NCCL_DEBUG=INFO
HEAD=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
srun torchrun --nnodes=4 --nproc_per_node=4 --rdzv_backend=c10d --rdzv_endpoint=$HEAD:29500 train.py --name 'a b' $X >o
"""


def _read(path: str) -> Foreign:
    with open(path, "rb") as file:
        return read(file.read(), path=path.encode())


def _readable() -> list[str]:
    return [path for path in RIGHT if os.path.basename(path) not in UNREAD]


def test_a_script_names_its_own_cluster_or_none() -> None:
    """No script is taken for another cluster's, and most of those written for one are known (not all say)."""
    named = {path: (os.path.basename(os.path.dirname(path)), _read(path).site) for path in _readable()}
    meant = {path: ("", own, LATER.get(os.path.basename(path))) for path, (own, _) in named.items()}
    wrong = {path: pair for path, pair in named.items() if pair[1] not in meant[path]}
    assert wrong == {}
    known = [pair for pair in named.values() if not pair[0].startswith("generic")]
    assert sum(pair[1] != "" for pair in known) >= 0.75 * len(known)


@pytest.mark.parametrize("path", _readable(), ids=lambda path: "/".join(path.split(os.sep)[-2:]))
def test_every_part_stands_in_the_script(path: str) -> None:
    """Programs, launchers' words and regions are bytes of the script, and words of launchers begin with their name."""
    foreign = _read(path)
    assert foreign.launches
    for region in foreign.regions:
        assert 0 <= region.span.start < region.span.end <= len(foreign.source)
    for launch in foreign.launches:
        for words in (launch.outer, launch.agent):
            if words is not None:
                first = foreign.source[words.spans[0].start : words.spans[0].end]
                assert first.split()[0].rsplit(b"/", 1)[-1].startswith((words.name.encode(), b"python", b"mpirun"))
        if launch.program is not None:
            text = foreign.source[launch.program.start : launch.program.end]
            assert text == text.strip() and b"\n#" not in text


def test_what_a_script_says_has_its_line() -> None:
    """Numbers, time, account and program come with the line they stand on; the program is verbatim."""
    slots = read(TORCHRUN).slots
    assert slots.as_json() == {
        "site": "nersc-perlmutter", "nodes": 4, "gpus_per_node": 4, "ranks_per_node": 4, "launcher": "torchrun",
        "program": "train.py --name 'a b' $X", "account": "m4567_g", "qos": "regular", "walltime": "30:00:00",
    }  # fmt: skip
    assert slots["nodes"].origin.where == "line 3"
    assert slots["walltime"].origin.where == "line 4"
    start, end = slots["program"].origin[2:]
    assert TORCHRUN[start:end] == b"train.py --name 'a b' $X"


def test_what_is_bound_to_the_cluster_is_told_from_what_is_not() -> None:
    """Modules, interfaces and the scheduler's commands are the cluster's; a level of messages is the user's."""
    found = {(region.kind, region.name) for region in read(TORCHRUN).regions}
    assert {("module", b"module"), ("transport", b"NCCL_SOCKET_IFNAME"), ("command", b"scontrol")} <= found
    assert ("transport", b"NCCL_DEBUG") not in found


@pytest.mark.parametrize(
    ("script", "says"),
    [
        (b"", "empty"),
        (b"#!/bin/csh\n#SBATCH -N 2\nsrun python train.py\n", "line 1: a script of csh"),
        (b"#!/usr/bin/env python3\nimport torch\n", "line 1: a script of python3"),
        (b"#!/bin/bash\n#SBATCH -N 2\necho hello\n", "starts no program"),
        (b"#!/bin/bash\nsrun \0 python train.py\n", "line 2: a NUL byte"),
        (b"#!/bin/bash\n" + b"#" * 600_000, "longer than"),
    ],
)
def test_what_cannot_be_read_is_said_in_one_line(script: bytes, says: str) -> None:
    """Another language, no program, no text: one line that says so."""
    with pytest.raises(Refused) as refused:
        read(script)
    assert says in str(refused.value) and "\n" not in str(refused.value)


def test_line_ends_of_windows_are_read_and_said() -> None:
    """sbatch refuses them, so they go; that is told."""
    foreign = read(TORCHRUN.replace(b"\n", b"\r\n"))
    assert foreign.source == TORCHRUN
    assert any("Windows" in note for note in foreign.notes)


@pytest.mark.parametrize(
    ("script", "scheduler"),
    [
        (b"#PBS -l select=2\n#SBATCH -N 2\nsrun torchrun --nproc_per_node=4 train.py $SLURM_JOB_ID\n", "slurm"),
        (b"#PBS -l select=2\n#SBATCH -N 2\ncd $PBS_O_WORKDIR\nmpiexec -n 8 python train.py\n", "pbs"),
        (b"mpiexec -n 2 --ppn 1 torchrun --rdzv_endpoint=$(head -n 1 $PBS_NODEFILE) train.py\n", "pbs"),
        (b"srun -N2 python train.py\n", "slurm"),
    ],
)
def test_the_words_tell_the_scheduler_where_directives_do_not(script: bytes, scheduler: str) -> None:
    """With the directives of both or of none, what the script does decides."""
    assert read(b"#!/bin/bash\n" + script).scheduler == scheduler


@pytest.mark.parametrize(
    ("line", "paradigm"),
    [
        (b"accelerate launch --multi_gpu --num_processes 4 train.py", "accelerate-ddp"),
        (b"accelerate launch --use_fsdp --num_processes 4 train.py", "fsdp"),
        (b"accelerate launch --use_deepspeed --zero_stage 3 --num_processes 4 train.py", "zero3"),
        (b"deepspeed --num_gpus 4 train.py --deepspeed ds_zero3.json", "zero3"),
        (b"torchrun --nproc_per_node=4 train.py --fsdp full_shard", "fsdp"),
        (b"torchrun --nproc_per_node=4 train.py --tensor-model-parallel-size 2", "3d"),
        (b"torchrun --nproc_per_node=4 train.py --tensor-model-parallel-size 1", ""),
        (b"torchrun --nproc_per_node=4 train.py", ""),
        (b'cat > c.json <<J\n{"stage": 3}\nJ\ndeepspeed --num_gpus 4 train.py --deepspeed_config c.json', "zero3"),
    ],
)
def test_a_paradigm_is_said_only_where_something_proves_it(line: bytes, paradigm: str) -> None:
    """The launcher, the arguments or a configuration prove it; torchrun alone may start any."""
    head = b"#!/bin/bash\n#SBATCH -N 1\n#SBATCH --gpus-per-node=4\n"
    assert read(head + line + b"\n").slots.text("paradigm") == paradigm


@pytest.mark.parametrize(
    ("request_", "nodes", "gpus"),
    [
        (b"#PBS -l select=2:ncpus=16:ngpus=4", 2, 4),
        (b"#PBS -l select=1:ncpus=8:ngpus=2+3:ncpus=16:ngpus=2", 4, 2),
        (b"#PBS -l select=8:ncpus=8:ngpus=1", None, None),  # a rank's GPU, and several ranks to a node
        (b"#PBS -l select=2:ncpus=16:ngpus=4\n#PBS -l place=pack", 1, 8),
        (b"#PBS -l select=1:ngpus=4+1:ngpus=2", None, None),  # unlike nodes
        (b"#PBS -l select=4:ncpus=16", None, None),
    ],
)
def test_chunks_of_several_gpus_are_nodes_where_no_site_says_more(
    request_: bytes, nodes: int | None, gpus: int | None
) -> None:
    """OpenPBS may put several chunks on one host; who asks for chunks of GPUs means a host by each."""
    slots = read(b"#!/bin/bash\n" + request_ + b"\ncd $PBS_O_WORKDIR\nmpirun python train.py\n").slots
    assert (slots.number("nodes"), slots.number("gpus_per_node")) == (nodes, gpus)
