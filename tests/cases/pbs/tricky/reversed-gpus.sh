#!/bin/bash
# Tricky: one visible GPU for each of four ranks: another one for each, counted from behind.
# site: alcf-polaris
#PBS -A AlphaTrain
#PBS -q debug
#PBS -l select=2
#PBS -l walltime=00:30:00
#PBS -l filesystems=home:eagle
cd $PBS_O_WORKDIR
export MASTER_ADDR=$(head -n 1 $PBS_NODEFILE) MASTER_PORT=29500
mpiexec -n 8 --ppn 4 bash -c '
    export CUDA_VISIBLE_DEVICES=$((3 - PMI_LOCAL_RANK % 4)) LOCAL_RANK=0
    RANK=$PMI_RANK WORLD_SIZE=$PMI_SIZE python train.py'
