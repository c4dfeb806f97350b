#!/bin/bash
#PBS -A proj
#PBS -q demand-x
#PBS -l select=400
cd $PBS_O_WORKDIR
mpiexec -n 8 --ppn 4 python train.py
