#!/bin/bash
# wrong: a host file of one line for eight ranks: all of them on the first node, which has four GPUs.
# site: alcf-polaris
#PBS -A AlphaTrain
#PBS -q debug
#PBS -l select=2
#PBS -l walltime=00:30:00
#PBS -l filesystems=home:eagle
cd $PBS_O_WORKDIR
head -n 1 $PBS_NODEFILE > hosts
export MASTER_ADDR=$(cat hosts) MASTER_PORT=29500
mpiexec -n 8 --ppn 8 --hostfile hosts bash -c 'RANK=$PMI_RANK WORLD_SIZE=$PMI_SIZE LOCAL_RANK=$PMI_LOCAL_RANK python train.py'
