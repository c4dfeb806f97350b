#!/bin/bash
#SBATCH -A abc123
#SBATCH -p batch
#SBATCH -N 2
#SBATCH -t 01:00:00
srun -N4 -n32 -c7 --gpus-per-task=1 python train.py
