#!/bin/bash
#SBATCH --nodes=2
#SBATCH --partition=batch
#SBATCH --ntasks-per-node=8
#SBATCH --cpus-per-task=16
#SBATCH --core-spec=0
#SBATCH --time=60
srun --ntasks=2 --ntasks-per-node=1 torchrun --nnodes=2 --nproc-per-node=4 --rdzv-backend=c10d --rdzv-endpoint="$(hostname):29500" train.py
