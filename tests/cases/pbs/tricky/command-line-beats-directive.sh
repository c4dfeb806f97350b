#!/bin/bash
# Tricky: the script asks for one node; the command line for two, and it wins.
# lab: MAPLE_MPI=hydra
#PBS -l select=1:ncpus=8:ngpus=2
#PBS -l walltime=00:30:00
cd $PBS_O_WORKDIR
HEAD=$(head -n 1 $PBS_NODEFILE)
mpiexec -n 2 -ppn 1 torchrun --nnodes=2 --nproc_per_node=2 --rdzv_backend=c10d --rdzv_id=2 --rdzv_endpoint=$HEAD:29500 train.py
