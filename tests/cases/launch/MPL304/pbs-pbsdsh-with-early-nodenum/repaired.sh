#!/bin/bash
#PBS -l select=2:ncpus=8:ngpus=2
#PBS -l place=scatter
#PBS -l walltime=00:30:00
cd $PBS_O_WORKDIR
head=$(head -n 1 $PBS_NODEFILE)
pbsdsh -- bash -c "cd $PBS_O_WORKDIR; torchrun --nnodes=2 --nproc_per_node=2 --node_rank=\$PBS_NODENUM --master_addr=$head train.py"
