#!/bin/bash
# Tricky: two nodes, but the training wants only the first: world and processes agree.
#SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=2
srun -N1 -n1 torchrun --standalone --nproc_per_node=2 train.py
