#!/bin/bash
# Tricky: accelerate with one process has no --multi_gpu and needs none.
#SBATCH --nodes=1 --ntasks=1 --gpus-per-node=1
accelerate launch --num_processes 1 train.py
