#!/bin/bash
# Tricky: counts and port stand in another file.
# lab: MAPLE_MPI=hydra
#PBS -l select=2:ncpus=8:ngpus=2
#PBS -l place=scatter
#PBS -l walltime=00:30:00
cd $PBS_O_WORKDIR
source ./cluster.inc
mpiexec -n $NODES -ppn 1 torchrun --nnodes=$NODES --nproc_per_node=$EACH --rdzv_backend=c10d --rdzv_id=4 \
    --rdzv_endpoint=$HEAD:$PORT train.py
