#!/bin/bash
#SBATCH -N1 --ntasks-per-node=4 --gpus-per-node=4
srun torchrun --nproc_per_node=4 train.py
