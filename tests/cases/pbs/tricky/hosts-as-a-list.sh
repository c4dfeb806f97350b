#!/bin/bash
# Tricky: the hosts are given as a list joined by commas, not as a file.
# site: alcf-polaris
#PBS -A AlphaTrain
#PBS -q debug
#PBS -l select=2
#PBS -l walltime=00:30:00
#PBS -l filesystems=home:eagle
cd $PBS_O_WORKDIR
hosts=$(uniq $PBS_NODEFILE | paste -sd, -)
export MASTER_ADDR=${hosts%%,*} MASTER_PORT=29500
mpiexec --hosts $hosts -n 8 --ppn 4 bash -c 'RANK=$PMI_RANK WORLD_SIZE=$PMI_SIZE LOCAL_RANK=$PMI_LOCAL_RANK python train.py'
