#!/bin/bash
# wrong: mpiexec of PALS is not told how many: it starts one rank of a world of eight.
# site: alcf-polaris
#PBS -A AlphaTrain
#PBS -q debug
#PBS -l select=2
#PBS -l walltime=00:30:00
#PBS -l filesystems=home:eagle
cd $PBS_O_WORKDIR
export MASTER_ADDR=$(head -n 1 $PBS_NODEFILE) MASTER_PORT=29500 WORLD_SIZE=8
mpiexec --hostfile $PBS_NODEFILE bash -c 'RANK=$PMI_RANK LOCAL_RANK=$PMI_LOCAL_RANK python train.py'
