#!/bin/bash
# Tricky: the second launch only runs when the first failed.
#SBATCH --nodes=1 --ntasks=1 --gpus-per-node=2
torchrun --standalone --nproc_per_node=2 train.py --resume || torchrun --standalone --nproc_per_node=2 train.py
