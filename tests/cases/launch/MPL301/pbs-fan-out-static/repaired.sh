#!/bin/bash
#PBS -l select=2:ncpus=8:ngpus=2:mpiprocs=2
#PBS -l place=scatter
#PBS -l walltime=00:30:00
cd $PBS_O_WORKDIR
export HEAD=$(head -n 1 $PBS_NODEFILE)
mpiexec -n 2 -ppn 1 bash -c 'torchrun --nnodes=2 --nproc_per_node=2 --node_rank=$PMI_RANK --master_addr=$HEAD --master_port=29500 train.py'
