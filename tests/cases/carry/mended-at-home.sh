#!/bin/bash
#SBATCH --partition=gpuA100x4
#SBATCH --account=abcd-delta-gpu
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=4
#SBATCH --gpus-per-node=4
#SBATCH --mem=200G
HOST=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
srun torchrun --nnodes=2 --nproc-per-node=4 --rdzv-backend=c10d \
    --rdzv-id=$SLURM_JOB_ID --rdzv-endpoint=$HOST:29500 train.py
