#!/bin/bash
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=2
#SBATCH --time=10:00
export PATH=/usr/bin:/bin
source $HOME/venvs/llm/bin/activate
srun python3 train.py
