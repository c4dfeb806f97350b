#!/bin/bash
#SBATCH --job-name=ddp
#SBATCH --account=bdaa-dtai-gh
#SBATCH --partition=ghx4
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=4
#SBATCH --cpus-per-task=72
#SBATCH --mem=360g
#SBATCH --time=01:00:00

set -euo pipefail
head_node=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
head_node_ip=$(srun -N1 -n1 -w "$head_node" hostname -I | awk '{print $1}')

srun torchrun --nnodes="$SLURM_NNODES" --nproc_per_node="$SLURM_GPUS_PER_NODE" --rdzv_id="$SLURM_JOB_ID" --rdzv_backend=c10d --rdzv_endpoint="$head_node_ip:29500" train.py
