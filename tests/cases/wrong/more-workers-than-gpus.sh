#!/bin/bash
# Wrong: eight workers on a node with four GPUs.
#SBATCH --nodes=1 --ntasks-per-node=1 --gpus-per-node=4
srun torchrun --standalone --nproc_per_node=8 train.py
