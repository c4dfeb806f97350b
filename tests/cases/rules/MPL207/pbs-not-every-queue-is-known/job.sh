#!/bin/bash
#PBS -q lustre_scaling
#PBS -A proj
cd $PBS_O_WORKDIR
mpiexec -n 8 --ppn 4 python train.py
