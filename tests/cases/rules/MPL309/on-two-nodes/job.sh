#!/bin/bash
#SBATCH --nodes=2
#SBATCH --gpus-per-node=4
srun --ntasks=2 --ntasks-per-node=1 torchrun --standalone --nproc-per-node=4 train.py
