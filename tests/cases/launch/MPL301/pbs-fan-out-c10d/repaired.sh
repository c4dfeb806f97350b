#!/bin/bash
#PBS -A AlphaTrain
#PBS -q debug
#PBS -l select=2
#PBS -l walltime=00:30:00
#PBS -l filesystems=home:eagle
cd $PBS_O_WORKDIR
NNODES=$(wc -l < $PBS_NODEFILE)
HEAD=$(head -n 1 $PBS_NODEFILE)
mpiexec --cpu-bind=none -n 2 --ppn 1 torchrun --nnodes=$NNODES --nproc_per_node=4 \
    --rdzv_backend=c10d --rdzv_id=1 --rdzv_endpoint=$HEAD:29500 train.py
