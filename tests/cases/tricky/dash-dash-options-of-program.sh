#!/bin/bash
# Tricky: behind -- everything belongs to the program.
#SBATCH --nodes=1 --ntasks=1 --gpus-per-node=2
torchrun --standalone --nproc_per_node=2 -- train.py --nproc_per_node=8
