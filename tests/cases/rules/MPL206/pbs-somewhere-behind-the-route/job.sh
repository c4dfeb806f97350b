#!/bin/bash
#PBS -A proj
#PBS -q prod
#PBS -l filesystems=home
#PBS -l select=25,walltime=06:00:00
cd $PBS_O_WORKDIR
mpiexec -n 8 --ppn 4 python train.py
