#!/bin/bash
#PBS -l nodes=2
PBS_NODEFILE=hosts
srun hostname > $PBS_NODEFILE
srun --ntasks=2 --ntasks-per-node=1 torchrun --nnodes=2 --nproc-per-node=4 --rdzv-backend=c10d --rdzv-endpoint="$(hostname):29500" train.py
