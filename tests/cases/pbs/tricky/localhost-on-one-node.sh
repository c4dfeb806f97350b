#!/bin/bash
# Tricky: localhost is right where all ranks are on one node.
# site: alcf-polaris
#PBS -A AlphaTrain
#PBS -q debug
#PBS -l select=1:system=polaris
#PBS -l walltime=00:30:00
#PBS -l filesystems=home:eagle
cd $PBS_O_WORKDIR
export MASTER_ADDR=localhost MASTER_PORT=29500
mpiexec -n 4 --ppn 4 bash -c 'RANK=$PMI_RANK WORLD_SIZE=$PMI_SIZE LOCAL_RANK=$PMI_LOCAL_RANK python train.py'
