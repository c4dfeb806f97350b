#!/bin/bash
# Tricky: timeout, nice and time stand in front of the launcher.
#SBATCH --nodes=1 --ntasks=1 --gpus-per-node=2
time timeout -s INT 3500 nice -n 5 torchrun --standalone --nproc_per_node=2 train.py
