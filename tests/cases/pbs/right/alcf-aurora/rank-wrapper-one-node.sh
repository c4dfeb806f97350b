#!/bin/bash
#PBS -l select=1
#PBS -l walltime=00:15:00
#PBS -l filesystems=home:flare
#PBS -A AlphaTrain
#PBS -q debug
#PBS -N one-node

# The wrapper beside this script turns what PALS says into what torch reads.
cd "$PBS_O_WORKDIR" || exit 1
module load frameworks

export MASTER_ADDR=localhost
export MASTER_PORT=29512
export WORLD_SIZE=12

mpiexec -n 12 -ppn 12 --line-buffer ./set_ranks.sh python train.py --config small.json
