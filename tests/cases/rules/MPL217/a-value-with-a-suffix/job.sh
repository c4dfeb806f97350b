#!/bin/bash
#SBATCH --nodes=1k
#SBATCH --time=UNLIMITED
#SBATCH --mem=0
#SBATCH --ntasks=$N
srun python train.py
