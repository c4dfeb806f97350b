#!/bin/bash
# Tricky: a directive behind the first command is a comment.
#SBATCH --nodes=1 --ntasks=1 --gpus-per-node=2
set -e
#SBATCH --nodes=4 --ntasks-per-node=8
torchrun --standalone --nproc_per_node=2 train.py
