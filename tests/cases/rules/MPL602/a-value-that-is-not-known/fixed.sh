#!/bin/bash
#PBS -l select=2:ncpus=8:ngpus=4,place=scatter
export STEPS=$(date +%s)
cd "$PBS_O_WORKDIR" && mpiexec -n 8 python train.py --steps $STEPS
