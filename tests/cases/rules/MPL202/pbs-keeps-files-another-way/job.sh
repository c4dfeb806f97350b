#!/bin/bash
#PBS -k oe
#PBS -A proj
#PBS -q debug
cd $PBS_O_WORKDIR
mpiexec -n 8 --ppn 4 python train.py
