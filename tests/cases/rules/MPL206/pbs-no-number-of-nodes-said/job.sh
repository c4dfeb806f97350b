#!/bin/bash
#PBS -A proj
#PBS -q prod
#PBS -l filesystems=home,walltime=1:00:00
cd $PBS_O_WORKDIR
mpiexec -n 8 --ppn 4 python train.py
