#!/bin/bash
# wrong: OMPI_COMM_WORLD_RANK is expanded before mpirun sets it: --machine_rank swallows the next word.
# lab: MAPLE_MPI=openmpi
#PBS -l select=2:ncpus=8:ngpus=2:mpiprocs=1
#PBS -l place=scatter
#PBS -l walltime=00:30:00
cd $PBS_O_WORKDIR
export HEAD=$(head -n 1 $PBS_NODEFILE)
mpirun --hostfile $PBS_NODEFILE -n 2 -npernode 1 accelerate launch --multi_gpu --num_machines 2 --num_processes 4 \
    --main_process_ip $HEAD --main_process_port 29500 --machine_rank $OMPI_COMM_WORLD_RANK train.py
