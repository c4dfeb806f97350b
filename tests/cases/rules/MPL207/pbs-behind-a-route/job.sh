#!/bin/bash
#PBS -q long -l walltime=1:00:00
cd $PBS_O_WORKDIR
mpiexec -n 8 --ppn 4 python train.py
