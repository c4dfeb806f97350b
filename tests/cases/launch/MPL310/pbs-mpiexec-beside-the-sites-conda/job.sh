#!/bin/bash
#PBS -A AlphaTrain
#PBS -q debug
#PBS -l select=2
#PBS -l walltime=00:30:00
#PBS -l filesystems=home:eagle
cd $PBS_O_WORKDIR
module use /soft/modulefiles; module load conda; conda activate base
mpiexec -np 8 --map-by ppr:4:node python train.py
