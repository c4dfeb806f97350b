#!/bin/bash
#PBS -A proj
#PBS -q debug
#PBS -l select=2:ncpus=4:mpiprocs=4:ngpus=1,place=scatter,walltime=10:00
cd $PBS_O_WORKDIR
mpiexec -n 8 --ppn 4 python train.py
