#!/bin/bash
#PBS -A proj
#PBS -q debug
#PBS -l select=1:ngpus=12
cd $PBS_O_WORKDIR
mpiexec -n 8 --ppn 4 python train.py
