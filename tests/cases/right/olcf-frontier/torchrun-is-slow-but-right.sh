#!/bin/bash
#SBATCH -p batch
#SBATCH -A abc123
#SBATCH -t 01:00:00
#SBATCH -N 2

head=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n1)
srun -N2 -n2 --ntasks-per-node=1 -c56 --gpus-per-node=8 torchrun --nnodes=2 --nproc_per_node=8 --rdzv_id=1 --rdzv_backend=c10d --rdzv_endpoint=$head:29500 train.py
