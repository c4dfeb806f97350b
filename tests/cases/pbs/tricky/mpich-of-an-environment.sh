#!/bin/bash
# Tricky: a virtual environment brought the mpiexec of MPICH, and these are its options.
# lab: no (its mpiexec is another)
# site: alcf-polaris
#PBS -A AlphaTrain
#PBS -q debug
#PBS -l select=2
#PBS -l walltime=00:30:00
#PBS -l filesystems=home:eagle
#PBS -l place=scatter
cd $PBS_O_WORKDIR
source ~/mpich-env/bin/activate
mpiexec -n 8 -ppn 4 -bind-to core python train.py
