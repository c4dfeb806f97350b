#!/bin/bash
# Tricky: -x MASTER_ADDR=$(hostname) is expanded here, once, on the first node: all ranks get the same.
# lab: MAPLE_MPI=openmpi
#PBS -l select=2:ncpus=16:mpiprocs=4:ngpus=4
#PBS -l place=scatter
#PBS -l walltime=00:30:00
cd $PBS_O_WORKDIR
mpirun -np 8 --hostfile $PBS_NODEFILE -x MASTER_ADDR=$(hostname) -x MASTER_PORT=29500 -x PATH \
    bash -c 'RANK=$OMPI_COMM_WORLD_RANK WORLD_SIZE=$OMPI_COMM_WORLD_SIZE LOCAL_RANK=$OMPI_COMM_WORLD_LOCAL_RANK python main.py --ddp'
