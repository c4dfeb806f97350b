#!/bin/bash
#PBS -A proj
#PBS -q debug
#PBS -l filesystems=home:eagle
#PBS -l select=1:ncpus=8+1:ncpus=4,walltime=3600
cd $PBS_O_WORKDIR
mpiexec -n 8 --ppn 4 python train.py
