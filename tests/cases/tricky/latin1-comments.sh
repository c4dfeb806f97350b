#!/bin/bash
# Tricky: a comment in Latin-1 (über, café) that is no UTF-8 at all.
#SBATCH --nodes=1 --ntasks=1 --gpus-per-node=2
# Grüße
torchrun --standalone --nproc_per_node=2 train.py --name café
