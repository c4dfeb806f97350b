#!/bin/bash
# Tricky: nothing is exported: mpiexec itself is told each variable.
# site: alcf-polaris
#PBS -A AlphaTrain
#PBS -q debug
#PBS -l select=2
#PBS -l walltime=00:30:00
#PBS -l filesystems=home:eagle
cd $PBS_O_WORKDIR
head=$(head -n 1 $PBS_NODEFILE)
mpiexec -n 8 --ppn 4 --env MASTER_ADDR=$head --env MASTER_PORT=29500 --env WORLD_SIZE=8 --env OMP_NUM_THREADS=8 \
    bash -c 'RANK=$PMI_RANK LOCAL_RANK=$PMI_LOCAL_RANK python train.py'
