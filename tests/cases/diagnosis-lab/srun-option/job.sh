#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --time=10:00
srun --ntasks_per_node=1 --cpus_per_task=2 python toy.py
