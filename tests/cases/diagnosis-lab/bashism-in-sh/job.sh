#!/bin/sh
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=2
#SBATCH --time=10:00
options=(--epochs 4)
srun python toy.py
