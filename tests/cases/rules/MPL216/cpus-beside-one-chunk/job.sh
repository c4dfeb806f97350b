#!/bin/bash
#PBS -l select=1
#PBS -l ncpus=32,walltime=1:00:00
cd $PBS_O_WORKDIR
mpiexec -n 8 --ppn 4 python train.py
