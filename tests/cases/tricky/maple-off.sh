#!/bin/bash
# Tricky: the user switched Maple off for a script that does what it is meant to.
# maple: off
#SBATCH --nodes=1 --ntasks=1 --gpus-per-node=2
torchrun --standalone --nproc_per_node=2 train.py
