#!/bin/csh
# Tricky: a csh script; bash's rules do not hold here.
#SBATCH --nodes=1 --ntasks=1 --gpus-per-node=2
# lab: no (no csh there)
setenv OMP_NUM_THREADS 4
set n = 2
torchrun --standalone --nproc_per_node=$n train.py
