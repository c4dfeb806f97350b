#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --time=10:00
export PATH=/usr/bin:/bin
srun torchrun --standalone --nproc_per_node=2 train.py
