#!/bin/bash
#PBS -koed
#PBS -A proj
#PBS -q prod
cd $PBS_O_WORKDIR
mpiexec -n 8 --ppn 4 python train.py
