#!/bin/bash
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=1
#SBATCH --time=10:00
set -eo pipefail
srun python toy.py | tee train.log
tar cf - train.log | dd of=/dev/full status=none
