#!/bin/bash
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=2
#SBATCH --mem=1000M
#SBATCH --time=10:00
srun --mem=3000M python toy.py
