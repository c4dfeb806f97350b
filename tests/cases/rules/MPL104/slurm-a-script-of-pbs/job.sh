#!/bin/bash
#PBS -N train
#PBS -l select=2
#PBS -l walltime=01:00:00
# $PBS_JOBID names the run
cd "${PBS_O_WORKDIR:-.}"
HEAD=$(head -n 1 $PBS_NODEFILE)
mpiexec -n 2 -ppn 1 torchrun --nnodes=2 --nproc-per-node=4 --rdzv-backend=c10d --rdzv-endpoint=$HEAD:29500 train.py
