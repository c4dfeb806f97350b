#!/bin/bash
#SBATCH --nodes=64
#SBATCH --ntasks-per-node=2
#SBATCH --time=10:00
srun python toy.py
