#!/bin/bash
# Wrong: a job for eight-GPU nodes in the partition with four.
# site: ncsa-delta
#SBATCH -A bbka-delta-gpu -p gpuA100x4 -t 00:10:00 --mem=60g
#SBATCH -N 2 --ntasks-per-node=1 --gpus-per-node=4
HEAD=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
srun torchrun --nnodes=2 --nproc_per_node=8 --rdzv_id=1 --rdzv_backend=c10d --rdzv_endpoint=$HEAD:29500 train.py
