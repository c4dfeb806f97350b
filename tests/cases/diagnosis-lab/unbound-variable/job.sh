#!/bin/bash
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=2
#SBATCH --time=10:00
set -euo pipefail
srun python toy.py --data $DATA_ROOT/train
