#!/bin/bash
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=1
#SBATCH --time=10:00
export HF_HUB_OFFLINE=1
srun python hub.py
