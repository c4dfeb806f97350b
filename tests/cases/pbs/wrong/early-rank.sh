#!/bin/bash
# wrong: PMI_RANK is exported as RANK before there are any ranks: it is empty for all of them.
# lab: MAPLE_MPI=hydra
#PBS -l select=2:ncpus=8:ngpus=2:mpiprocs=2
#PBS -l place=scatter
#PBS -l walltime=00:30:00
cd $PBS_O_WORKDIR
export MASTER_ADDR=$(head -n 1 $PBS_NODEFILE) MASTER_PORT=29500 WORLD_SIZE=4
export RANK=$PMI_RANK LOCAL_RANK=$MPI_LOCALRANKID
mpiexec -n 4 -ppn 2 python train_env.py
