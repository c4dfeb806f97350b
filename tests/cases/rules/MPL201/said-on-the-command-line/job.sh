#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --partition=gpu-a100
ibrun torchrun --nnodes=2 --nproc-per-node=3 --rdzv-backend=c10d --rdzv-endpoint="$(hostname):29500" train.py
