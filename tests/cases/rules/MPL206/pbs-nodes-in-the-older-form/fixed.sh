#!/bin/bash
#PBS -A proj
#PBS -q debug
#PBS -l filesystems=home,nodes=2:ppn=4
cd $PBS_O_WORKDIR
mpiexec -n 8 --ppn 4 python train.py
