#!/bin/bash
# Tricky: hostname is asked once, here, on the first node of the job.
# site: alcf-polaris
#PBS -A AlphaTrain
#PBS -q debug
#PBS -l select=2
#PBS -l walltime=00:30:00
#PBS -l filesystems=home:eagle
cd $PBS_O_WORKDIR
export MASTER_ADDR=$(hostname) MASTER_PORT=$((10000 + RANDOM % 20000))
mpiexec -n 8 --ppn 4 bash -c 'RANK=$PMI_RANK WORLD_SIZE=$PMI_SIZE LOCAL_RANK=$PMI_LOCAL_RANK python train.py'
