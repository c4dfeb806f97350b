#!/bin/bash
# wrong: PBS_NODENUM is expanded here, where it is 0, so both nodes get node rank 0.
# lab: MAPLE_MPI=hydra
#PBS -l select=2:ncpus=8:ngpus=2
#PBS -l place=scatter
#PBS -l walltime=00:30:00
cd $PBS_O_WORKDIR
HEAD=$(head -n 1 $PBS_NODEFILE)
mpiexec -n 2 -ppn 1 torchrun --nnodes=2 --nproc_per_node=2 --node_rank=$PBS_NODENUM --master_addr=$HEAD --master_port=29500 train.py
