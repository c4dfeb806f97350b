#!/bin/bash
# lab: MAPLE_MPI=openmpi
#PBS -q gpu
#PBS -l select=2:ncpus=16:mpiprocs=4:ngpus=4
#PBS -l walltime=08:00:00
#PBS -W group_list=hpc01

cd $PBS_O_WORKDIR
module load openmpi cuda

export MASTER_ADDR=$(head -n 1 $PBS_NODEFILE)
export MASTER_PORT=29500
NP=$(wc -l < $PBS_NODEFILE)        # a line for each of the eight ranks

mpirun -np $NP -x MASTER_ADDR -x MASTER_PORT -x PATH bash -c \
    'RANK=$OMPI_COMM_WORLD_RANK WORLD_SIZE=$OMPI_COMM_WORLD_SIZE LOCAL_RANK=$OMPI_COMM_WORLD_LOCAL_RANK python train.py'
