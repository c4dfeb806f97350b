#!/bin/bash
# PBS -A proj
#PBS -l select=2,walltime=0:30:00  
#PBS -l filesystems=\
home
mpiexec -n 8 python train.py
