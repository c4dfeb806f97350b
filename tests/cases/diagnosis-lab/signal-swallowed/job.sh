#!/bin/bash
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=1
#SBATCH --time=00:01:00
#SBATCH --signal=B:USR1@30
trap 'echo "USR1 came: going on"' USR1
srun python toy.py 90 &
while ! wait; do :; done
