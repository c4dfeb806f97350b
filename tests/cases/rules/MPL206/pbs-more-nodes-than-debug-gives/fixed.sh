#!/bin/bash
#PBS -A proj
#PBS -q debug
#PBS -l filesystems=home:eagle
#PBS -l select=2:system=polaris -l place=scatter
cd $PBS_O_WORKDIR
mpiexec -n 8 --ppn 4 python train.py
