#!/bin/bash
#PBS -l select=1,walltime=36:00:00
cd $PBS_O_WORKDIR
mpiexec -n 8 --ppn 4 python train.py
