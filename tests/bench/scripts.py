"""Batch scripts of any length: what people write around a launch line, over and over."""

from __future__ import annotations

HEAD = """\
#!/bin/bash
#SBATCH --job-name=bench
#SBATCH --account=abcd-delta-gpu
#SBATCH --partition=gpuA100x4
#SBATCH --nodes=2
#SBATCH --ntasks-per-node={tasks}
#SBATCH --cpus-per-task=16
#SBATCH --gpus-per-node=4
#SBATCH --mem=200G --time=02:00:00
module load cuda
export MASTER_ADDR={master} MASTER_PORT=29500
"""
TAIL = """\
srun torchrun --nnodes=$SLURM_NNODES --nproc-per-node=4 --rdzv-backend=c10d --rdzv-id=$SLURM_JOB_ID \\
    --rdzv-endpoint=$MASTER_ADDR:$MASTER_PORT train.py --config configs/base.yaml
"""
STATIC = """\
srun torchrun --nnodes=$SLURM_NNODES --nproc-per-node=4 --master-addr=$MASTER_ADDR --master-port=$MASTER_PORT \\
    --node-rank=$SLURM_NODEID train.py --config configs/base.yaml
"""
FIRST_NODE = '$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)'
AROUND = (
    'export SETTING_{0}="value {0}"',
    "# {0}: why the next lines are there",
    'echo "step {0} of job $SLURM_JOB_ID on $(hostname)"',
    'if [ -d "$HOME/cache_{0}" ]; then CACHE_{0}=$HOME/cache_{0}; else CACHE_{0}=/tmp; fi',
    "mkdir -p logs/run_{0} && cp -n config_{0}.yaml logs/run_{0}/",
    "COUNT_{0}=$(( {0} + ${{#SETTING_0}} ))",
    "OPTIONS_{0}=(--lr 1e-4 --name \"run {0}\" --out 'logs/run {0}')",
    "for part in a b c; do touch logs/run_{0}/$part; done",
)


def script(lines: int, mistakes: int = 0) -> bytes:
    """Return a script of so many lines with none, one or three mistakes.

    The first: a torchrun for every GPU, and each of them starts four workers. Then: localhost is the master of two
    nodes, and the batch shell expands the node rank.
    """
    head = HEAD.format(tasks=4 if mistakes else 1, master="localhost" if mistakes > 1 else FIRST_NODE)
    tail = STATIC if mistakes > 1 else TAIL
    more = max(lines - head.count("\n") - tail.count("\n"), 0)
    body = "".join(AROUND[number % len(AROUND)].format(number) + "\n" for number in range(more))
    return (head + body + tail).encode()


def plain(lines: int) -> bytes:
    """Return a script that starts nothing Maple knows of."""
    body = "".join(f"echo step {number}\n" for number in range(lines - 3))
    return f"#!/bin/bash\n#SBATCH --nodes=2\n{body}./simulate input.dat\n".encode()
