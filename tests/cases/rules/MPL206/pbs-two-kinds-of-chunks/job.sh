#!/bin/bash
#PBS -A proj
#PBS -q debug
#PBS -l filesystems=home:eagle
#PBS -l select=2:ncpus=64+1:ncpus=32
cd $PBS_O_WORKDIR
mpiexec -n 8 --ppn 4 python train.py
