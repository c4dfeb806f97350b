#!/bin/bash
#PBS -A proj
#PBS -q debug
#PBS -l filesystems=home:eagle
#PBS -l walltime=0:30:00
#PBS -l walltime=12:00:00
cd $PBS_O_WORKDIR
mpiexec -n 8 --ppn 4 python train.py
