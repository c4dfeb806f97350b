#!/bin/bash
#SBATCH -J c10d
#SBATCH -p gpu-a100
#SBATCH -N 3
#SBATCH --ntasks-per-node=1
#SBATCH -t 08:00:00

MASTER=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n1)
ibrun bash -c "torchrun --nnodes=$SLURM_NNODES --nproc-per-node=3 --rdzv-id=$SLURM_JOB_ID --rdzv-backend=c10d --rdzv-endpoint=$MASTER:29500 train.py --batch 32"
