#!/bin/bash
# Tricky: env sets the variables; the launcher is its argument.
#SBATCH --nodes=1 --ntasks=1 --gpus-per-node=2
env OMP_NUM_THREADS=4 NCCL_DEBUG=WARN torchrun --standalone --nproc_per_node=2 train.py
