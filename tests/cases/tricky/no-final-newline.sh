#!/bin/bash
# Tricky: no newline at the end of the file, and the launch line is the last one.
#SBATCH --nodes=1 --ntasks=1 --gpus-per-node=2
torchrun --standalone --nproc_per_node=2 train.py