"""Right scripts in the style of each site's documents, to be carried elsewhere, and broken ones made of them.

Every part is known to whoever makes one: nodes, program, the user's own lines before and behind the launch.
"""

from __future__ import annotations

import random
from typing import NamedTuple

from tests.new567.jobs import Job
from tests.reality.operators import MEANT_TO_BREAK
from tests.reality.pbs_operators import PBS_MEANT_TO_BREAK

PORT = 29500
# site -> the lines of its directives; {gpus} on a node, {total} of the job
HEADS: dict[str, tuple[str, ...]] = {
    "tacc-lonestar6": ("-J train", "-p gpu-a100", "-N {nodes}", "--ntasks-per-node={tasks}", "-t {time}", "-A TG-OLD1"),
    "tacc-stampede3": ("-J train", "-p h100", "-N {nodes}", "--ntasks-per-node={tasks}", "-t {time}", "-A TG-OLD2"),
    "tacc-vista": ("-J train", "-p gh", "-N {nodes}", "--ntasks-per-node={tasks}", "-t {time}", "-A TG-OLD3"),
    "nersc-perlmutter": ("-A m9999_g", "-C gpu", "-q regular", "--nodes={nodes}", "--ntasks-per-node={tasks}",
                         "--gpus-per-node={gpus}", "--cpus-per-task={cpus}", "-t {time}"),
    "ncsa-delta": ("--account=bold-delta-gpu", "--partition=gpuA100x4", "--nodes={nodes}", "--ntasks-per-node={tasks}",
                   "--gpus-per-node={gpus}", "--cpus-per-task={cpus}", "--mem=200g", "--time={time}"),
    "ncsa-deltaai": ("--account=bold-dtai-gh", "--partition=ghx4", "--nodes={nodes}", "--ntasks-per-node={tasks}",
                     "--gpus-per-node={gpus}", "--cpus-per-task={cpus}", "--mem=360g", "--time={time}"),
    "purdue-anvil": ("-A old220051-gpu", "-p gpu", "--nodes={nodes}", "--gpus-per-node={gpus}",
                     "--ntasks-per-node={tasks}", "--cpus-per-task={cpus}", "--time={time}", "-J ddp"),
    "psc-bridges2": ("-N {nodes}", "-p GPU", "--gpus=h100-80:{total}", "--ntasks-per-node={tasks}", "-t {time}"),
    "olcf-frontier": ("-A old101", "-N {nodes}", "-p batch", "-t {time}", "--ntasks-per-node={tasks}",
                      "--gpus-per-node={gpus}", "-c {cpus}"),
    "sdsc-expanse": ("--account=old100", "--partition=gpu", "--nodes={nodes}", "--ntasks-per-node={tasks}",
                     "--gpus={total}", "--cpus-per-task={cpus}", "--mem=200G", "--time={time}"),
    "alcf-aurora": ("-A OldProject", "-q {queue}", "-l select={nodes}", "-l place=scatter", "-l walltime={time}",
                    "-l filesystems=home:flare"),
    "alcf-polaris": ("-A OldProject", "-q preemptable", "-l select={nodes}:system=polaris", "-l place=scatter",
                     "-l walltime={time}", "-l filesystems=home:eagle"),
}  # fmt: skip
GPUS = {"tacc-lonestar6": 3, "tacc-vista": 1, "psc-bridges2": 8, "olcf-frontier": 8, "alcf-aurora": 12}  # else 4
MODULES = {
    "tacc-lonestar6": ("module load python3",), "tacc-stampede3": ("module load python",),
    "tacc-vista": ("module load gcc cuda", "module load python3"), "nersc-perlmutter": ("module load pytorch/2.6.0",),
    "ncsa-delta": ("module load pytorch-conda/2.8",), "ncsa-deltaai": ("module load python/miniforge3_pytorch/2.7.0",),
    "purdue-anvil": ("module purge", "module load modtree/gpu"), "psc-bridges2": ("module load anaconda3",),
    "olcf-frontier": ("module load PrgEnv-gnu/8.6.0", "module load rocm/6.3.1"),
    "sdsc-expanse": ("module reset", "module load gpu"), "alcf-aurora": ("module load frameworks",),
    "alcf-polaris": ("module use /soft/modulefiles", "module load conda", "conda activate"),
}  # fmt: skip
OWN = ("/", "frameworks")  # in a module that no other site has
PBS = ("alcf-aurora", "alcf-polaris")
IBRUN = ("tacc-lonestar6", "tacc-stampede3", "tacc-vista")
# One mistake of the launch line, after which the directives still say what was meant.
MISTAKES = {
    "slurm": (
        "other-nnodes", "no-node-rank", "no-master", "no-nnodes", "no-ssh-flag", "double-quotes", "no-launcher",
        "srun-to-ibrun", "master-is-localhost", "fixed-node-rank",
    ),
    "pbs": (
        "other-nnodes", "no-node-rank", "no-master", "no-nnodes", "no-ssh-flag", "double-quotes", "master-is-localhost",
        "fixed-node-rank", "mpiexec-to-srun", "no-mpiexec", "counts-of-slurm",
    ),
}  # fmt: skip
USERS = ("export WANDB_MODE=offline", 'export RUN_TAG="try 7 of $LOGNAME"', "mkdir -p runs/$RUN_NAME", "ulimit -c 0",
         "export TOKENIZERS_PARALLELISM=false")  # fmt: skip
AFTER = 'echo "finished with $?" > finished.log'


class Source(NamedTuple):
    """A script, where it ran, the user's lines in it that stay, and the site's that do not."""

    site: str
    script: bytes
    stays: tuple[str, ...]
    goes: tuple[str, ...]


def scheduler(site: str) -> str:
    """Return "slurm" or "pbs"."""
    return "pbs" if site in PBS else "slurm"


def source(site: str, job: Job, chance: random.Random) -> Source:
    """Return a right script of *site* that starts the program of *job* on as many nodes, all their GPUs."""
    gpus = GPUS.get(site, 4)
    static = "'" not in job.program and chance.random() < 0.4 and site not in ("tacc-stampede3",)
    told = dict(nodes=job.nodes, gpus=gpus, total=gpus * job.nodes, tasks=1, time=job.walltime,
                cpus=16, queue="debug" if job.nodes < 2 and job.minutes <= 60 else "capacity")  # fmt: skip
    prefix = "#PBS" if site in PBS else "#SBATCH"
    own = [line for line in MODULES[site] if any(word in line for word in OWN)]
    goes = (*own, *(f"{prefix} {line.format(**told)}" for line in HEADS[site] if "old" in line.lower()))
    users = tuple(chance.sample(USERS, 2)) + _of_model(job)
    lines = ["#!/bin/bash", *(f"{prefix} {line.format(**told)}" for line in HEADS[site]), ""]
    lines += ["cd $PBS_O_WORKDIR"] if site in PBS else []
    lines += [*MODULES[site], "", *users, *_master(site), *_launch(site, job, gpus, static), "", AFTER]
    return Source(site, ("\n".join(lines) + "\n").encode(), (*users, AFTER), goes)


def broken(one: Source, nodes: int, chance: random.Random) -> Source | None:
    """Return the script with one mistake, None where none of them fits it."""
    kind = scheduler(one.site)
    operators = PBS_MEANT_TO_BREAK if kind == "pbs" else MEANT_TO_BREAK
    for name in chance.sample(MISTAKES[kind], len(MISTAKES[kind])):
        script = operators[name](one.script, chance)
        if script and script != one.script and not _harmless(name, script, nodes) and _stays(one, script):
            return one._replace(script=script)
    return None


def _harmless(name: str, script: bytes, nodes: int) -> bool:
    """Tell whether a mistake is none: another word for what stood there, or only a port gone that is the usual one."""
    still = (b"--master_addr=$HEAD", b"--main_process_ip $HEAD", b"--rdzv_endpoint=$HEAD")
    return f"--nnodes={nodes} ".encode() in script or name == "no-master" and any(one in script for one in still)


def _stays(one: Source, script: bytes) -> bool:
    return all(line.encode() in script for line in one.stays)


def _of_model(job: Job) -> tuple[str, ...]:
    return ("export HF_TOKEN=$(cat hf_token)",) if job.model == "llama-3.1-8b" else ()


def _master(site: str) -> list[str]:
    if site in PBS:
        return ["export HEAD=$(head -n 1 $PBS_NODEFILE)", "export NNODES=$(wc -l < $PBS_NODEFILE)"]
    return [
        'export HEAD=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)',
        "export NNODES=$SLURM_NNODES",
    ]


def _outer(site: str, nodes: int) -> tuple[str, str]:
    """Return what starts one task on each node, and the variable in which that task finds its node's number."""
    if site in PBS:
        return "mpiexec -n $NNODES --ppn 1 --cpu-bind none", "PALS_NODEID"
    return ("ibrun", "PMI_RANK") if site in IBRUN else ("srun", "SLURM_NODEID")


def _launch(site: str, job: Job, gpus: int, static: bool) -> list[str]:
    outer, number = _outer(site, job.nodes)
    program = job.program
    bare = program.split(" ", 1)[1] if program.startswith("python") else program
    bare = bare.removeprefix("-u ")
    quoted = "'" in bare
    if job.paradigm == "accelerate-ddp":
        inner = (
            f"accelerate launch --multi_gpu --num_machines $NNODES --num_processes {gpus * job.nodes} "
            f"--machine_rank ${number} --main_process_ip $HEAD --main_process_port {PORT} {bare}"
        )
        return _shell(outer, inner, bare) if not quoted else _script(outer, inner)
    if job.paradigm == "zero3" and site not in IBRUN:
        hosts = "sort -u $PBS_NODEFILE" if site in PBS else 'scontrol show hostnames "$SLURM_JOB_NODELIST"'
        listed = [f"export HOSTS=$PWD/hosts.{site}", f"{hosts} | sed 's/$/ slots={gpus}/' > $HOSTS"]
        inner = (
            f"deepspeed --hostfile=$HOSTS --no_ssh --node_rank=${number} --master_addr=$HEAD "
            f"--master_port={PORT} {bare}"
        )
        return listed + (_shell(outer, inner, bare) if not quoted else _script(outer, inner))
    if static and not quoted:
        inner = (
            f"torchrun --nnodes=$NNODES --nproc_per_node={gpus} --node_rank=${number} --master_addr=$HEAD "
            f"--master_port={PORT} {bare}"
        )
        return _shell(outer, inner, bare)
    job_id = "${PBS_JOBID%%.*}" if site in PBS else "$SLURM_JOB_ID"
    return [
        f"{outer} torchrun --nnodes=$NNODES --nproc_per_node={gpus} --rdzv_id={job_id} --rdzv_backend=c10d "
        f"--rdzv_endpoint=$HEAD:{PORT} {bare}"
    ]


def _shell(outer: str, inner: str, bare: str) -> list[str]:
    return [f"{outer} bash -c '{inner}'"]


def _script(outer: str, inner: str) -> list[str]:
    """Words with single quotes go into a file of their own, as people do."""
    return ["cat > node.sh <<'EOF'", inner, "EOF", f"{outer} bash node.sh"]
