"""At which number each kind of breach begins: a script a kind, with the numbers around its bound."""

from __future__ import annotations

import pytest
from maple_submit_filter.answer.decision import decide
from maple_submit_filter.plan import breach_kinds as kinds
from maple_submit_filter.site.facts import GENERIC_SLURM, NodeKind

from tests.submit_filter.test_heart import submitted

HERE = GENERIC_SLURM._replace(id="here", kinds=(NodeKind("n", gpus=4, gpu_vendor="nvidia"),), kinds_complete=True)
HEAD = "HEAD=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n 1)\n"
TASKS = "#SBATCH --nodes=2 --ntasks-per-node=2 --gpus-per-node=4\n" + HEAD
ONE_EACH = "#SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=4\n" + HEAD
STATIC = "srun bash -c 'torchrun --nnodes=2 --nproc-per-node=4 --master_addr=%s --node_rank=%s train.py'\n"
C10D = "srun torchrun --nnodes=%s --nproc-per-node=%s --rdzv-backend=c10d --rdzv-id=%s --rdzv-endpoint=%s train.py\n"
ON_TASK = "srun bash -c '%s'\n" % C10D[5:].strip()
SET = "export MASTER_ADDR=%s MASTER_PORT=%s WORLD_SIZE=%s\nsrun bash -c 'RANK=%s LOCAL_RANK=%s python train.py'\n"
OF_FIRST = (
    "srun bash -c 'if [ $SLURM_PROCID = 0 ]; then M=%s; fi; MASTER_ADDR=$M MASTER_PORT=29500 WORLD_SIZE=4 "
    "RANK=$SLURM_PROCID LOCAL_RANK=$SLURM_LOCALID python train.py'\n"
)
OWN_PORT = (
    "export MASTER_ADDR=$HEAD\n"
    "srun bash -c 'WORLD_SIZE=%s RANK=$SLURM_PROCID LOCAL_RANK=$SLURM_LOCALID MASTER_PORT=%s python train.py'\n"
)
SEES = "export MASTER_ADDR=$HEAD MASTER_PORT=29500\nsrun bash -c 'CUDA_VISIBLE_DEVICES=%s python train.py'\n"
URL = "srun bash -c 'python train.py --dist-url=tcp://{n}:29500'\n"
PARTS = "srun bash -c 'CUDA_VISIBLE_DEVICES={n} torchrun --nproc-per-node=2 --standalone a.py'\n"
BESIDE = "torchrun --nproc-per-node=2 --master_port=%s %s &\n"
RANKED = "export MASTER_ADDR=%s MASTER_PORT=%s WORLD_SIZE=%s\nsrun python train.py\n"
ID, LOCAL = "$SLURM_PROCID", "$SLURM_LOCALID"
Row = tuple[
    str, str, tuple[object, ...], tuple[object, ...]
]  # the kind, the script with {n}, where it breaks, where not

ROWS: list[Row] = [
    (kinds.AGENTS, ONE_EACH + C10D % ("{n}", 4, 7, "$HEAD:29500"), (1, 3, 4), (2,)),
    (kinds.AGENTS, ONE_EACH.replace("node=1", "node={n}") + C10D % (2, 4, 7, "$HEAD:29500"), (2, 3), (1,)),
    (kinds.NODE_RANK, ONE_EACH + "export HEAD\n" + STATIC % ("$HEAD", "$((SLURM_NODEID+{n}))"), (1, 2), (0,)),
    (kinds.NODE_RANK, ONE_EACH + "export HEAD\n" + STATIC % ("$HEAD", "$((SLURM_NODEID*{n}))"), (0, 2, 3), (1,)),
    (
        kinds.NODE_RANK,
        ONE_EACH + "export HEAD\n" + STATIC % ("$HEAD", "{n}"),
        (0, 1, 2),
        ("$SLURM_NODEID", "$SLURM_PROCID"),
    ),
    (kinds.OPTION_EMPTY, ONE_EACH + "N={n}\n" + C10D % ("$N", 4, 7, "$HEAD:29500"), ("",), (2, 3)),
    (
        kinds.RUN_ID_DIFFERS,
        ONE_EACH + "export HEAD\n" + ON_TASK % (2, 4, "{n}", "$HEAD:29500"),
        ("$SLURM_NODEID", ID),
        (7, "$SLURM_JOB_ID"),
    ),
    (kinds.MASTER_DIFFERS, ONE_EACH + "export HEAD\n" + ON_TASK % (2, 4, 7, "{n}:29500"), ("$(hostname)",), ("$HEAD",)),
    (kinds.MASTER_EMPTY, ONE_EACH + "export A={n}\n" + STATIC % ("$A", "$SLURM_NODEID"), ("",), ("$HEAD",)),
    (kinds.MASTER_LIST, ONE_EACH + C10D % (2, 4, 7, "{n}:29500"), ("$SLURM_JOB_NODELIST",), ("$HEAD",)),
    (
        kinds.MASTER_LIST,
        TASKS + "export HEAD\nM=$SLURM_JOB_NODELIST\nexport M\n" + OF_FIRST % "{n}",
        ("$SLURM_JOB_NODELIST",),
        ("$HEAD", "localhost"),  # one process alone has another
    ),
    (
        kinds.MASTER_LOCAL,
        "#SBATCH --nodes=1 --ntasks=2 --gpus-per-node=4\n" + C10D % ("{n}", 2, 7, "localhost:29500"),
        (3, 4),
        (1, 2),  # agents too many are no matter of where they meet
    ),
    (kinds.AGENTS, ONE_EACH + C10D % ("{n}", 4, 7, "$HEAD:29500"), ("3:3",), ("2:2", "1:2", "2:3", "3:4")),  # elastic
    (kinds.MASTER_OUTSIDE, ONE_EACH + C10D % (2, 4, 7, "{n}:29500"), ("node001",), ("$HEAD", "localhost")),
    (kinds.MASTER_OUTSIDE, ONE_EACH + RANKED % ("{n}", 29500, 2), ("node001",), ("$HEAD", "$(hostname)")),
    (
        kinds.MASTER_LOCAL,
        ONE_EACH.replace("nodes=2", "nodes={n}") + C10D % ("{n}", 4, 7, "localhost:29500"),
        (2, 3),
        (1,),
    ),
    (kinds.NO_PORT, ONE_EACH + C10D % (2, 4, 7, "$HEAD:{n}"), (65536, 70000, "x"), (1, 29500, 65535)),
    (kinds.NO_PORT, ONE_EACH + RANKED % ("$HEAD", "{n}", 2), (65536, 70000), (1, 29500, 65535)),
    (
        kinds.PORT_DIFFERS,
        ONE_EACH + "export HEAD\n" + ON_TASK % (2, 4, 7, "$HEAD:$((29500+SLURM_NODEID*{n}))"),
        (1, 2),
        (0,),
    ),
    (kinds.PORT_DIFFERS, TASKS + OWN_PORT % (4, "$((29500+SLURM_PROCID*{n}))"), (1, 2), (0,)),
    (
        kinds.PORT_DIFFERS,
        TASKS + OWN_PORT % ("{n}", "$((29500+SLURM_PROCID))"),
        (4, "$SLURM_NTASKS"),
        (3, "$SLURM_NNODES"),
    ),
    (
        kinds.ENV_RANK,
        TASKS + SET % ("$HEAD", 29500, "{n}", 0, LOCAL),
        (3, 4, 8),
        (1, 2),
    ),  # as Lightning's users have it
    (kinds.ENV_RANK, TASKS + SET % ("$HEAD", 29500, 4, "{n}", LOCAL), (0, 1, "$SLURM_NODEID", LOCAL), (ID,)),
    (kinds.WORLD_SIZE, TASKS + SET % ("$HEAD", 29500, "{n}", ID, LOCAL), (2, 3, 5, 8), (4, "$SLURM_NTASKS")),
    (kinds.WORLD_SAID, TASKS + RANKED % ("$HEAD", 29500, "{n}"), (5, 8), (3, 4, "$SLURM_NTASKS")),
    (kinds.GPUS_NODE, "#SBATCH --nodes=1 --ntasks=1\n" + C10D % (1, "{n}", 7, "localhost:0"), (5, 8), (1, 3, 4)),
    (
        kinds.GPUS_JOB,
        "#SBATCH --nodes=2 --ntasks-per-node=1 --gpus={n}\n" + HEAD + C10D % (2, 2, 7, "$HEAD:29500"),
        (2, 3),
        (4, 5),
    ),
    (
        kinds.GPUS_VISIBLE,
        "#SBATCH --nodes=1 --ntasks=1 --gpus-per-node=4\nexport CUDA_VISIBLE_DEVICES={n}\n"
        + C10D[5:] % (1, 3, 7, "localhost:0"),
        ("0", "0,1"),
        ("0,1,2", "0,1,2,3"),
    ),
    (
        kinds.NO_SCRIPT,
        "#SBATCH --nodes=1 --ntasks=1\ntorchrun --nproc-per-node=2 {n}\n",
        ("",),
        ("train.py", "-m train"),
    ),
    (
        kinds.GPU_TWICE,
        ONE_EACH.replace("node=1", "node=2") + C10D % (2, "{n}", 7, "$HEAD:29500"),
        (3, 4),
        (1, 2),
    ),
    (
        kinds.GPU_TWICE,
        "#SBATCH --nodes=1 --ntasks=2 --gpus-per-node=4\n" + PARTS,
        ("0,1",),
        ("$((SLURM_LOCALID*2)),$((SLURM_LOCALID*2+1))",),
    ),
    (kinds.GPU_TWICE, ONE_EACH.replace("node=1", "node={n}") + C10D % (2, 4, 7, "$HEAD:29500"), (2, 3), (1,)),
    (kinds.REFUSED, "#SBATCH --nodes=1 --ntasks=4\nmpiexec -np {n} python train.py\n", ("all", ""), (1, 4)),
    (
        kinds.GPUS_ASKED,
        "#SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node={n}\n"
        + HEAD
        + "jsrun"
        + C10D[4:] % (2, 4, 7, "$HEAD:29500"),
        (2, 3),
        (4, 5),
    ),
    (
        kinds.PORT_TAKEN,
        "#SBATCH --nodes=1 --ntasks=1 --gpus-per-node=4\n"
        + BESIDE % (29600, "a.py")
        + BESIDE % ("{n}", "b.py")
        + "wait\n",
        (29600,),
        (29599, 29601),
    ),
    (kinds.LOCAL_RANK_BEYOND, TASKS + SET % ("$HEAD", 29500, 4, ID, "$((SLURM_LOCALID+{n}))"), (3, 4), (0, 2)),
    (kinds.DEVICE_BEYOND, TASKS + SEES % "$((SLURM_LOCALID+{n}))", (3, 4), (0, 2)),
    (kinds.GPUS_FEWER, TASKS + SEES % "{n}", ("0", "1"), ("0,1", "0,1,2")),
    (kinds.LOCAL_SAID, "#SBATCH --nodes=2 --ntasks={n}\n" + RANKED % ("localhost", 29500, "{n}"), (5, 8), (3, 4)),
    (
        kinds.MASTER_ELSEWHERE,
        ONE_EACH + "export HEAD=$(scontrol show hostnames | {n})\n" + STATIC % ("$HEAD", "$SLURM_NODEID"),
        ("tail -n 1", "sed -n 2p"),
        ("head -n 1", "sed -n 1p"),
    ),
    (kinds.TOLD_APART, ONE_EACH + "export HEAD\n" + URL, ("$(hostname)",), ("$HEAD",)),
    (kinds.TOLD_APART, ONE_EACH + "export HEAD\n" + URL.replace("=", " "), ("$(hostname)",), ("$HEAD",)),
    (
        kinds.TOLD_APART,
        ONE_EACH + URL.replace("{n}", "$(hostname)").replace("dist-url=", "{n} "),
        ("dist-url", "init_method", "master", "rdzv-endpoint", "coordinator_address"),
        ("log", "url", "masters of"),
    ),
    (
        kinds.WITHHELD,
        ONE_EACH + (RANKED % ("$HEAD", 29500, 2)).replace("srun", "srun --export={n}"),
        ("NONE",),
        ("ALL",),
    ),
    (kinds.LIST_SAID, ONE_EACH + RANKED % ("{n}", 29500, 2), ("$SLURM_JOB_NODELIST",), ("$HEAD", "$(hostname)")),
]


def found(script: str) -> set[str]:
    """Return the kinds of breaches of all launch lines."""
    plan = decide(submitted(b"#!/bin/bash\n" + script.encode()), HERE, None).plan
    assert plan is not None
    return {breach.kind for step in plan.steps for breach in step.breaches}


@pytest.mark.parametrize(
    ("kind", "script", "breaks", "holds"), ROWS, ids=lambda one: one if isinstance(one, str) else ""
)
def test_a_breach_begins_at_its_bound(
    kind: str, script: str, breaks: tuple[object, ...], holds: tuple[object, ...]
) -> None:
    """Below it nothing is said of the kind."""
    made = {n: kind in found(script.replace("{n}", str(n))) for n in (*breaks, *holds)}
    assert made == {**dict.fromkeys(breaks, True), **dict.fromkeys(holds, False)}


def test_every_kind_has_its_bound() -> None:
    """A script that breaks it, and the next one that does not."""
    assert {row[0] for row in ROWS if row[1] and row[2] and row[3]} == set(kinds.INVARIANTS)


ON_ONE = "MASTER_PORT=29500 WORLD_SIZE=4 RANK=$SLURM_PROCID LOCAL_RANK=$SLURM_LOCALID python train.py"


@pytest.mark.parametrize("master", ["node001", "localhost", "$(hostname)", "$SLURM_JOB_NODELIST", "$HEAD"])
@pytest.mark.parametrize(
    "only",
    [
        "if [ $SLURM_PROCID = {n} ]; then {m}; fi",
        "case $SLURM_NODEID in {n}) {m};; esac",
        "[ $SLURM_LOCALID = {n} ] && {m}",
    ],
)
@pytest.mark.parametrize("rank", [0, 1])
def test_nothing_is_said_of_a_master_that_some_processes_have_from_elsewhere(only: str, master: str, rank: int) -> None:
    """Who has none may find it in a file or at a server: what the others have contradicts nothing."""
    line = only.format(n=rank, m="export MASTER_ADDR=" + master)
    script = "#!/bin/bash\n%sexport HEAD\nsrun bash -c '%s; %s'\n" % (TASKS, line, ON_ONE)
    assert [code for code in _codes(script) if code.startswith("MPL3")] == []


def _codes(script: str) -> list[str]:
    return sorted({finding.code for finding in decide(submitted(script.encode()), HERE, None).findings})
