#!/bin/bash
# wrong: mpiexec starts twelve torchruns a node, and each of them twelve workers for the same tiles.
# site: alcf-aurora
#PBS -A AlphaTrain
#PBS -q debug
#PBS -l select=1
#PBS -l walltime=00:30:00
#PBS -l filesystems=flare
cd $PBS_O_WORKDIR
mpiexec -n 12 --ppn 12 torchrun --nnodes=1 --nproc_per_node=12 --master_port=29500 train.py
