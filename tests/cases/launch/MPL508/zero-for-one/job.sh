#!/bin/bash
#SBATCH --nodes=1 --ntasks-per-node=1 --cpus-per-task=8 --gpus-per-node=4
srun torchrun --nnodes=1 --nproc_per_node=4 --rdzv_id=7 --rdzv_backend=c10d --rdzv_endpoint=localhost:0 train.py
