#!/bin/bash
#SBATCH --ntasks=2 --ntasks-per-node=1 --gpus-per-node=2
srun torchrun --nnodes=$SLURM_NODES --nproc-per-node=2 --rdzv-backend=c10d --rdzv-endpoint=$(hostname):29411 --rdzv-id=1 train.py
