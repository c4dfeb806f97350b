#!/bin/bash
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=1
#SBATCH --time=10:00
ulimit -f 1000
srun --propagate=FSIZE python saves.py
