#!/bin/bash
#PBS -q debug
#PBS -l select=16:ncpus=8:ngpus=1
cd $PBS_O_WORKDIR
mpiexec -n 8 --ppn 4 python train.py
