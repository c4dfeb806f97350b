#!/bin/bash
# Tricky: the same master port twice; the first launch has ended before the second begins.
#SBATCH --nodes=1 --ntasks=1 --gpus-per-node=2
torchrun --nproc_per_node=2 --master_port=29500 a.py && torchrun --nproc_per_node=2 --master_port=29500 b.py
