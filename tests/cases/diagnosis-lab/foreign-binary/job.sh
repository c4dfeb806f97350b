#!/bin/bash
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=2
#SBATCH --time=10:00
set -e
./tokenize corpus
srun python toy.py
