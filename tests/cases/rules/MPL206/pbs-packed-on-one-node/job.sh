#!/bin/bash
#PBS -A proj
#PBS -q debug
#PBS -l filesystems=home:eagle
#PBS -l select=4:ncpus=8:ngpus=1,place=pack
cd $PBS_O_WORKDIR
mpiexec -n 8 --ppn 4 python train.py
