#!/bin/bash
#SBATCH -A m1234_g
#SBATCH -C gpu
#SBATCH -q shared
#SBATCH -n 1
#SBATCH -c 32
#SBATCH --gpus-per-task=1
#SBATCH -t 00:20:00

srun python train_single.py
