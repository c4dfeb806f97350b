#!/bin/bash
#PBS -l walltime=01:00:00
#PBS -l walltime=12:00:00
cd $PBS_O_WORKDIR
mpiexec -n 8 --ppn 4 python train.py
