#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=4 --cpus-per-task=16
srun cp data.tar /tmp/ &
wait
srun torchrun --nnodes=2 --nproc-per-node=4 --rdzv-id=$SLURM_JOB_ID --rdzv-backend=c10d \
    --rdzv-endpoint=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1):29500 train.py
