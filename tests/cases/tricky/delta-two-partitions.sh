#!/bin/bash
# Tricky: two partitions are given; four GPUs fit both.
# site: ncsa-delta
#SBATCH -A bbka-delta-gpu -p gpuA40x4,gpuA100x4 -t 00:10:00
#SBATCH -N 1 --ntasks-per-node=1 --gpus-per-node=4 --mem=60g
srun torchrun --standalone --nproc_per_node=4 train.py
