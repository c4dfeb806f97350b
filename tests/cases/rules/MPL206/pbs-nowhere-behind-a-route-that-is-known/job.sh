#!/bin/bash
#PBS -q main
#PBS -l select=8:ncpus=32,place=scatter
#PBS -l walltime=20:00:00
cd $PBS_O_WORKDIR
mpiexec -n 8 --ppn 4 python train.py
