#!/bin/bash
#SBATCH -A bbka-delta-gpu
#SBATCH -p gpuA100x8
#SBATCH -N 1
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=8
#SBATCH --mem=500g
#SBATCH -t 12:00:00

srun --gpu-bind=none torchrun --standalone --nproc_per_node=8 train.py
