#!/bin/bash
# wrong: twelve ranks a node came along from Aurora; a node of this machine has four GPUs.
# site: alcf-polaris
#PBS -A AlphaTrain
#PBS -q debug
#PBS -l select=2
#PBS -l walltime=00:30:00
#PBS -l filesystems=home:eagle
cd $PBS_O_WORKDIR
export MASTER_ADDR=$(head -n 1 $PBS_NODEFILE) MASTER_PORT=29500
mpiexec -n 24 --ppn 12 bash -c 'RANK=$PMI_RANK WORLD_SIZE=$PMI_SIZE LOCAL_RANK=$PMI_LOCAL_RANK python train.py'
