#!/bin/bash
# lab: MAPLE_MPI=hydra
#PBS -N hydra
#PBS -l select=2:ncpus=8:ngpus=2:mpiprocs=2
#PBS -l place=scatter
#PBS -l walltime=00:30:00

cd $PBS_O_WORKDIR
export MASTER_ADDR=$(head -1 $PBS_NODEFILE)
export MASTER_PORT=29500
mpiexec -n 4 -ppn 2 -genv OMP_NUM_THREADS 4 \
    bash -c 'RANK=$PMI_RANK WORLD_SIZE=$PMI_SIZE LOCAL_RANK=$MPI_LOCALRANKID python train.py'
