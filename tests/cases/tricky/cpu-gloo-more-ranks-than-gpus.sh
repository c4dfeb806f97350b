#!/bin/bash
# Tricky: no GPU is asked for and eight workers run on CPUs with gloo.
#SBATCH --nodes=1 --ntasks=1 --cpus-per-task=8
torchrun --standalone --nproc_per_node=8 train.py --backend gloo --device cpu
