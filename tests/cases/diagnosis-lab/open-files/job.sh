#!/bin/bash
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=1
#SBATCH --time=10:00
ulimit -n 64
srun --propagate=NOFILE python opens.py
