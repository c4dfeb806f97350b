#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=1 --gpus=4
srun torchrun --nnodes=$SLURM_NNODES --nproc-per-node=4 --rdzv-id=$SLURM_JOB_ID --rdzv-backend=c10d \
    --rdzv-endpoint=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1):29500 train.py
