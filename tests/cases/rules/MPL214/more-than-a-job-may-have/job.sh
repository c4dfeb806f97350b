#!/bin/bash
#SBATCH --partition=GPU-shared
#SBATCH --gpus=v100-32:8
srun --ntasks=2 --ntasks-per-node=1 torchrun --nnodes=2 --nproc-per-node=4 --rdzv-backend=c10d --rdzv-endpoint="$(hostname):29500" train.py
