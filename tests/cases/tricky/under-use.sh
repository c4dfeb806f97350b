#!/bin/bash
# Tricky: four GPUs asked for, two used. Wasteful, but right.
#SBATCH --nodes=1 --ntasks=1 --gpus-per-node=4
torchrun --standalone --nproc_per_node=2 train.py
