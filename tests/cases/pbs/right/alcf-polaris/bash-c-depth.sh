#!/bin/bash
#PBS -N ddp
#PBS -A AlphaTrain
#PBS -l select=2
#PBS -l walltime=00:30:00
#PBS -l filesystems=eagle
#PBS -q debug
#PBS -j oe

module use /soft/modulefiles
module load conda
conda activate base

cd $PBS_O_WORKDIR
export MASTER_ADDR=$(head -n 1 $PBS_NODEFILE)
export MASTER_PORT=29500
mpiexec -np 8 -ppn 4 --cpu-bind depth -d 16 \
    bash -c 'export RANK=$PMI_RANK WORLD_SIZE=$PMI_SIZE LOCAL_RANK=$PMI_LOCAL_RANK; python3 train.py'
