#!/bin/bash
#PBS -A AlphaTrain
#PBS -q debug
#PBS -l select=1
#PBS -l walltime=00:10:00
#PBS -l filesystems=home:eagle

cd $PBS_O_WORKDIR
export MASTER_ADDR=127.0.0.1 MASTER_PORT=29500 WORLD_SIZE=2
mpiexec -n 2 --ppn 2 bash -c 'RANK=$PMI_RANK LOCAL_RANK=$PMI_LOCAL_RANK python train.py --small'
