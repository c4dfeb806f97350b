#!/bin/bash
# Tricky: --hostfile names eight lines and --ppn 1: PALS takes each host once.
# lab: MAPLE_MPI=pals
# lab: no (what PALS does with repeated hosts is not published)
#PBS -l select=2:ncpus=16:mpiprocs=4:ngpus=4
#PBS -l place=scatter
#PBS -l walltime=00:30:00
cd $PBS_O_WORKDIR
HEAD=$(head -n 1 $PBS_NODEFILE)
mpiexec -n 2 --ppn 1 --hostfile $PBS_NODEFILE torchrun --nnodes=2 --nproc_per_node=4 --rdzv_backend=c10d --rdzv_id=1 --rdzv_endpoint=$HEAD:29500 train.py
