#!/bin/bash
# Tricky: --ntasks=8 without srun starts the launcher once, not eight times.
#SBATCH --nodes=1 --ntasks=8 --gpus-per-node=2
torchrun --standalone --nproc_per_node=2 train.py
