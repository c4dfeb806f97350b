#!/bin/bash
# Tricky: no master and no RANK: Horovod asks MPI.
# lab: MAPLE_MPI=openmpi
#PBS -l select=2:ncpus=8:mpiprocs=2:ngpus=2
#PBS -l place=scatter
#PBS -l walltime=00:30:00
cd $PBS_O_WORKDIR
mpirun -np 4 -x NCCL_DEBUG=INFO -x LD_LIBRARY_PATH -x PATH python train_hvd.py
