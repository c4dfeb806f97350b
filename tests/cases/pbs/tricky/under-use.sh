#!/bin/bash
# Tricky: two ranks on each node of four GPUs, and one node of three left out: less than there is, no error.
# site: alcf-polaris
#PBS -A AlphaTrain
#PBS -q debug-scaling
#PBS -l select=3
#PBS -l walltime=00:30:00
#PBS -l filesystems=home:eagle
cd $PBS_O_WORKDIR
export MASTER_ADDR=$(head -n 1 $PBS_NODEFILE) MASTER_PORT=29500
mpiexec -n 4 --ppn 2 bash -c 'RANK=$PMI_RANK WORLD_SIZE=$PMI_SIZE LOCAL_RANK=$PMI_LOCAL_RANK python train.py'
