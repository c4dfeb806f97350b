#!/bin/bash
# Tricky: --nproc_per_node=gpu counts the devices at run time.
#SBATCH --nodes=1 --ntasks=1 --gpus-per-node=3
torchrun --standalone --nproc_per_node=gpu train.py
