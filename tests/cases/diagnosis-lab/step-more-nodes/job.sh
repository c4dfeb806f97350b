#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --time=10:00
srun --nodes=4 --ntasks=4 python toy.py
