"""Scripts are carried to other clusters by edits: the user's lines stay, and every world forms there."""

from __future__ import annotations

import functools
import glob
import os
import random

import pytest
from maple_agents.base.slots import Lacking, Origin, Refused, Slot, Slots
from maple_agents.request.script.foreign_script import at_site, read
from maple_agents.request.script.parts import Foreign
from maple_agents.templates.cluster import Cluster
from maple_agents.write.carry import judgement
from maple_agents.write.carry.carry import carry
from maple_agents.write.clusters import cluster
from maple_agents.write.values import Carried

from tests.case_files import CASES
from tests.reality.corpus import laid

RIGHT = sorted(
    path
    for kind in ("right", os.path.join("pbs", "right"))
    for path in glob.glob(os.path.join(laid(), kind, "*", "*.sh"))
    if not os.path.basename(os.path.dirname(path)).startswith("generic")
)
# What a user would say beside a script, where the cluster leaves several to choose from.
BESIDE: dict[str, dict[str, str]] = {
    "tacc-lonestar6": {"partition": "gpu-a100"}, "tacc-stampede3": {"partition": "h100"},
    "tacc-vista": {"partition": "gh"},
    "nersc-perlmutter": {"qos": "regular"}, "alcf-aurora": {"filesystems": "flare"},
    "alcf-polaris": {"filesystems": "eagle"}, "ncsa-delta": {"partition": "gpuA100x4"}, "ncsa-deltaai": {},
    "purdue-anvil": {"partition": "gpu"}, "psc-bridges2": {"partition": "GPU", "gpu": "v100-32"}, "olcf-frontier": {},
    "sdsc-expanse": {"partition": "gpu"},
}  # fmt: skip
NOT_THERE = {  # (script, cluster): why nobody can carry it there
    ("mpi4py-program.sh", "alcf-aurora"): "nccl",
    ("two-stages-long.sh", "tacc-lonestar6"): "world",
    ("two-stages-long.sh", "tacc-stampede3"): "world",
}
HEAD = b"#!/bin/bash\n#SBATCH -A m1234_g\n#SBATCH -C gpu\n#SBATCH -q regular\n#SBATCH -N 2\n#SBATCH -t 1:00:00\n"
HEAD += b"#SBATCH --gpus-per-node=4\n#SBATCH --ntasks-per-node=1\n"


@functools.cache
def _cluster(site_id: str) -> Cluster:
    return cluster(site_id)


def _said(**values: str) -> Slots:
    return Slots(Slot(name, value, Origin("option")) for name, value in values.items())  # type: ignore[arg-type]


def _foreign(path: str) -> Foreign:
    with open(path, "rb") as file:
        return read(file.read(), path=path.encode())


def _home(foreign: Foreign, site_id: str) -> Foreign:
    return foreign if foreign.site == site_id else at_site(foreign.job, _cluster(site_id).site, site_id)


def _carried(foreign: Foreign, site_id: str, **more: str) -> Carried:
    said = _said(account="abc", walltime="00:20:00", **{**BESIDE[site_id], **more})
    made = carry(foreign, _cluster(site_id), said)
    assert not isinstance(made, Lacking), made.missing
    return made


def _worlds(script: bytes, foreign: Foreign, site_id: str) -> list[tuple[object, ...]]:
    state = judgement.state_of(script, foreign, _cluster(site_id))
    assert state is not None
    groups = [group for step in state.plan.steps for group in step.groups]
    return [(group.nodes, group.world_size, group.launcher) for group in groups]


def _id(path: str) -> str:
    return "/".join(path.split(os.sep)[-2:])


@pytest.mark.parametrize("path", RIGHT, ids=_id)
def test_a_right_script_stays_as_it_is_at_home(path: str) -> None:
    """Where nothing else is said, not a byte of a right script changes on its own cluster."""
    site_id = os.path.basename(os.path.dirname(path))
    made = carry(_home(_foreign(path), site_id), _cluster(site_id))
    with open(path, "rb") as file:
        assert isinstance(made, Carried) and made.script == file.read()
    assert made.unchanged


def _pairs() -> list[tuple[str, str]]:
    """Each right script with another of these clusters; those of other sites often need an answer first."""
    chance = random.Random(20)
    return [
        (path, chance.choice([one for one in BESIDE if one != os.path.basename(os.path.dirname(path))]))
        for path in RIGHT
        if os.path.basename(os.path.dirname(path)) in BESIDE
    ]


@pytest.mark.parametrize(("path", "there"), _pairs(), ids=lambda value: _id(value) if "/" in value else value)
def test_the_users_lines_go_along(path: str, there: str) -> None:
    """On another cluster each line that is not the old cluster's is there, in its order, and every world forms."""
    foreign = _foreign(path)
    if (os.path.basename(path), there) in NOT_THERE:
        with pytest.raises(Refused, match=NOT_THERE[(os.path.basename(path), there)]):
            _carried(foreign, there)
        return
    made = _carried(foreign, there)
    after = iter(made.script.split(b"\n"))
    lost = [line for line in _own_lines(foreign) if line not in after]
    assert lost == []
    state = judgement.state_of(made.script, foreign, _cluster(there))
    assert state is not None and not state.proven() and state.job.script.refused == ""
    other = b"#PBS" if _cluster(there).site.scheduler == "slurm" else b"#SBATCH"
    assert not any(line.startswith(other) for line in made.script.split(b"\n"))


@pytest.mark.parametrize(
    ("path", "there"), random.Random(5).sample(_pairs(), 24), ids=lambda v: _id(v) if "/" in v else v
)
def test_what_was_decided_anew_stands_in_the_new_script_and_not_in_the_old(path: str, there: str) -> None:
    """Neither what the script said itself nor what nothing came of is told as a decision."""
    if (os.path.basename(path), there) in NOT_THERE:
        return
    foreign = _foreign(path)
    made = _carried(foreign, there)
    new = at_site(read(made.script, path=path.encode()).job, _cluster(there).site, there)
    for one in made.plan.assumed if made.plan is not None else ():
        assert new.slots[one.slot].value == one.value
        assert one.slot not in foreign.slots or foreign.slots[one.slot].value != one.value


@pytest.mark.parametrize(("path", "there"), _pairs(), ids=lambda value: _id(value) if "/" in value else value)
def test_what_the_new_cluster_finds_is_mended_or_told(path: str, there: str) -> None:
    """Nobody learns from `maple check` what `maple new` knew and did not say."""
    if (os.path.basename(path), there) in NOT_THERE:
        return
    foreign = _foreign(path)
    made = _carried(foreign, there)
    state = judgement.state_of(made.script, foreign, _cluster(there))
    told = "\n".join(made.advice)
    assert state is not None and [finding for finding in state.findings if finding.code not in told] == []


CONTAINER = b"srun singularity exec --nv /scratch/torch.sif torchrun --nnodes=2 --nproc-per-node=4 --rdzv-backend=c10d"
CONTAINER += b" --rdzv-endpoint=$H:29500 train.py\n"


@pytest.mark.parametrize(
    ("there", "line", "says"),
    [
        ("csc-lumi", b"singularity exec --rocm /scratch", "changed for the new cluster: --rocm in place of --nv"),
        ("tacc-vista", b"module load tacc-apptainer; ", "changed for the new cluster: module load tacc-apptainer"),
    ],
)
def test_what_the_new_clusters_rules_know_to_change_is_changed(there: str, line: bytes, says: str) -> None:
    """A container's option for GPUs, a program that a module brings: nothing of these is wrong at home."""
    script = HEAD + b"H=$(scontrol show hostnames | head -n 1)\n" + CONTAINER
    beside = {"partition": "standard-g"} if there == "csc-lumi" else BESIDE[there]
    made = carry(read(script), _cluster(there), _said(account="project_465000001", walltime="00:20:00", **beside))
    assert isinstance(made, Carried) and line in made.script
    assert any(sentence.startswith(says) for sentence in made.advice)


def test_a_script_that_is_mended_at_home_has_its_changes_told_and_nothing_decided() -> None:
    """It says its own GPUs; a walltime that it leaves to the partition is nobody's decision."""
    with open(os.path.join(CASES, "carry", "mended-at-home.sh"), "rb") as file:
        made = carry(read(file.read()), _cluster("ncsa-delta"))
    assert isinstance(made, Carried) and made.plan is not None and made.plan.assumed == ()
    assert made.advice == ("changed: MPL301 one task, and so one torchrun, per node",)


def test_a_right_script_is_said_to_be_left_as_it_is() -> None:
    """Its reader need not compare the two."""
    path = os.path.join(CASES, "carry", "many.sh")
    with open(path, "rb") as file:
        foreign = read(file.read())
    made = carry(foreign, _cluster(foreign.site))
    assert isinstance(made, Carried) and made.unchanged and made.advice[-1].endswith("it was left as it is")


def test_another_size_of_the_world_is_told_also_where_the_old_launch_line_was_wrong() -> None:
    """What the old one says of its world counts where the processes do not fit it."""
    with open(os.path.join(CASES, "carry", "mended-at-home.sh"), "rb") as file:
        made = _carried(read(file.read()), "alcf-aurora")
    assert any("24 ranks where it had 8" in one for one in made.advice)


def test_an_option_with_another_value_is_not_told_as_left_out() -> None:
    """Only what the new request is silent on has been left out."""
    line = b"srun torchrun --nnodes=2 --nproc-per-node=4 --rdzv-backend=c10d --rdzv-endpoint=$H:29500 train.py\n"
    script = HEAD.replace(b"-N 2", b"-N 2 --mem=200G") + b"H=$(scontrol show hostnames | head -n 1)\n" + line
    advice = "\n".join(_carried(read(script), "ncsa-delta").advice)
    assert "--mem=200G (line 5) is --mem=0 now" in advice
    assert "says nothing of" in advice and "--mem=200G" not in advice.partition("says nothing of")[2]


def _own_lines(foreign: Foreign) -> list[bytes]:
    """Return the lines that hold nothing of the cluster: no directive, launcher, module, plumbing, rank variable, and
    no variable by which one maker's GPUs are picked.
    """
    taken = {number for region in foreign.regions for number in _numbers(foreign, region.span)}
    words = (b"RANK", b"WORLD_SIZE", b"scontrol", b"PBS_", b"SLURM_", b"PALS_", b"#!", b"ZE_AFFINITY", b"ROCR_VISIBLE")
    lines = foreign.source.split(b"\n")
    return [line for number, line in enumerate(lines, 1) if number not in taken and not any(w in line for w in words)]


def _numbers(foreign: Foreign, span: tuple[int, int]) -> range:
    first = foreign.source.count(b"\n", 0, span[0]) + 1
    return range(first, foreign.source.count(b"\n", 0, span[1]) + 2)


@pytest.mark.parametrize(
    ("path", "there"), random.Random(3).sample(_pairs(), 24), ids=lambda v: _id(v) if "/" in v else v
)
def test_there_and_back_the_worlds_are_the_same(path: str, there: str) -> None:
    """Carried to another cluster and back, a script that used whole nodes starts the same worlds as before."""
    here = os.path.basename(os.path.dirname(path))
    foreign = _home(_foreign(path), here)
    if not _uses_whole_nodes(foreign) or (os.path.basename(path), there) in NOT_THERE:
        return
    out = _carried(foreign, there)
    again = _home(read(out.script, path=path.encode()), there)
    names = {name: foreign.slots.text(name) for name in ("partition", "queue", "qos", "gpu") if name in foreign.slots}
    back = _carried(again, here, **names)
    assert _worlds(back.script, foreign, here) == _worlds(foreign.source, foreign, here)


def _uses_whole_nodes(foreign: Foreign) -> bool:
    kinds = {kind.gpus for kind in foreign.plan.allocation.node_kinds}
    ranks = foreign.slots.number("ranks_per_node")
    several = (foreign.slots.number("nodes") or 1) > 1
    return ranks is not None and kinds == {ranks} and several


@pytest.mark.parametrize(
    "line",
    [
        b"srun torchrun --nnodes=3 --nproc_per_node=4 --rdzv_backend=c10d --rdzv_endpoint=$H:1 train.py --a 'b c'",
        b"srun torchrun --nnodes=2 --rdzv_backend=c10d --rdzv_endpoint=$H:1 train.py --a 'b c'",
        b"srun torchrun --nproc_per_node=4 train.py --a 'b c'",
        b"torchrun --nnodes=2 --nproc_per_node=4 --rdzv_backend=c10d --rdzv_endpoint=$H:1 train.py --a 'b c'",
        b"srun torchrun --nnodes=2 --nproc_per_node=8 --rdzv_backend=c10d --rdzv_endpoint=$H:1 train.py --a 'b c'",
        b"srun torchrun --nnodes=2 --nproc_per_node=4 --master_addr=localhost --node_rank=0 train.py --a 'b c'",
        b"ibrun torchrun --nnodes=2 --nproc_per_node=4 --rdzv_backend=c10d --rdzv_endpoint=$H:1 train.py --a 'b c'",
        b"srun -n8 torchrun --nnodes=2 --nproc_per_node=4 --rdzv_backend=c10d --rdzv_endpoint=$H:1 train.py --a 'b c'",
        b"srun torchrun --nnodes=2 --nproc_per_node=4 --node_rank=$SLURM_NODEID --master_addr=$H train.py --a 'b c'",
        b"bash -c 'torchrun --nnodes=2 --nproc_per_node=4 --node_rank=$SLURM_NODEID --master_addr=$H train.py'",
        b"bash -c 'export RANK=$SLURM_PROCID LOCAL_RANK=$SLURM_LOCALID WORLD_SIZE=8; python train.py --a'",
        b'srun -n8 --ntasks-per-node=4 bash -c "RANK=$SLURM_PROCID LOCAL_RANK=0 WORLD_SIZE=8 python train.py --a"',
        b'srun bash -c "export R=$SLURM_PROCID; torchrun --nnodes=2 --nproc_per_node=4 --node_rank=$R train.py --a"',
    ],
)
def test_one_mistake_of_a_launch_line_is_mended_at_home(line: bytes) -> None:
    """Whatever the one mistake is, the training has its eight ranks in one world, and its arguments."""
    script = HEAD + b"H=$(scontrol show hostnames | head -n 1)\nexport H\n" + line + b"\n"
    foreign = read(script)
    made = carry(foreign, _cluster("nersc-perlmutter"))
    assert isinstance(made, Carried) and not made.unchanged
    assert [world[:2] for world in _worlds(made.script, foreign, "nersc-perlmutter")] == [(2, 8)]
    assert line[line.index(b"train.py") :] in made.script
    assert b"-A m1234_g" in made.script or b"--account=m1234_g" in made.script


def _many(there: str) -> Carried:
    with open(os.path.join(CASES, "carry", "many.sh"), "rb") as file:
        return _carried(read(file.read()), there)


def test_variables_of_the_old_scheduler_mean_the_same() -> None:
    """What kept lines use is set from the new scheduler's; what only a task knows is set in the task."""
    lines = _many("alcf-polaris").script.split(b"\n")
    assert b'SLURM_JOB_ID="${PBS_JOBID%%.*}"' in lines and b"SLURM_NNODES=2" in lines
    assert any(b"SLURM_PROCID=\\$PALS_RANKID; export RANK=\\$PALS_RANKID" in line for line in lines)
    assert b"python eval.py --nodes $SLURM_NNODES" in b"\n".join(lines)


def test_what_is_left_out_is_said_with_its_line() -> None:
    """Nothing that the user asked of the scheduler goes in silence."""
    advice = "\n".join(_many("alcf-polaris").advice)
    for says in (
        "line 6: --dependency",
        "line 7: --signal",
        "line 12: --reservation",
        "line 26: squeue",
        "/pscratch/sd",
    ):
        assert says in advice
    kept = _many("ncsa-delta").script
    assert b"#SBATCH --signal=B:USR1@120" in kept and b"friday" not in kept


def test_a_configuration_keeps_its_bytes() -> None:
    """A here-document that no shell of a task reads goes along as it is."""
    assert b'cat > ds.json <<\'J\'\n{"zero_optimization": {"stage": 3}}\nJ\n' in _many("alcf-polaris").script


def test_names_of_places_are_never_taken_over() -> None:
    """Account, QOS and partition of another cluster are asked for, not kept."""
    made = carry(read(HEAD + b"srun torchrun --nproc_per_node=4 a.py\n"), _cluster("purdue-anvil"))
    assert isinstance(made, Lacking) and "partition" in {one.slot for one in made.missing}
    out = _carried(read(HEAD + b"srun -N1 -n1 torchrun --nproc_per_node=4 a.py\n"), "ncsa-delta")
    assert b"m1234" not in out.script and b"regular" not in out.script


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b'for h in $(cat $PBS_NODEFILE); do ssh $h "torchrun --nnodes=2 --nproc_per_node=4 t.py" & done\nwait\n',
         "one by one"),
    ],
)  # fmt: skip
def test_what_cannot_be_carried_is_refused_with_its_line(body: bytes, says: str) -> None:
    """Nothing is guessed: one line says where and why."""
    with pytest.raises(Refused) as refused:
        _carried(read(b"#!/bin/bash\n#PBS -l select=2:ngpus=4\n" + body), "ncsa-delta")
    assert says in str(refused.value) and "line 3" in str(refused.value) and "\n" not in str(refused.value)


def test_what_stands_nowhere_any_more_is_named() -> None:
    source = HEAD.replace(b"-C gpu", b"-C gpu&hbm80g").replace(b"-q regular", b"-q premium")
    source += b"module load pytorch/2.1\nexport NCCL_SOCKET_IFNAME=hsn\n"
    source += (
        b"srun -N 2 torchrun --nnodes=2 --nproc_per_node=4 --rdzv_backend=c10d --rdzv_endpoint=$(hostname):29500 t.py\n"
    )
    advice = _carried(read(source, path=b"job.sh"), "ncsa-delta").advice
    assert "the new request says nothing of -C gpu&hbm80g (line 3), -q premium (line 4)" in advice
    assert any(one.startswith("taken out, as the old cluster's: module load pytorch/2.1 (line 9)") for one in advice)


def test_what_the_new_cluster_gets_too_is_not_called_lost() -> None:
    source = HEAD + b"srun -N 2 torchrun --nnodes=2 --nproc_per_node=4 --rdzv_backend=c10d "
    source += b"--rdzv_endpoint=$(hostname):29500 t.py\n"
    advice = _carried(read(source, path=b"job.sh"), "nersc-perlmutter").advice
    assert not any("says nothing of" in one or "taken out" in one for one in advice)
