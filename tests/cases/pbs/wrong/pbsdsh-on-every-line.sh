#!/bin/bash
# wrong: pbsdsh starts one task for each line of the node file: four torchruns a node, where one was meant.
#PBS -l select=2:ncpus=16:mpiprocs=4:ngpus=4
#PBS -l place=scatter
#PBS -l walltime=00:30:00
cd $PBS_O_WORKDIR
head=$(head -n 1 $PBS_NODEFILE)
pbsdsh -- bash -c 'cd '$PBS_O_WORKDIR'; torchrun --nnodes=2 --nproc_per_node=4 --rdzv_backend=c10d --rdzv_id=8 --rdzv_endpoint='$head':29500 train.py'
