#!/bin/bash
#PBS -l select=2:ncpus=16:mpiprocs=4:ngpus=4
#PBS -l place=scatter
#PBS -l walltime=00:30:00
cd $PBS_O_WORKDIR
NNODES=$(wc -l < $PBS_NODEFILE)
HEAD=$(head -n 1 $PBS_NODEFILE)
uniq $PBS_NODEFILE > hosts
mpiexec -f hosts -n 2 -ppn 1 torchrun --nnodes=$NNODES --nproc_per_node=4 --rdzv_backend=c10d --rdzv_id=1 --rdzv_endpoint=$HEAD:29500 train.py
