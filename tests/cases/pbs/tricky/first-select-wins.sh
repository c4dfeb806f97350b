#!/bin/bash
# Tricky: select twice. In a script the first one holds, so there are two nodes, as the lines below say.
# lab: MAPLE_MPI=hydra
#PBS -l select=2:ncpus=8:ngpus=2:mpiprocs=1
#PBS -l place=scatter
#PBS -l walltime=00:30:00
#PBS -l select=4:ncpus=8:ngpus=2:mpiprocs=1
cd $PBS_O_WORKDIR
HEAD=$(head -n 1 $PBS_NODEFILE)
mpiexec -n 2 -ppn 1 torchrun --nnodes=2 --nproc_per_node=2 --rdzv_backend=c10d --rdzv_id=1 --rdzv_endpoint=$HEAD:29500 train.py
