#!/bin/bash
# Tricky: each node finds its number in the node file by its own name.
# lab: MAPLE_MPI=hydra
#PBS -l select=2:ncpus=8:ngpus=2:mpiprocs=2
#PBS -l place=scatter
#PBS -l walltime=00:30:00
cd $PBS_O_WORKDIR
uniq $PBS_NODEFILE > $PBS_O_WORKDIR/nodes.txt
export HEAD=$(head -n 1 nodes.txt)
mpiexec -f nodes.txt -n 2 -ppn 1 bash -c '
    me=$(hostname -s)
    rank=$(( $(grep -n "^$me" nodes.txt | head -n 1 | cut -d: -f1) - 1 ))
    torchrun --nnodes=2 --nproc_per_node=2 --node_rank=$rank --master_addr=$HEAD --master_port=29500 train.py'
