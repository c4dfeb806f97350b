#!/bin/bash
# Tricky: no -ppn: the host file has a line for each node, so each gets one torchrun.
# lab: MAPLE_MPI=hydra
#PBS -l select=2:ncpus=8:ngpus=2:mpiprocs=2
#PBS -l place=scatter
#PBS -l walltime=00:30:00
cd $PBS_O_WORKDIR
awk '!seen[$1]++' $PBS_NODEFILE > one_each
HEAD=$(head -1 one_each)
mpiexec -hostfile one_each -n 2 torchrun --nnodes 2 --nproc_per_node 2 --rdzv_backend c10d --rdzv_id 9 --rdzv_endpoint $HEAD:29500 train.py
