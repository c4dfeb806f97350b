#!/bin/bash
#PBS -l select=0:ncpus=1
cd $PBS_O_WORKDIR
mpiexec -n 8 --ppn 4 python train.py
