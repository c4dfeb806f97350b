#!/bin/bash
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=2
#SBATCH --time=10:00
set -e
unset -f module
module load cuda/12.4 nccl
srun python toy.py
