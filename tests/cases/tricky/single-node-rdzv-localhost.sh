#!/bin/bash
# Tricky: c10d with localhost:0 on one node takes a free port.
#SBATCH --nodes=1 --ntasks=1 --gpus-per-node=2
torchrun --nnodes=1 --nproc_per_node=2 --rdzv_backend=c10d --rdzv_endpoint=localhost:0 train.py
