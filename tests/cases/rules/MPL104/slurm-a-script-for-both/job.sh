#!/bin/bash
#PBS -l select=2
#PBS -l walltime=01:00:00
if [ -n "$PBS_NODEFILE" ]; then
    HEAD=$(head -n 1 $PBS_NODEFILE)
else
    HEAD=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
fi
mpiexec -n 2 -ppn 1 torchrun --nnodes=2 --nproc-per-node=4 --rdzv-backend=c10d --rdzv-endpoint=$HEAD:29500 train.py
