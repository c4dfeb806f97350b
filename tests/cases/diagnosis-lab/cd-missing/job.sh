#!/bin/bash
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=2
#SBATCH --time=10:00
set -euo pipefail
cd /scratch/projects/llm-pretrain
srun python toy.py
