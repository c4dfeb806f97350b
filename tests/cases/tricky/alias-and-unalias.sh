#!/bin/bash
# Tricky: an alias has no effect in a script unless expand_aliases is on.
#SBATCH --nodes=1 --ntasks=1 --gpus-per-node=2
alias torchrun='torchrun --nproc_per_node=64'
torchrun --standalone --nproc_per_node=2 train.py
