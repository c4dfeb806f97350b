#!/bin/bash
#SBATCH -N1 --gpus-per-node=4
srun torchrun --standalone --nproc_per_node=8 train.py
