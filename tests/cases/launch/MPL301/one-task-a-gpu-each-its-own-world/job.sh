#!/bin/bash
#SBATCH -N1 --ntasks-per-node=4 --gpus-per-task=1
srun torchrun --standalone --nproc_per_node=1 train.py
