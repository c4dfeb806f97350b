#!/bin/bash
#PBS -N one
#PBS -N two
#PBS -l select=1
cd $PBS_O_WORKDIR
mpiexec -n 8 --ppn 4 python train.py
