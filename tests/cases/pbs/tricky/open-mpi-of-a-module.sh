#!/bin/bash
# Tricky: a module brought an Open MPI, so these are options of the mpirun that runs.
# lab: no (its mpiexec is another)
# site: alcf-polaris
#PBS -A AlphaTrain
#PBS -q debug
#PBS -l select=2
#PBS -l walltime=00:30:00
#PBS -l filesystems=home:eagle
#PBS -l place=scatter
cd $PBS_O_WORKDIR
module load openmpi
mpirun -np 8 --map-by ppr:4:node -x PATH python train.py
