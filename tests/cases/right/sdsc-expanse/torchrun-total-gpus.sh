#!/usr/bin/env bash
#SBATCH --account=abc123
#SBATCH --partition=gpu
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=40
#SBATCH --gpus=8
#SBATCH --mem=0
#SBATCH --time=10:00:00

head_node="$(scontrol show hostnames "${SLURM_JOB_NODELIST}" | head -n 1)"
srun torchrun --nnodes="${SLURM_NNODES}" --nproc_per_node=4 \
  --rdzv_id="${SLURM_JOB_ID}" --rdzv_backend=c10d --rdzv_endpoint="${head_node}:29500" \
  train.py   # trailing words of a comment: torchrun --nnodes=7
