#!/bin/bash
#PBS -q debgu
#PBS -A proj
cd $PBS_O_WORKDIR
mpiexec -n 8 --ppn 4 python train.py
