#!/bin/bash
#SBATCH -N1 -n1 -t 1:00:00 -p gpu-a100
torchrun --standalone --nproc_per_node=4 train.py
