#!/bin/bash
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=2
#SBATCH --time=10:00
srun --cpu-bind=map_cpu:0,71 python toy.py
