#!/bin/bash
# Tricky: lines of the node file counted without uniq: with mpiprocs=4 they are the ranks, and that is what is wanted.
# lab: MAPLE_MPI=hydra
#PBS -l select=2:ncpus=16:mpiprocs=4:ngpus=4
#PBS -l place=scatter
#PBS -l walltime=00:30:00
cd $PBS_O_WORKDIR
export WORLD_SIZE=$(wc -l < $PBS_NODEFILE)
export MASTER_ADDR=$(head -1 $PBS_NODEFILE) MASTER_PORT=29500
mpiexec -n $WORLD_SIZE bash -c 'RANK=$PMI_RANK LOCAL_RANK=$MPI_LOCALRANKID python train.py'
