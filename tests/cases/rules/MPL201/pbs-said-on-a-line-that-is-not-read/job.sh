#!/bin/bash
#PBS -A proj
#PBS -l select=2,walltime=0:30:00
#PBS -q debug
cd $PBS_O_WORKDIR
mpiexec -n 8 --ppn 4 python train.py
#PBS -l filesystems=home:eagle,place=scatter
