#!/bin/bash
#PBS -q debug
#PBS -l select=2:ncpus=32:ngpus=4:mpiprocs=8
cd $PBS_O_WORKDIR
mpiexec -n 8 --ppn 4 python train.py
