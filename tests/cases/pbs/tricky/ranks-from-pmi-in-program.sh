#!/bin/bash
# Tricky: RANK is set nowhere: the program reads what mpiexec gives.
# site: alcf-polaris
#PBS -A AlphaTrain
#PBS -q debug
#PBS -l select=2
#PBS -l walltime=00:30:00
#PBS -l filesystems=home:eagle
cd $PBS_O_WORKDIR
export MASTER_ADDR=$(head -n 1 $PBS_NODEFILE) MASTER_PORT=29500
mpiexec -n 8 --ppn 4 python train_pmi.py
