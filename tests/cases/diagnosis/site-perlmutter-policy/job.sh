#!/bin/bash
#SBATCH -A m4012_g
#SBATCH -q regular
#SBATCH -N 2
#SBATCH --gpus-per-node=4
#SBATCH --ntasks-per-node=4
#SBATCH -t 02:00:00
module load pytorch/2.6.0
srun python train.py
