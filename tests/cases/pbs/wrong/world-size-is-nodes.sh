#!/bin/bash
# wrong: WORLD_SIZE is the number of nodes, but eight ranks start.
# site: alcf-polaris
#PBS -A AlphaTrain
#PBS -q debug
#PBS -l select=2
#PBS -l walltime=00:30:00
#PBS -l filesystems=home:eagle
cd $PBS_O_WORKDIR
export MASTER_ADDR=$(head -n 1 $PBS_NODEFILE) MASTER_PORT=29500
export WORLD_SIZE=$(wc -l < $PBS_NODEFILE)
mpiexec -n $((WORLD_SIZE * 4)) --ppn 4 bash -c 'RANK=$PMI_RANK LOCAL_RANK=$PMI_LOCAL_RANK python train.py'
