#!/bin/bash
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=2
#SBATCH --time=10:00
export PATH=$HOME/miniconda3/envs/llm/bin
/usr/bin/srun python toy.py
