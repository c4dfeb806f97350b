#!/bin/bash
# wrong: the node looks itself up in the node file, but here, in the script: it is always the first.
# lab: MAPLE_MPI=hydra
#PBS -l select=2:ncpus=8:ngpus=2
#PBS -l place=scatter
#PBS -l walltime=00:30:00
cd $PBS_O_WORKDIR
export MASTER_ADDR=$(head -n 1 $PBS_NODEFILE)
export NODE_RANK=$(awk -v host="$(hostname)" '$0 ~ host { print NR - 1; exit }' $PBS_NODEFILE)
mpiexec -n 2 -ppn 1 torchrun --nnodes=2 --nproc_per_node=2 --node_rank=$NODE_RANK --master_addr=$MASTER_ADDR --master_port=29400 train.py
