#!/bin/bash
# Wrong: four workers on nodes with three GPUs.
# site: tacc-lonestar6
#SBATCH -p gpu-a100 -N 1 -n 1 -t 00:10:00
torchrun --standalone --nproc_per_node=4 train.py
