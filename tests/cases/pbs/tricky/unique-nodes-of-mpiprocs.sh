#!/bin/bash
# Tricky: the node file has eight lines, but the nodes are counted by sort -u: two.
# lab: MAPLE_MPI=hydra
#PBS -l select=2:ncpus=16:mpiprocs=4:ngpus=4
#PBS -l place=scatter
#PBS -l walltime=00:30:00
cd $PBS_O_WORKDIR
NNODES=$(sort -u $PBS_NODEFILE | wc -l)
HEAD=$(sort -u $PBS_NODEFILE | head -n 1)
sort -u $PBS_NODEFILE > hosts
mpiexec -f hosts -n $NNODES -ppn 1 torchrun --nnodes=$NNODES --nproc_per_node=4 \
    --rdzv_backend=c10d --rdzv_id=11 --rdzv_endpoint=$HEAD:29500 train.py
