#!/bin/bash
#PBS -l walltime=$T
#PBS -l select=2
cd $PBS_O_WORKDIR
mpiexec -n 8 --ppn 4 python train.py
